/* gateway/proxy/reply.h - answers of the gateway's own: every refusal and failure, explained.
 * X-Namzu-Reason has the code, Proxy-Status (RFC 9209) the standard error type, the body one line
 * (or JSON, when accepted) that names the host and the kind of reason. Never an address; of the
 * request's bytes nothing but the host, escaped and cut. */
#pragma once
#include "gateway/proxy/buffer.h"
#include "policy/reason.h"

struct gw_reply {
    struct gw_refusal refusal;
    struct gw_slice host; /* as it may be shown: canonical, or as sent (is escaped here) */
    unsigned port;        /* 0: not known */
    bool json;
    bool close;  /* this connection ends with the answer */
    bool head;   /* no body: the request was HEAD */
    bool minor0; /* to an HTTP/1.0 client: a connection that stays must be said to */
};

bool gw_reply_write(const struct gw_reply *reply, struct gw_buffer *out);

/* 200 without a body, for OPTIONS whose Max-Forwards is used up (RFC 9110 7.6.2). */
bool gw_reply_write_options(bool close, struct gw_buffer *out);
