/* policy/image_builder.h - what a builder holds. Private to image_*.c. */
#pragma once
#include "policy/image_store.h"

#define GW_BUILDER_WORD_MAX 8192 /* bytes of a path, a method, a name */

/* Where a credential is stamped, kept to find a second one for the same header. */
struct gw_builder_stamp {
    struct gw_host_pattern host;
    const char *header; /* inside the value; NUL-terminated */
};

struct gw_image_builder {
    enum gw_policy_kind kind;
    enum gw_sni_mode sni;
    struct gw_store store;
    struct gw_store_values values[GW_IMAGE_WHATS]; /* those of INWARD, RULE, CREDENTIAL, … */
    struct gw_builder_stamp *stamps;
    size_t stamp_count, stamp_room;
    uint16_t *ports[2]; /* ascending, no duplicates: ports, plain_ports */
    size_t port_count[2];
    struct gw_image_cidr *denied; /* sorted, no duplicates */
    size_t denied_count, denied_room;
};

/* The bytes of values, as the builder packs and image_write.c unpacks them. An exemption is its
 * struct gw_image_cidr, sorted. The others are one flag ('0' or '1') and NUL-terminated words:
 *   CREDENTIAL    flag: allow_plaintext; name, header
 *   RULE          flag: encoded slash; methods, an empty word, paths
 *   UPSTREAM_TLS  flag: unused; name */

/* Sets `err`; returns false. */
bool gw_builder_out_of_memory(struct gw_error *err);

/* A pattern without a port: everything but the allowlist speaks about a host whatever its port. */
bool gw_builder_parse_host(struct gw_slice text, struct gw_host_pattern *out, struct gw_error *err);

/* Adds a record with a value, unless the very same is there. */
bool gw_builder_add_valued(struct gw_image_builder *builder, const struct gw_host_pattern *pattern,
                           enum gw_image_what what, const void *bytes, size_t length,
                           struct gw_error *err);

/* Text that goes into logs and messages: no control bytes, not empty, not endless. */
bool gw_builder_is_name(const char *text);

/* RFC 9110 5.6.2, with letters of one case only. */
bool gw_builder_is_token(const char *text, char first_letter, char last_letter);
