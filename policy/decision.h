/* policy/decision.h - may this request be made, and if so, how is it to be made?
 *
 * gw_decide() is everything that can be said before a name is resolved, in the order of design
 * section 14.10: target and loop by literal, policy by name and port (and method and path where
 * they can be read), screen of a literal. gw_dialable_set_make() (dialable.h) is the rest: the
 * screen of what the name resolved to. Both are pure: the answer depends on the arguments alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "policy/authority.h"
#include "policy/policy_image.h"
#include "policy/reason.h"
#include "policy/trace.h"

/* Where this gateway itself is, so that it is not told to talk to itself. Borrowed. */
struct gw_own_listener {
    struct gw_ip_address address;
    bool wildcard; /* every local address */
    uint16_t port;
};
struct gw_own {
    const struct gw_ip_address *addresses; /* of every local interface, loopback included */
    size_t address_count;
    const struct gw_own_listener *listeners; /* all of them: networks, admin, metrics */
    size_t listener_count;
};

enum gw_ask_kind {
    GW_ASK_REQUEST, /* a request that we can read: absolute-form, origin-form, inside CONNECT h:80
                     */
    GW_ASK_TUNNEL,  /* CONNECT */
};

struct gw_ask {
    enum gw_ask_kind kind;
    bool https; /* REQUEST: the target's scheme was https */
    struct gw_authority authority;
    struct gw_slice method;         /* REQUEST */
    struct gw_slice path_and_query; /* REQUEST; as sent */
};

#define GW_VERDICT_CREDENTIALS_MAX 16

struct gw_verdict {
    struct gw_refusal refusal; /* reason NONE: go on */
    uint16_t named_port;       /* what the client named, the scheme's default filled in */
    uint16_t dial_port;        /* what will be dialled */
    bool tls;             /* REQUEST: leaves over TLS; TUNNEL read as HTTP: its requests will */
    bool read_as_http;    /* TUNNEL to a plain port */
    enum gw_sni_mode sni; /* opaque TUNNEL: MATCH, LOG or OFF, never DEFAULT */
    int32_t ca;           /* index of the private CA bundle in the image, or -1 */
    uint32_t credential_count; /* REQUEST: to be stamped, indexes into the image */
    uint32_t credentials[GW_VERDICT_CREDENTIALS_MAX];
};

/* `own` and `trace` may be NULL. A TUNNEL to a plain port is judged by name and by the port that
 * its requests will dial; each request inside is then asked as a REQUEST of its own. */
void gw_decide(const struct gw_image *image, const struct gw_own *own, const struct gw_ask *ask,
               const struct gw_trace *trace, struct gw_verdict *out);
