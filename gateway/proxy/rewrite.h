/* gateway/proxy/rewrite.h - heads as they leave the gateway.
 * Nothing is forwarded raw: each head is written anew from parsed fields, so that what was judged
 * is what is sent. Path and query go on byte for byte; other fields keep their order, spelling and
 * value. Left out: hop-by-hop fields and those that Connection names (RFC 9110 7.6.1), Proxy-*
 * fields, and whatever is rebuilt (Host, framing, Via, stamped fields). No X-Forwarded-* is added.
 */
#pragma once
#include "gateway/proxy/buffer.h"
#include "gateway/proxy/credential.h"
#include "gateway/proxy/request.h"

struct gw_response {
    unsigned status;
    bool minor0;
    enum gw_body_kind body;
    uint64_t body_length;
    bool keep_alive; /* the upstream would serve another request on this connection */
    bool websocket;  /* a valid 101 to a websocket handshake */
};

/* The upstream's head up to, and without, the stamped fields and the empty line. `via` is our
 * token. False when out of memory. */
bool gw_rewrite_request(const struct gw_http_head *head, const char *text,
                        const struct gw_request *request, bool tls, uint16_t dial_port,
                        const char *via, const struct gw_stamp *stamps, size_t stamp_count,
                        struct gw_buffer *out);

/* "name: value" CRLF for each stamp, and the empty line. The very last step before sending. */
bool gw_rewrite_stamp(const struct gw_stamp *stamps, size_t stamp_count, struct gw_buffer *out);

/* Framing and persistence of an upstream's answer (RFC 9112 6.3); NONE or UPSTREAM_PROTOCOL. */
enum gw_reason gw_response_read(struct gw_http_head *head, const char *text,
                                const struct gw_request *request, struct gw_response *out);

enum gw_client_framing {
    GW_FRAMING_NONE,    /* no body, or none is announced */
    GW_FRAMING_LENGTH,  /* Content-Length as the upstream said */
    GW_FRAMING_CHUNKED, /* of our own making */
    GW_FRAMING_CLOSE,   /* the end of the connection is the end of the body */
};

/* The client's head, whole. `close`: say that the connection ends with this answer. */
bool gw_rewrite_response(const struct gw_http_head *head, const char *text,
                         const struct gw_request *request, const struct gw_response *response,
                         enum gw_client_framing framing, bool close, const struct gw_stamp *stamps,
                         size_t stamp_count, struct gw_buffer *out);

/* May a trailer field go on? Not when it is hop-by-hop, framing, or routing (RFC 9110 6.5.1). */
bool gw_rewrite_trailer_ok(struct gw_slice name);
