/* gateway/proxy/tls.h - TLS towards upstreams: 1.2 and 1.3, always verified, by the target's name.
 * No option turns verification off. SNI and the name that the certificate must prove are the
 * canonical target (RFC 6125, RFC 9525); a literal sends no SNI and must be proved by an iPAddress
 * entry. Sessions are kept for resumption by (CA bundle, host, port). mbedTLS. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "gateway/proxy/reactor.h"
#include "policy/host.h"

/* What a connection is verified against: one a CA bundle and lowest version. Shared by reference.
 */
struct gw_trust;

/* Once a process, before any of the rest. */
bool gw_tls_start(struct gw_error *err);
void gw_tls_stop(void);

/* `pem` holds at least one certificate; those that do not parse are left out. `id` names the
 * bundle. */
struct gw_trust *gw_trust_new(const char *id, struct gw_slice pem, bool min_tls13,
                              struct gw_error *err);
struct gw_trust *gw_trust_ref(struct gw_trust *trust);
void gw_trust_unref(struct gw_trust *trust); /* NULL is fine */
const char *gw_trust_id(const struct gw_trust *trust);
bool gw_trust_min_tls13(const struct gw_trust *trust);

struct gw_tls; /* one connection */

/* Borrows the watch (its descriptor and its `ready` bits). NULL when out of memory. */
struct gw_tls *gw_tls_new(struct gw_trust *trust, const struct gw_host *host, uint16_t port,
                          struct gw_watch *watch);
void gw_tls_free(struct gw_tls *tls); /* sends nothing; NULL is fine */

enum gw_io { GW_IO_OK, GW_IO_AGAIN, GW_IO_END, GW_IO_FAILED };

/* OK: done, and the peer has proved its name. FAILED: see gw_tls_failure(). */
enum gw_io gw_tls_handshake(struct gw_tls *tls);
bool gw_tls_resumed(const struct gw_tls *tls);

/* END is an orderly close_notify; a bare FIN is FAILED, since it may be an attacker's. */
enum gw_io gw_tls_read(struct gw_tls *tls, void *out, size_t room, size_t *length);
/* On AGAIN nothing counts as written, and the same bytes must be offered again. */
enum gw_io gw_tls_write(struct gw_tls *tls, const void *data, size_t length, size_t *written);
/* Best effort, before closing. */
void gw_tls_notify_close(struct gw_tls *tls);

/* For the operator: what failed, in one line. Never for the requester. */
void gw_tls_failure(const struct gw_tls *tls, char *out, size_t room);
