/* gateway/proxy/http_head.h - the head of an HTTP/1.x message, read strictly and in any pieces.
 *
 * llhttp does the grammar, with no lenient flag; what it leaves open (RFC 9112 3: exactly one space
 * between the parts of the request line, HTTP/1.0 or 1.1 spelled out, limits) is checked here. The
 * verdict depends on the bytes alone, never on how they were cut into segments.
 *
 * The text must lie in one piece: the caller keeps it in a buffer and passes its start and present
 * length each time; it may move between calls. Everything is kept as offsets into it. */
#pragma once
#include <llhttp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "gateway/common/limits.h"
#include "policy/reason.h"

/* Fields that the gateway itself reads, drops or writes. GW_FIELD(id, lower-case name, hop)
 * hop: belongs to one connection (RFC 9110 7.6.1) or to the proxy, and is never passed on. */
/* clang-format off */
#define GW_FIELDS(GW_FIELD) \
    GW_FIELD(HOST,                "host",                0) \
    GW_FIELD(CONTENT_LENGTH,      "content-length",      0) \
    GW_FIELD(TRANSFER_ENCODING,   "transfer-encoding",   1) \
    GW_FIELD(CONNECTION,          "connection",          1) \
    GW_FIELD(PROXY_CONNECTION,    "proxy-connection",    1) \
    GW_FIELD(KEEP_ALIVE,          "keep-alive",          1) \
    GW_FIELD(TE,                  "te",                  1) \
    GW_FIELD(TRAILER,             "trailer",             0) \
    GW_FIELD(UPGRADE,             "upgrade",             1) \
    GW_FIELD(EXPECT,              "expect",              0) \
    GW_FIELD(PROXY_AUTHORIZATION, "proxy-authorization", 1) \
    GW_FIELD(PROXY_AUTHENTICATE,  "proxy-authenticate",  1) \
    GW_FIELD(PROXY_AUTH_INFO,     "proxy-authentication-info", 1) \
    GW_FIELD(HTTP2_SETTINGS,      "http2-settings",      1) \
    GW_FIELD(VIA,                 "via",                 0) \
    GW_FIELD(MAX_FORWARDS,        "max-forwards",        0) \
    GW_FIELD(ACCEPT,              "accept",              0) \
    GW_FIELD(WS_KEY,              "sec-websocket-key",   0) \
    GW_FIELD(WS_ACCEPT,           "sec-websocket-accept",0)
/* clang-format on */

enum gw_field_id {
    GW_FIELD_OTHER = 0,
#define GW_FIELD(id, name, hop) GW_FIELD_##id,
    GW_FIELDS(GW_FIELD)
#undef GW_FIELD
        GW_FIELD_IDS
};

enum gw_field_id gw_field_id(struct gw_slice name);
bool gw_field_is_hop_by_hop(enum gw_field_id id);

struct gw_http_field {
    uint32_t name, value; /* offsets from the start of the head */
    uint32_t name_length, value_length;
    uint8_t id;      /* enum gw_field_id */
    bool connection; /* named by a Connection or Proxy-Connection field */
};

struct gw_http_head {
    bool response;
    /* the outcome */
    uint32_t length; /* of the head, the empty line included */
    bool minor0;     /* HTTP/1.0 */
    unsigned status; /* response */
    uint32_t method, method_length, target, target_length; /* request */
    uint32_t phrase, phrase_length;                        /* response: reason phrase */
    struct gw_http_field *fields;                          /* owned */
    uint32_t field_count;
    enum gw_reason reason; /* after BAD */
    /* private */
    llhttp_t parser;
    const struct gw_limits *limits;
    const char *base;
    uint32_t fed, field_room, line_start;
    uint32_t version, version_length;
    bool method_done, line_done, in_value, salvaging, over;
    int salvage_error;
};

enum gw_head_result {
    GW_HEAD_MORE,
    GW_HEAD_DONE, /* `length` bytes are the head */
    GW_HEAD_BAD,  /* `reason` says why; the connection cannot go on */
};

/* `limits` is borrowed until the end. */
void gw_http_head_init(struct gw_http_head *head, bool response, const struct gw_limits *limits);
void gw_http_head_fini(struct gw_http_head *head);

/* `text`: everything from the start of the head that has come so far. */
enum gw_head_result gw_http_head_feed(struct gw_http_head *head, struct gw_slice text);

static inline struct gw_slice gw_http_name(const struct gw_http_field *field, const char *base)
{
    return (struct gw_slice){ base + field->name, field->name_length };
}
static inline struct gw_slice gw_http_value(const struct gw_http_field *field, const char *base)
{
    return (struct gw_slice){ base + field->value, field->value_length };
}
