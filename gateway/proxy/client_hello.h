/* gateway/proxy/client_hello.h - the server name in a TLS ClientHello, found without decrypting.
 * RFC 8446 4.1.2 and 5.1, RFC 6066 3, draft-ietf-tls-esni (outer name; grease passes). The
 * handshake message may come in several records and in any segments; it is bounded by `limit`.
 * Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "policy/host.h"

/* Bytes of the wire that a ClientHello of `limit` bytes can take: each in a record of its own. */
#define GW_CLIENT_HELLO_WIRE_MAX(limit) (6 * (limit))

/* What is kept of them: the message and the heads of some 800 records; real clients send one or
 * two. */
#define GW_CLIENT_HELLO_KEPT_MAX(limit) ((limit) + 4096)

enum gw_client_hello {
    GW_HELLO_NEED_MORE, /* a prefix of a ClientHello so far */
    GW_HELLO_NAMED,     /* whole; `name` is its one host_name */
    GW_HELLO_UNNAMED,   /* whole; no server_name extension */
    GW_HELLO_NOT_TLS,   /* not a TLS handshake record, not a ClientHello, or malformed */
    GW_HELLO_TOO_LARGE,
};

struct gw_client_hello_facts {
    struct gw_slice name; /* NAMED: as sent; borrowed from `bytes` if one record holds the message,
                             else from `scratch`. Otherwise empty */
    bool encrypted_hello; /* an encrypted_client_hello extension is there */
};

/* Looks at all bytes that have come so far (from the first one of the tunnel); call again with more
 * on NEED_MORE. Work is linear in `bytes` per call. `scratch` (at least `limit` bytes) holds the
 * handshake message when it spans records. NEED_MORE is never returned once `bytes` is as long as
 * GW_CLIENT_HELLO_WIRE_MAX(limit). The answer is the one that all later bytes would give, too: it
 * does not depend on how they were cut. What follows the ClientHello's last record is not looked
 * at; within that record, anything behind the ClientHello is NOT_TLS. */
enum gw_client_hello gw_client_hello_read(struct gw_slice bytes, size_t limit,
                                          unsigned char *scratch,
                                          struct gw_client_hello_facts *out);

/* Does the name equal the target? Compared in canonical form (case, root dot); for a literal target
 * any name or none will do. */
bool gw_client_hello_matches(const struct gw_client_hello_facts *facts,
                             const struct gw_host *target);

/* A fatal unrecognized_name alert (RFC 6066 3), as a TLS 1.0..1.3 record. */
extern const unsigned char gw_tls_unrecognized_name_alert[7];
