/* gateway/proxy/request.h - what a request head means, after every check that needs no policy.
 * RFC 9112 3.2 (target, Host), 6 (framing), RFC 9110 7.6.1 (Connection), 10.1.1 (Expect). */
#pragma once
#include "gateway/proxy/buffer.h"
#include "gateway/proxy/http_head.h"
#include "policy/request_target.h"

enum gw_body_kind {
    GW_BODY_NONE,
    GW_BODY_LENGTH, /* `length` bytes */
    GW_BODY_CHUNKED,
    GW_BODY_TO_EOF, /* responses only */
};

struct gw_request {
    struct gw_slice method; /* borrowed from the head's text, as are all slices here */
    bool is_connect, is_head;
    bool minor0; /* HTTP/1.0 */
    struct gw_request_target target;
    struct gw_authority authority; /* whom it is for: of the target, else of Host */
    bool https;
    enum gw_body_kind body;
    uint64_t body_length;
    bool length_given; /* Content-Length was there, 0 included */
    bool keep_alive;   /* the client would send more on this connection */
    bool expects_continue;
    bool websocket;       /* a well-formed upgrade to websocket (RFC 6455 4.1) */
    bool wants_json;      /* of a refusal's body */
    int64_t max_forwards; /* -1: not given */
};

/* `own_via` is our Via token. Returns NONE or why the request is refused; the fields of `head` are
 * marked (`connection`). What was understood up to then is in `out` (host and port for the log). */
enum gw_reason gw_request_read(struct gw_http_head *head, const char *text, const char *own_via,
                               struct gw_request *out);

/* What Connection (and Proxy-Connection) say, for the trailers that come when the head is gone;
 * added to `out`, a comma after each. False when out of memory. */
bool gw_connection_copy(const struct gw_http_head *head, const char *text, struct gw_buffer *out);

/* Marks the fields that Connection (and Proxy-Connection) name; false when they name too many. */
bool gw_connection_mark(struct gw_http_head *head, const char *text, bool *close, bool *keep_alive,
                        bool *upgrade);
