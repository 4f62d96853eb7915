/* policy/host_pattern.h - an entry of a host list: which hosts, and with which port.
 *
 *   api.example.com        that name and nothing else
 *   .example.com           example.com and every name below it
 *   203.0.113.9, [2001:db8::1], 2001:db8::1     that address, however the client spells it
 *   any of them with ":port"
 *
 * There is no other form. What a person might have meant (`*`, a scheme, a path, a lone or
 * one-label suffix, a U-label) is refused with the remedy: an entry that matches nothing, or too
 * much, is worse than an error. Pure. */
#pragma once
#include "base/error.h"
#include "policy/host.h"

struct gw_host_pattern {
    struct gw_host host; /* of a suffix: without the leading dot */
    bool suffix;
    uint16_t port; /* 0: none was written */
};

/* Surrounding blanks are trimmed. On failure `err` names the entry, what is wrong with it and,
 * where one can be told, what to write instead (for a U-label: its A-label, RFC 3492). */
bool gw_host_pattern_parse(struct gw_slice text, struct gw_host_pattern *out, struct gw_error *err);

/* The port is not part of this. A suffix never matches an address. */
bool gw_host_pattern_matches(const struct gw_host_pattern *pattern, const struct gw_host *host);

/* Does `wide` match every host that `narrow` matches? */
bool gw_host_pattern_covers(const struct gw_host_pattern *wide,
                            const struct gw_host_pattern *narrow);

/* Is there a host that both match? */
bool gw_host_pattern_overlaps(const struct gw_host_pattern *a, const struct gw_host_pattern *b);

size_t gw_host_pattern_print(const struct gw_host_pattern *pattern, char *out, size_t room);
