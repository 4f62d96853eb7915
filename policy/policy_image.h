/* policy/policy_image.h - a policy as one flat, relocatable block of bytes.
 * Compiled in the supervisor, mapped read-only by every proxy, parsed by none. Offsets and no
 * pointers; the same policy gives the same bytes, so that its SHA-256 names it. The cost of a
 * lookup is bounded by the number of labels in the name, not by the number of entries.
 *
 * gw_image_open() validates everything that a lookup will ever follow; a block that fails is
 * refused, never trusted. Little-endian hosts only (checked at build). Pure, no global state. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/host.h"
#include "policy/host_pattern.h"

enum gw_policy_kind { GW_POLICY_DENY_ALL = 1, GW_POLICY_ALLOW_ALL, GW_POLICY_STATIC };
enum gw_sni_mode { GW_SNI_DEFAULT = 0, GW_SNI_MATCH, GW_SNI_LOG, GW_SNI_OFF };

/* ---- building ---------------------------------------------------------------------------- */

struct gw_image_builder; /* opaque; owned by who made it */

struct gw_rule_source {
    const char *const *methods; /* tokens, upper case as sent; none: any method */
    size_t method_count;
    const char *const *paths; /* prefixes that begin with '/'; none: any path */
    size_t path_count;
    bool allow_encoded_slash;
};

struct gw_credential_source {
    const char *name;   /* how the snapshot and the logs know it */
    const char *header; /* lower case token */
    bool allow_plaintext;
};

/* NULL when out of memory. */
struct gw_image_builder *gw_image_builder_new(enum gw_policy_kind kind);
void gw_image_builder_free(struct gw_image_builder *builder);

/* Each call checks its item alone and against what was added before; on failure nothing is added
 * and `err` says what is wrong with this item. Order: hosts before credentials. Adding the same
 * entry twice is harmless; the same entry with two SNI modes is an error. */
bool gw_image_builder_allow(struct gw_image_builder *builder, struct gw_slice entry,
                            enum gw_sni_mode sni, struct gw_error *err);
/* Replaces the default {443, 80}. */
bool gw_image_builder_ports(struct gw_image_builder *builder, const uint16_t *ports, size_t count,
                            struct gw_error *err);
/* Replaces the default {80}; may be empty. */
bool gw_image_builder_plain_ports(struct gw_image_builder *builder, const uint16_t *ports,
                                  size_t count, struct gw_error *err);
/* GW_SNI_DEFAULT: match on 443, log elsewhere. */
void gw_image_builder_sni(struct gw_image_builder *builder, enum gw_sni_mode sni);
bool gw_image_builder_plaintext(struct gw_image_builder *builder, struct gw_slice host,
                                struct gw_error *err);
/* `ca` names the bundle in the snapshot (a digest of its bytes). */
bool gw_image_builder_upstream_tls(struct gw_image_builder *builder, struct gw_slice host,
                                   const char *ca, struct gw_error *err);
/* No cidrs: the kinds that are lifted by default. A cidr that overlaps only kinds which are never
 * lifted is an error: it would be accepted and not applied. */
bool gw_image_builder_inward(struct gw_image_builder *builder, struct gw_slice host,
                             const struct gw_cidr *cidrs, size_t count, struct gw_error *err);
bool gw_image_builder_deny_cidr(struct gw_image_builder *builder, const struct gw_cidr *cidr,
                                struct gw_error *err);
bool gw_image_builder_rule(struct gw_image_builder *builder, struct gw_slice host,
                           const struct gw_rule_source *rule, struct gw_error *err);
/* Refused: a host that an entry of this policy does not cover whole; the same header as an earlier
 * credential whose hosts overlap. */
bool gw_image_builder_credential(struct gw_image_builder *builder, struct gw_slice host,
                                 const struct gw_credential_source *credential,
                                 struct gw_error *err);

/* Forgets every allowed host and makes the policy STATIC, whatever it was; all else stays. This is
 * how a live change begins. Credentials whose host is no longer covered lie dormant: they are
 * checked when they are added, never again. (A resolver's policy, whose hosts are not known when
 * its credentials are read, is begun as ALLOW_ALL and goes on from here.) Cannot fail. */
void gw_image_builder_restart_hosts(struct gw_image_builder *builder);

/* `*bytes` is malloc'ed and handed over. The builder may be used on (a live change adds or
 * replaces hosts) or freed. */
bool gw_image_builder_finish(struct gw_image_builder *builder, void **bytes, size_t *length,
                             struct gw_error *err);

/* ---- reading ----------------------------------------------------------------------------- */

/* A view: borrows the bytes, which must stay mapped and unchanged, 8-byte aligned. */
struct gw_image {
    const unsigned char *bytes;
    size_t length;
};

bool gw_image_open(const void *bytes, size_t length, struct gw_image *out, struct gw_error *err);

enum gw_policy_kind gw_image_kind(const struct gw_image *image);
size_t gw_image_host_count(const struct gw_image *image);
size_t gw_image_credential_count(const struct gw_image *image);

struct gw_image_credential {
    struct gw_slice name, header; /* borrowed from the image */
    bool allow_plaintext;
};
struct gw_image_credential gw_image_credential(const struct gw_image *image, size_t index);

/* Names of the CA bundles that upstream_tls entries refer to. */
size_t gw_image_ca_count(const struct gw_image *image);
struct gw_slice gw_image_ca(const struct gw_image *image, size_t index);
