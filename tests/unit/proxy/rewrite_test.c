/* tests/unit/proxy/rewrite_test.c - heads as they leave the gateway, byte for byte. Rows refer to
 * spec/specification section 9 (P, C) and cases/case list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/proxy/rewrite.h"
#include "message.h"

#define BYTES(text)               \
    {                             \
        "" text, sizeof(text) - 1 \
    }
#define HOST "Host: llm.acme.test\r\n"
#define VIA "Via: 1.1 " OWN_VIA "\r\n"
#define SECRET "Bearer REAL-KEY-0123"

struct stamps {
    struct gw_stamp stamp[2];
    size_t count;
};

static struct gw_stamp stamp_of(struct gw_slice header, struct gw_slice value, struct gw_slice bare)
{
    struct gw_credential *credential = gw_credential_new(1, value, bare);
    assert_non_null(credential);
    return (struct gw_stamp){ .header = header, .name = GW_SLICE("llm"), .credential = credential };
}

static void stamps_free(struct stamps *stamps)
{
    for (size_t i = 0; i < stamps->count; i++)
        gw_credential_unref(stamps->stamp[i].credential);
    stamps->count = 0;
}

static struct stamps no_stamps(void)
{
    return (struct stamps){ .count = 0 };
}

static struct stamps authorization(void)
{
    return (struct stamps){
        .stamp = { stamp_of(GW_SLICE("authorization"), GW_SLICE(SECRET),
                            GW_SLICE("REAL-KEY-0123")) },
        .count = 1,
    };
}

static struct stamps two_keys(void)
{
    return (struct stamps){
        .stamp = { stamp_of(GW_SLICE("authorization"), GW_SLICE(SECRET), GW_SLICE("REAL-KEY-0123")),
                   stamp_of(GW_SLICE("x-api-key"), GW_SLICE("k-98765"), GW_SLICE("k-98765")) },
        .count = 2,
    };
}

/* ---- requests ---------------------------------------------------------------------------- */

struct request_row {
    struct gw_slice bytes;
    bool tls;
    uint16_t port;
    const char *expected;
    const char *why;
};

static char *rewrite_request(const struct request_row *row, const struct stamps *stamps, size_t cut)
{
    struct asked asked;
    struct gw_buffer out = { 0 };
    asked_read(&asked, row->bytes, cut);
    if (asked.reason != GW_REASON_NONE)
        fail_msg("%s: %s", row->why, gw_reason_code(asked.reason));
    assert_true(gw_rewrite_request(&asked.message.head, asked.message.text, &asked.request,
                                   row->tls, row->port, OWN_VIA, stamps->stamp, stamps->count,
                                   &out));
    assert_true(gw_rewrite_stamp(stamps->stamp, stamps->count, &out));
    char *text = buffer_text(&out);
    gw_buffer_fini(&out);
    asked_free(&asked);
    return text;
}

static void expect_requests(const struct request_row *rows, size_t count,
                            struct stamps (*make)(void))
{
    struct stamps stamps = make();
    for (size_t i = 0; i < count; i++) {
        for (unsigned turn = 0; turn < 2; turn++) {
            char *got =
                rewrite_request(&rows[i], &stamps, turn == 0 ? CUT_NOWHERE : CUT_EVERYWHERE);
            expect_text(got, rows[i].expected, rows[i].why);
            free(got);
        }
    }
    stamps_free(&stamps);
}

static void a_request_is_written_anew(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("GET http://a.test/x?y HTTP/1.1\r\nHost: evil.test\r\nX-Keep:1\r\naCCEPT: */*\r\n"
                "\r\n"),
          true, 443, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nX-Keep: 1\r\naCCEPT: */*\r\n" VIA "\r\n",
          "HOST-07: Host is rebuilt; other fields keep order, spelling, value" },
        { BYTES("GET http://A.Test./ HTTP/1.1\r\nHost: A.Test.\r\n\r\n"), true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOST-01: canonical" },
        { BYTES("GET http://a.test?next=http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), true,
          443, "GET /?next=http://b.test/ HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOST-09" },
        { BYTES("GET http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n"), true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "CRED-07: an empty path" },
        { BYTES("GET http://a.test:/x HTTP/1.1\r\nHost: a.test:\r\n\r\n"), false, 80,
          "GET /x HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOST-17: an empty port" },
        { BYTES("GET http://[2001:DB8:0::5]/x HTTP/1.1\r\nHost: x\r\n\r\n"), false, 80,
          "GET /x HTTP/1.1\r\nHost: [2001:db8::5]\r\n" VIA "\r\n", "HOST-17: brackets, once" },
        { BYTES("GET http://[2001:db8::5]:8080/x HTTP/1.1\r\nHost: x\r\n\r\n"), false, 8080,
          "GET /x HTTP/1.1\r\nHost: [2001:db8::5]:8080\r\n" VIA "\r\n", "and a port" },
        { BYTES("POST http://a.test:80/v1 HTTP/1.1\r\nHost: a.test:80\r\nContent-Length: 2\r\n"
                "\r\n{}"),
          true, 443, "POST /v1 HTTP/1.1\r\nHost: a.test\r\n" VIA "Content-Length: 2\r\n\r\n",
          "CRED-06: :80 upgraded is 443, which is not written" },
        { BYTES("GET http://a.test:8443/v1 HTTP/1.1\r\nHost: a.test:8443\r\n\r\n"), true, 8443,
          "GET /v1 HTTP/1.1\r\nHost: a.test:8443\r\n" VIA "\r\n", "CRED-06: another port is" },
        { BYTES("GET http://a.test:443/v1 HTTP/1.1\r\nHost: a.test\r\n\r\n"), false, 443,
          "GET /v1 HTTP/1.1\r\nHost: a.test:443\r\n" VIA "\r\n", "443 is no default in plaintext" },
        { BYTES("GET https://a.test:80/v1 HTTP/1.1\r\nHost: a.test\r\n\r\n"), true, 80,
          "GET /v1 HTTP/1.1\r\nHost: a.test:80\r\n" VIA "\r\n", "nor 80 in TLS" },
        { BYTES("GET /v1 HTTP/1.1\r\nHost: a.test:80\r\n\r\n"), true, 443,
          "GET /v1 HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "P66: origin-form" },
        { BYTES("GET http://a.test/npm/@team%2fwidget HTTP/1.1\r\nHost: a.test\r\n\r\n"), true, 443,
          "GET /npm/@team%2fwidget HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "CRED-07" },
        { BYTES("GET http://a.test/o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz HTTP/1.1\r\nHost: a.test\r\n"
                "\r\n"),
          true, 443,
          "GET /o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n",
          "CRED-07, P38" },
        { BYTES("GET //b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n"), true, 443,
          "GET //b.test/x HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "P24" },
        { BYTES("GET http://a.test/ HTTP/1.0\r\n\r\n"), true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\nVia: 1.0 " OWN_VIA "\r\n\r\n",
          "1.0 becomes 1.1, and Via tells (RFC 9110 7.6.3)" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: \xc3\xa9\tz\r\n\r\n"), true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\nX: \xc3\xa9\tz\r\n" VIA "\r\n", "values as they are" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nEmpty:\r\nX: 1\r\nX: 2\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\nEmpty: \r\nX: 1\r\nX: 2\r\n" VIA "\r\n",
          "specification 3.4: duplicates are preserved" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 198.51.100.9\r\n"
                "Forwarded: for=x\r\nVia: 1.0 fred\r\n\r\n"),
          true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 198.51.100.9\r\nForwarded: for=x\r\n"
          "Via: 1.0 fred\r\n" VIA "\r\n",
          "HOP-08: nothing added but Via, nothing of the client's dropped" },
    };
    expect_requests(rows, GW_COUNT(rows), no_stamps);
}

static void framing_is_our_own(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"), true,
          443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Content-Length: 0\r\n\r\n",
          "a length of 0 is told" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0012\r\n\r\n"),
          true, 443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Content-Length: 12\r\n\r\n",
          "a length is written from the number" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: CHUNKED \r\n"
                "\r\n"),
          true, 443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Transfer-Encoding: chunked\r\n\r\n",
          "FRAME-02: the received line is never copied" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTrailer: X-Sum\r\n"
                "Transfer-Encoding: chunked\r\n\r\n"),
          true, 443,
          "POST / HTTP/1.1\r\nHost: a.test\r\nTrailer: X-Sum\r\n" VIA
          "Transfer-Encoding: chunked\r\n\r\n",
          "decision 14.8: trailers are relayed" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTrailer: X\r\n\r\n"), true, 443,
          "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "P45: Trailer without chunked" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTrailer: X\r\n"
                "Content-Length: 1\r\n\r\n"),
          true, 443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Content-Length: 1\r\n\r\n",
          "P45: Trailer with a length" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n"
                "Expect: 100-continue\r\n\r\n"),
          true, 443,
          "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\n" VIA
          "Content-Length: 5\r\n\r\n",
          "RESP-04: the upstream is asked" },
    };
    expect_requests(rows, GW_COUNT(rows), no_stamps);
}

static void hop_by_hop_fields_stay_here(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection:\r\n"
                "Connection: keep-alive, X-Drop\r\nX-Drop: 1\r\nKeep-Alive: timeout=5\r\n"
                "TE: gzip\r\nUpgrade: foo\r\nX-Keep: 1\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\nX-Keep: 1\r\n" VIA "\r\n",
          "HOP-01, P43, P44" },
        { BYTES(
              "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Connection, Connection, "
              "close\r\nProxy-Connection: Proxy-Connection, Connection\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOP-02" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: ,,, ,\r\n\r\n"), true,
          443, "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOP-02" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic cHU6cHA="
                "\r\nProxy-Connection: keep-alive\r\nProxy-Authenticate: Basic\r\n"
                "Proxy-Authentication-Info: x\r\nproxy-AUTHORIZATION: again\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n", "HOP-04, P42" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade, http2-settings"
                "\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n",
          "decision 14.8: served as HTTP/1.1" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"),
          true, 443, "GET / HTTP/1.1\r\nHost: a.test\r\n" VIA "\r\n",
          "specification 3.4: though nobody names it" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close, Via, Host, "
                "Content-Length, Accept, Expect, X-Drop\r\nContent-Length: 0\r\nAccept: */*\r\n"
                "Via: 1.1 fred\r\nX-Drop: 1\r\nExpect: 100-continue\r\n\r\n"),
          true, 443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Content-Length: 0\r\n\r\n",
          "HOP-03: what we write cannot be named away" },
        { BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Transfer-Encoding, "
                "Trailer\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"),
          true, 443, "POST / HTTP/1.1\r\nHost: a.test\r\n" VIA "Transfer-Encoding: chunked\r\n\r\n",
          "HOP-03: nor framing" },
    };
    expect_requests(rows, GW_COUNT(rows), no_stamps);
}

static void max_forwards_counts_down(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("OPTIONS http://a.test/ HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 5\r\n\r\n"), true,
          443, "OPTIONS / HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 4\r\n" VIA "\r\n",
          "RFC 9110 7.6.2" },
        { BYTES("OPTIONS http://a.test/ HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 1\r\n\r\n"), true,
          443, "OPTIONS / HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n" VIA "\r\n", "the last" },
        { BYTES("OPTIONS http://a.test/ HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 3\r\n"
                "Max-Forwards: 9\r\n\r\n"),
          true, 443, "OPTIONS / HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 8\r\n" VIA "\r\n",
          "one field only" },
    };
    expect_requests(rows, GW_COUNT(rows), no_stamps);
}

#define WS_KEY "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

static void a_websocket_handshake_goes_on(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("GET http://llm.acme.test/sock HTTP/1.1\r\n" HOST
                "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket, foo\r\n" WS_KEY
                "Authorization: Bearer placeholder\r\nProxy-Connection: close\r\n"
                "Proxy-Authorization: Basic eA==\r\n\r\n"),
          true, 443,
          "GET /sock HTTP/1.1\r\n" HOST WS_KEY VIA
          "Connection: Upgrade\r\nUpgrade: websocket\r\nauthorization: " SECRET "\r\n\r\n",
          "UPG-01, UPG-07, HOP-04" },
        { BYTES("GET http://llm.acme.test/sock HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n" WS_KEY
                "\r\n"),
          true, 443, "GET /sock HTTP/1.1\r\n" HOST WS_KEY VIA "authorization: " SECRET "\r\n\r\n",
          "UPG-03: both fields are dropped" },
    };
    expect_requests(rows, GW_COUNT(rows), authorization);
}

static void a_stamp_replaces_every_twin(void **state)
{
    (void)state;
    static const struct request_row rows[] = {
        { BYTES("GET http://llm.acme.test/ HTTP/1.1\r\n" HOST
                "authorization: Bearer placeholder\r\nAuthorization: Bearer other\r\n"
                "AUTHORIZATION:\tBasic eA==\r\nX-Api-Key: k\r\nX-Api-Keys: kk\r\n\r\n"),
          true, 443,
          "GET / HTTP/1.1\r\n" HOST "X-Api-Keys: kk\r\n" VIA "authorization: " SECRET
          "\r\nx-api-key: k-98765\r\n\r\n",
          "CRED-03, C03" },
        { BYTES("GET http://llm.acme.test/ HTTP/1.1\r\n" HOST
                "X_Api_Key: 1\r\nx-api_key: 2\r\nX_API-KEY: 3\r\nXApiKey: 4\r\n\r\n"),
          true, 443,
          "GET / HTTP/1.1\r\n" HOST "XApiKey: 4\r\n" VIA "authorization: " SECRET
          "\r\nx-api-key: k-98765\r\n\r\n",
          "C15: what an application would read as the same" },
        { BYTES("POST http://llm.acme.test/ HTTP/1.1\r\n" HOST
                "Connection: close, Authorization, X-Api-Key, Host, Content-Length, X-Drop\r\n"
                "Content-Length: 0\r\nX-Drop: 1\r\n\r\n"),
          true, 443,
          "POST / HTTP/1.1\r\n" HOST VIA "Content-Length: 0\r\nauthorization: " SECRET
          "\r\nx-api-key: k-98765\r\n\r\n",
          "HOP-03, C14: Connection cannot name it away" },
    };
    expect_requests(rows, GW_COUNT(rows), two_keys);
}

/* What is stamped is in the very last piece: the head can wait without the secret in it. */
static void the_secret_comes_last(void **state)
{
    (void)state;
    struct asked asked;
    struct gw_buffer out = { 0 };
    struct stamps stamps = authorization();
    asked_read(&asked, GW_SLICE("GET http://llm.acme.test/ HTTP/1.1\r\n" HOST "\r\n"), CUT_NOWHERE);
    assert_true(gw_rewrite_request(&asked.message.head, asked.message.text, &asked.request, true,
                                   443, OWN_VIA, stamps.stamp, stamps.count, &out));
    char *text = buffer_text(&out);
    expect_text(text, "GET / HTTP/1.1\r\n" HOST VIA, "without stamps and the empty line");
    free(text);
    gw_buffer_fini(&out);
    stamps_free(&stamps);
    asked_free(&asked);
}

/* ---- answers: what they mean ------------------------------------------------------------- */

#define GET "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define HEAD "HEAD http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define GET_1_0 "GET http://a.test/ HTTP/1.0\r\n\r\n"
#define GET_1_0_STAYS "GET http://a.test/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
#define WEBSOCKET                                                            \
    "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n" \
    "Upgrade: websocket\r\n" WS_KEY "\r\n"

struct answered {
    struct asked asked;
    struct message message;
    enum gw_reason reason;
    struct gw_response response;
};

static void answered_read(struct answered *answered, const char *request, struct gw_slice bytes,
                          size_t cut)
{
    asked_read(&answered->asked, gw_slice_of(request), CUT_NOWHERE);
    assert_int_equal(answered->asked.reason, GW_REASON_NONE);
    message_read(&answered->message, true, bytes, cut, NULL);
    if (answered->message.result == GW_HEAD_MORE)
        fail_msg("the answer's head does not end: %s", bytes.data);
    answered->reason = answered->message.result == GW_HEAD_BAD
                           ? answered->message.head.reason
                           : gw_response_read(&answered->message.head, answered->message.text,
                                              &answered->asked.request, &answered->response);
}

static void answered_free(struct answered *answered)
{
    message_free(&answered->message);
    asked_free(&answered->asked);
}

static void print_response(const struct answered *answered, char *out, size_t room)
{
    static const char *const kinds[] = { "none", "length", "chunked", "eof" };
    const struct gw_response *response = &answered->response;
    if (answered->reason != GW_REASON_NONE)
        snprintf(out, room, "%s", gw_reason_code(answered->reason));
    else
        snprintf(out, room, "%u %s %llu %s%s", response->status, kinds[response->body],
                 (unsigned long long)response->body_length, response->keep_alive ? "stays" : "ends",
                 response->websocket ? " ws" : "");
}

#define OK "HTTP/1.1 200 OK\r\n"
#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"
#define BAD "upstream-protocol"

static void an_answer_ends_at_one_place_or_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        struct gw_slice bytes;
        const char *expected, *why;
    } rows[] = {
        { GET, BYTES(OK "Content-Length: 2\r\n\r\n"), "200 length 2 stays", "a length" },
        { GET, BYTES(OK "Content-Length: 0\r\n\r\n"), "200 none 0 stays", "RESP-02" },
        { GET, BYTES(OK "Transfer-Encoding: chunked\r\n\r\n"), "200 chunked 0 stays", "chunked" },
        { GET, BYTES(OK "Transfer-Encoding: Chunked\r\n\r\n"), "200 chunked 0 stays", "RESP-06" },
        { GET, BYTES(OK "\r\n"), "200 eof 0 ends", "to the end" },
        { GET, BYTES(OK "Connection: keep-alive\r\n\r\n"), "200 eof 0 ends",
          "whatever it says about itself" },
        { GET, BYTES(OK "Content-Length: 2\r\nConnection: close\r\n\r\n"), "200 length 2 ends",
          "close" },
        { GET, BYTES("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n"), "200 length 2 ends", "1.0" },
        { GET, BYTES("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n"),
          "200 length 2 stays", "1.0 that stays" },
        { HEAD, BYTES(OK "Content-Length: 1192\r\n\r\n"), "200 none 1192 stays", "RESP-01, P74" },
        { HEAD, BYTES(OK "Transfer-Encoding: chunked\r\n\r\n"), "200 none 0 stays", "RESP-01" },
        { HEAD, BYTES(OK "\r\n"), "200 none 0 stays", "RESP-01: nothing said" },
        { GET, BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"),
          "304 none 500 stays", "RESP-02" },
        { GET, BYTES("HTTP/1.1 204 No Content\r\n\r\n"), "204 none 0 stays", "RESP-02" },
        { GET, BYTES("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
          "204 none 0 stays", "RFC 9112 6.3: no body whatever is said" },
        { GET, BYTES("HTTP/1.1 103 Early Hints\r\n\r\n"), "103 none 0 stays", "RESP-03" },
        { GET, BYTES("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n"), "100 none 5 stays",
          "no body whatever is said" },
        { GET, BYTES(OK "Content-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n"), BAD,
          "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n"), BAD,
          "RESP-11, the other order" },
        { HEAD, BYTES(OK "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n"), BAD,
          "RESP-11, though there is no body" },
        { GET, BYTES(OK "Content-Length: 3\r\nContent-Length: 5\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Content-Length: 3\r\nContent-Length: 3\r\n\r\n"), BAD,
          "RESP-11: twice the same" },
        { GET, BYTES(OK "Content-Length: 3, 5\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Content-Length: 3, 3\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Content-Length: -3\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Content-Length:\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Content-Length: 9223372036854775808\r\n\r\n"), BAD, "too much" },
        { GET, BYTES(OK "Transfer-Encoding: gzip\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding: gzip, chunked\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding: chunked, chunked\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding: identity\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding:\r\n\r\n"), BAD, "RESP-11" },
        { GET, BYTES(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), BAD,
          "RESP-11: two lines" },
        { GET, BYTES("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), BAD,
          "RFC 9112 6.1: never in 1.0" },
        { WEBSOCKET,
          BYTES(SWITCH "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n"
                       "\r\n"),
          "101 none 0 stays ws", "UPG-01" },
        { WEBSOCKET,
          BYTES(SWITCH "upgrade: WebSocket\r\nconnection: x, UPGRADE\r\nsec-websocket-accept: x\r\n"
                       "\r\n"),
          "101 none 0 stays ws", "UPG-03, in answers" },
        { GET,
          BYTES(SWITCH "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n"
                       "\r\n"),
          BAD, "RFC 9110 15.2.2: nobody asked" },
        { WEBSOCKET, BYTES(SWITCH "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"), BAD,
          "no Connection" },
        { WEBSOCKET, BYTES(SWITCH "Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"), BAD,
          "no Upgrade" },
        { WEBSOCKET, BYTES(SWITCH "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), BAD,
          "no accept (RFC 6455 4.2.2)" },
        { WEBSOCKET,
          BYTES(SWITCH "Upgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"),
          BAD, "another protocol" },
        { WEBSOCKET,
          BYTES(SWITCH "Upgrade: websocket\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Accept: x\r\n\r\n"),
          BAD, "two lines" },
        { WEBSOCKET, BYTES("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\n"),
          "426 length 2 stays", "UPG-02: an ordinary answer" },
        { WEBSOCKET,
          BYTES(OK "Content-Length: 2\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                   "\r\n"),
          "200 length 2 stays", "UPG-02: not on intent" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        for (unsigned turn = 0; turn < 2; turn++) {
            struct answered answered;
            char got[128];
            answered_read(&answered, rows[i].request, rows[i].bytes,
                          turn == 0 ? CUT_NOWHERE : CUT_EVERYWHERE);
            print_response(&answered, got, sizeof got);
            expect_text(got, rows[i].expected, rows[i].why);
            answered_free(&answered);
        }
    }
}

/* ---- answers: as the client sees them ---------------------------------------------------- */

struct response_row {
    const char *request;
    struct gw_slice bytes;
    enum gw_client_framing framing;
    bool close;
    const char *expected, *why;
};

static void expect_responses(const struct response_row *rows, size_t count,
                             struct stamps (*make)(void))
{
    struct stamps stamps = make();
    for (size_t i = 0; i < count; i++) {
        struct answered answered;
        struct gw_buffer out = { 0 };
        answered_read(&answered, rows[i].request, rows[i].bytes, CUT_NOWHERE);
        if (answered.reason != GW_REASON_NONE)
            fail_msg("%s: %s", rows[i].why, gw_reason_code(answered.reason));
        /* What is in the buffer already is another answer's. */
        assert_true(gw_buffer_append(&out, GW_SLICE("REAL-KEY-0123")));
        assert_true(gw_rewrite_response(
            &answered.message.head, answered.message.text, &answered.asked.request,
            &answered.response, rows[i].framing, rows[i].close, stamps.stamp, stamps.count, &out));
        gw_buffer_consume(&out, 3);
        char *got = buffer_text(&out);
        if (strncmp(got, "L-KEY-0123", 10) != 0)
            fail_msg("%s: the buffer before it was changed", rows[i].why);
        expect_text(got + 10, rows[i].expected, rows[i].why);
        free(got);
        gw_buffer_fini(&out);
        answered_free(&answered);
    }
    stamps_free(&stamps);
}

static void an_answer_is_written_anew(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        { GET,
          BYTES(OK "Content-Length: 15\r\nX-Keep: 1\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n"),
          GW_FRAMING_LENGTH, false,
          OK "Content-Length: 15\r\nX-Keep: 1\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n",
          "RESP-16: the length is kept" },
        { GET, BYTES(OK "Transfer-Encoding: Chunked\r\nX: 1\r\n\r\n"), GW_FRAMING_CHUNKED, false,
          OK "X: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "RESP-16" },
        { GET, BYTES(OK "Connection: close\r\n\r\n"), GW_FRAMING_CHUNKED, false,
          OK "Transfer-Encoding: chunked\r\n\r\n", "RESP-16: no length becomes chunked" },
        { GET_1_0, BYTES(OK "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"), GW_FRAMING_CLOSE,
          true, OK "Connection: close\r\n\r\n", "RESP-09, P75" },
        { GET_1_0_STAYS, BYTES(OK "Content-Length: 2\r\n\r\n"), GW_FRAMING_LENGTH, false,
          OK "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n", "1.0 that stays is told so" },
        { GET,
          BYTES(OK "Connection: close, X-Foo\r\nX-Foo: 1\r\nKeep-Alive: timeout=9\r\n"
                   "Proxy-Connection: close\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                   "Proxy-Authentication-Info: x\r\nUpgrade: h2c\r\nTE: x\r\n"
                   "Content-Length: 2\r\n\r\n"),
          GW_FRAMING_LENGTH, false, OK "Content-Length: 2\r\n\r\n", "HOP-07, P46" },
        { GET, BYTES(OK "Connection: Content-Length\r\nContent-Length: 2\r\n\r\n"),
          GW_FRAMING_LENGTH, false, OK "Content-Length: 2\r\n\r\n",
          "framing cannot be named away" },
        { GET, BYTES(OK "Content-Length: 2\r\n\r\n"), GW_FRAMING_LENGTH, true,
          OK "Content-Length: 2\r\nConnection: close\r\n\r\n", "the last answer" },
        { GET, BYTES("HTTP/1.0 200 Fine\r\nContent-Length: 2\r\n\r\n"), GW_FRAMING_LENGTH, false,
          "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\n", "our own version" },
        { GET, BYTES("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n"), GW_FRAMING_LENGTH, false,
          "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n", "RFC 9112 4: a blank, phrase or none" },
        { GET, BYTES(OK "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"), GW_FRAMING_CHUNKED,
          false, OK "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n", "decision 14.8" },
        { GET, BYTES(OK "Trailer: X-Sum\r\n\r\n"), GW_FRAMING_CHUNKED, false,
          OK "Transfer-Encoding: chunked\r\n\r\n", "no trailers without chunks" },
        { GET,
          BYTES("HTTP/1.1 307 Temporary Redirect\r\nLocation: https://blobs.evil.test/x?sig=1"
                "\r\nContent-Length: 0\r\n\r\n"),
          GW_FRAMING_NONE, false,
          "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://blobs.evil.test/x?sig=1\r\n"
          "Content-Length: 0\r\n\r\n",
          "CRED-05, P79: relayed" },
    };
    expect_responses(rows, GW_COUNT(rows), no_stamps);
}

static void an_answer_without_a_body_tells_no_wrong_length(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        { HEAD, BYTES(OK "Content-Length: 1192\r\n\r\n"), GW_FRAMING_NONE, false,
          OK "Content-Length: 1192\r\n\r\n", "RESP-01" },
        { HEAD, BYTES(OK "Transfer-Encoding: chunked\r\n\r\n"), GW_FRAMING_NONE, false, OK "\r\n",
          "RESP-01" },
        { GET, BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\nETag: \"x\"\r\n\r\n"),
          GW_FRAMING_NONE, false,
          "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\nETag: \"x\"\r\n\r\n", "RESP-02" },
        { GET, BYTES("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
          GW_FRAMING_NONE, false, "HTTP/1.1 204 No Content\r\n\r\n", "RESP-02" },
        { GET, BYTES("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), GW_FRAMING_NONE,
          false, "HTTP/1.1 204 No Content\r\n\r\n", "RESP-02: RFC 9110 8.6" },
        { GET,
          BYTES("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 3\r\n"
                "Connection: x\r\nX: 1\r\n\r\n"),
          GW_FRAMING_NONE, false, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "RESP-03" },
        { GET_1_0_STAYS, BYTES("HTTP/1.1 103 Early Hints\r\n\r\n"), GW_FRAMING_NONE, false,
          "HTTP/1.1 103 Early Hints\r\n\r\n", "interim: nothing about the connection" },
    };
    expect_responses(rows, GW_COUNT(rows), no_stamps);
}

static void a_valid_101_goes_on(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        { WEBSOCKET,
          BYTES(SWITCH "upgrade: WebSocket\r\nConnection: X, upgrade\r\nX: 1\r\n"
                       "Sec-WebSocket-Accept: abc=\r\nSec-WebSocket-Protocol: chat\r\n"
                       "Content-Length: 0\r\n\r\n"),
          GW_FRAMING_NONE, false,
          SWITCH "Sec-WebSocket-Accept: abc=\r\nSec-WebSocket-Protocol: chat\r\n"
                 "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
          "UPG-01" },
        { WEBSOCKET,
          BYTES("HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\n"
                "Connection: upgrade\r\nContent-Length: 2\r\n\r\n"),
          GW_FRAMING_LENGTH, false, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\n",
          "UPG-02" },
    };
    expect_responses(rows, GW_COUNT(rows), no_stamps);
}

static void a_stamped_value_never_comes_back(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        { GET,
          BYTES(OK "X-Echo: authorization=" SECRET ";\r\nX-Two: REAL-KEY-0123REAL-KEY-0123\r\n"
                   "Location: /?key=k-98765\r\nX-Other: REAL-KEY-012\r\nContent-Length: 2\r\n"
                   "\r\n"),
          GW_FRAMING_LENGTH, false,
          OK "X-Echo: authorization=********************;\r\nX-Two: **************************\r\n"
             "Location: /?key=*******\r\nX-Other: REAL-KEY-012\r\nContent-Length: 2\r\n\r\n",
          "CRED-14, C16" },
        { GET, BYTES("HTTP/1.1 200 REAL-KEY-0123\r\nk-98765: 1\r\nContent-Length: 2\r\n\r\n"),
          GW_FRAMING_LENGTH, false,
          "HTTP/1.1 200 *************\r\n*******: 1\r\n"
          "Content-Length: 2\r\n\r\n",
          "C16: nor in the phrase or a name" },
        { GET, BYTES("HTTP/1.1 103 Early Hints\r\nLink: <" SECRET ">\r\n\r\n"), GW_FRAMING_NONE,
          false, "HTTP/1.1 103 Early Hints\r\nLink: <********************>\r\n\r\n",
          "C16: nor in an interim answer" },
    };
    expect_responses(rows, GW_COUNT(rows), two_keys);
}

/* ---- trailers ---------------------------------------------------------------------------- */

static void trailers_that_change_the_message_stay_here(void **state)
{
    (void)state;
    /* RFC 9110 6.5.1: framing, routing, authentication, and what says how content is read */
    static const char *const refused[] = {
        "Transfer-Encoding", "content-length",   "Host",           "TE",
        "Trailer",           "Connection",       "Keep-Alive",     "Proxy-Authorization",
        "Upgrade",           "Max-Forwards",     "Expect",         "Proxy-Authenticate",
        "Authorization",     "AUTHORIZATION",    "Set-Cookie",     "Cookie",
        "Content-Type",      "Content-Encoding", "Content-Range",  "Cache-Control",
        "Location",          "Proxy-Connection", "HTTP2-Settings", "Via",
    };
    static const char *const kept[] = { "X-Sum",   "Digest", "Content-Digest", "grpc-status",
                                        "ETagger", "X-Host", "Server-Timing" };
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        if (gw_rewrite_trailer_ok(gw_slice_of(refused[i])))
            fail_msg("%s goes on", refused[i]);
    for (size_t i = 0; i < GW_COUNT(kept); i++)
        if (!gw_rewrite_trailer_ok(gw_slice_of(kept[i])))
            fail_msg("%s is dropped", kept[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_written_anew),
        cmocka_unit_test(framing_is_our_own),
        cmocka_unit_test(hop_by_hop_fields_stay_here),
        cmocka_unit_test(max_forwards_counts_down),
        cmocka_unit_test(a_websocket_handshake_goes_on),
        cmocka_unit_test(a_stamp_replaces_every_twin),
        cmocka_unit_test(the_secret_comes_last),
        cmocka_unit_test(an_answer_ends_at_one_place_or_is_refused),
        cmocka_unit_test(an_answer_is_written_anew),
        cmocka_unit_test(an_answer_without_a_body_tells_no_wrong_length),
        cmocka_unit_test(a_valid_101_goes_on),
        cmocka_unit_test(a_stamped_value_never_comes_back),
        cmocka_unit_test(trailers_that_change_the_message_stay_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
