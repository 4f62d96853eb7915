/* policy/authority.h - host [":" port], as in Host, CONNECT and absolute-form (RFC 3986 3.2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "policy/host.h"

#define GW_AUTHORITY_TEXT_MAX (GW_HOST_TEXT_MAX + 8)

struct gw_authority {
    struct gw_host host;
    uint16_t port; /* 0: none was written */
};

enum gw_port_rule {
    GW_PORT_REQUIRED, /* CONNECT (RFC 9110 9.3.6): no default is ever invented */
    GW_PORT_OPTIONAL, /* Host, policy entries: absent is fine, an empty one ("host:") is BAD_PORT */
    GW_PORT_EMPTY_OK, /* absolute-form: "host:" means the scheme's default (RFC 3986 6.2.3) */
};

/* Port: [1-9][0-9]{0,4}, at most 65535, else BAD_PORT. More than one unbracketed ':' is BAD_HOST,
 * '@' anywhere is USERINFO. After ']' only the end or ':port' may follow, else BAD_PORT. */
enum gw_reason gw_authority_parse(struct gw_slice text, enum gw_port_rule rule,
                                  struct gw_authority *out);

/* "host:port", the port only if there is one; IPv6 in brackets. Returns the length. */
size_t gw_authority_print(const struct gw_authority *authority, char *out, size_t room);

bool gw_authority_equal(const struct gw_authority *a, const struct gw_authority *b);
