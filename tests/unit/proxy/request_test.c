/* tests/unit/proxy/request_test.c - what a request head means. Rows refer to spec/specification
 * section 9 (P, K) and cases/case list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "message.h"

#define HOST "Host: api.acme.test\r\n"
#define GET "GET http://api.acme.test/ HTTP/1.1\r\n" HOST
#define POST "POST http://api.acme.test/ HTTP/1.1\r\n" HOST
#define GET_1_0 "GET http://api.acme.test/ HTTP/1.0\r\n" HOST

struct row {
    struct gw_slice bytes;
    const char *expected; /* the code of a reason, or what the test prints */
    const char *why;
};

#define BYTES(text)               \
    {                             \
        "" text, sizeof(text) - 1 \
    }

/* What a row's test looks at, as text. */
typedef void print_function(const struct asked *asked, FILE *to);

static char *ask_and_print(struct gw_slice bytes, size_t cut, print_function *print)
{
    struct asked asked;
    char *printed;
    size_t length;
    FILE *to = open_memstream(&printed, &length);
    assert_non_null(to);
    asked_read(&asked, bytes, cut);
    if (asked.reason != GW_REASON_NONE)
        fprintf(to, "%s", gw_reason_code(asked.reason));
    else
        print(&asked, to);
    fclose(to);
    asked_free(&asked);
    return printed;
}

static void expect_rows(const struct row *rows, size_t count, print_function *print)
{
    for (size_t i = 0; i < count; i++) {
        for (unsigned turn = 0; turn < 2; turn++) {
            char *got =
                ask_and_print(rows[i].bytes, turn == 0 ? CUT_NOWHERE : CUT_EVERYWHERE, print);
            expect_text(got, rows[i].expected, rows[i].why);
            free(got);
        }
    }
}

/* ---- who is meant ------------------------------------------------------------------------ */

static void print_target(const struct asked *asked, FILE *to)
{
    static const char *const forms[] = { "origin", "absolute", "authority" };
    const struct gw_request *request = &asked->request;
    char authority[GW_AUTHORITY_TEXT_MAX];
    gw_authority_print(&request->authority, authority, sizeof authority);
    fprintf(to, "%s %s%s %.*s", forms[request->target.form], request->https ? "https " : "",
            authority, (int)request->target.path_and_query.length,
            request->target.path_and_query.data);
}

static void the_target_wins_over_host(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("GET http://api.acme.test/a HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
          "absolute api.acme.test /a", "HOST-07, P18" },
        { BYTES("GET http://API.Acme.Test./v1 HTTP/1.1\r\nHost: API.Acme.Test.\r\n\r\n"),
          "absolute api.acme.test /v1", "HOST-01: one canonical form" },
        { BYTES("GET HTTP://a.test/z HTTP/1.1\r\nHost: ok.example\r\n\r\n"), "absolute a.test /z",
          "P21: the scheme in any case" },
        { BYTES("GET https://a.test/z HTTP/1.1\r\nHost: a.test\r\n\r\n"),
          "absolute https a.test /z", "https" },
        { BYTES("GET http://a.test:8443/z HTTP/1.1\r\nHost: a.test\r\n\r\n"),
          "absolute a.test:8443 /z", "a port" },
        { BYTES("GET http://a.test:/x HTTP/1.1\r\nHost: a.test:\r\n\r\n"), "absolute a.test /x",
          "HOST-17: an empty port" },
        { BYTES("GET http://[2001:db8::5]/x HTTP/1.1\r\nHost: [2001:db8::5]\r\n\r\n"),
          "absolute [2001:db8::5] /x", "HOST-17: a literal" },
        { BYTES("GET http://a.test?next=http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"),
          "absolute a.test ?next=http://b.test/", "HOST-09" },
        { BYTES("GET http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n"), "absolute a.test ",
          "no path" },
        { BYTES("GET http://a.test/ HTTP/1.0\r\n\r\n"), "absolute a.test /",
          "decision 6.1: 1.0 may omit Host" },
        { BYTES("GET /v1 HTTP/1.1\r\nHost: a.test:8080\r\n\r\n"), "origin a.test:8080 /v1",
          "specification 3.1: origin-form" },
        { BYTES("GET //evil.example/x HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
          "origin ok.example //evil.example/x", "P24: a path, not an authority" },
        { BYTES("GET /a/../b?q HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
          "origin ok.example /a/../b?q", "P38: unchanged" },
        { BYTES("GET /?u=http://b.test/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n"),
          "origin [::1]:81 /?u=http://b.test/", "a literal in Host" },
        { BYTES("CONNECT api.acme.test:443 HTTP/1.0\r\n\r\n"), "authority api.acme.test:443 ",
          "CONN-03: urllib3" },
        { BYTES("CONNECT api.acme.test:443 HTTP/1.1\r\nHost: api.acme.test\r\n\r\n"),
          "authority api.acme.test:443 ", "CONN-03: Java, aiohttp, undici" },
        { BYTES("CONNECT evil.test:443 HTTP/1.1\r\nHost: api.acme.test:443\r\n\r\n"),
          "authority evil.test:443 ", "CONN-03: the authority alone decides" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: \r\n\r\n"), "authority a.test:443 ",
          "CONN-03: whatever Host says" },
        { BYTES("CONNECT OK.EXAMPLE.:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "authority ok.example:443 ",
          "K16" },
        { BYTES("CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "authority [::1]:443 ", "K11" },
    };
    expect_rows(rows, GW_COUNT(rows), print_target);
}

static void a_target_or_host_that_is_not_clear_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("GET / HTTP/1.1\r\n\r\n"), "bad-request", "P15: no Host" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\n\r\n"), "bad-request", "decision 6.1: no Host" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), "bad-request", "CONN-03: no Host" },
        { BYTES("GET / HTTP/1.0\r\n\r\n"), "bad-request", "P14" },
        { BYTES("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "bad-request", "P16: empty" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: \t\r\n\r\n"), "bad-request", "P16" },
        { BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n"), "bad-request", "P17" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nhOST: b.test\r\n\r\n"),
          "bad-request", "P17, beside an absolute target" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n"),
          "bad-request", "P17, on CONNECT" },
        { BYTES("GET http://a.test/ HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), "bad-request",
          "P17, in 1.0" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a b\r\n\r\n"), "bad-host",
          "decision 14.6: malformed, though not used" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n"), "bad-host",
          "a list" },
        { BYTES("GET / HTTP/1.1\r\nHost: user@a.test\r\n\r\n"), "userinfo", "K14, in Host" },
        { BYTES("GET / HTTP/1.1\r\nHost: ok.example:99999\r\n\r\n"), "bad-port", "P36" },
        { BYTES("GET / HTTP/1.1\r\nHost: ok.example:-1\r\n\r\n"), "bad-port", "P36" },
        { BYTES("GET / HTTP/1.1\r\nHost: http://a.test\r\n\r\n"), "bad-port", "a URL" },
        { BYTES("GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n"), "bad-host", "with a path" },
        { BYTES("GET / HTTP/1.1\r\nHost: \xef\xbd\x8fk.example\r\n\r\n"), "bad-host", "P33b" },
        { BYTES("GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n"), "numeric-host", "P32, in Host" },
        { BYTES("GET ftp://ok.example/ HTTP/1.1\r\n" HOST "\r\n"), "bad-request", "P22" },
        { BYTES("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "bad-request", "P23" },
        { BYTES("GET * HTTP/1.1\r\n" HOST "\r\n"), "bad-request", "P23" },
        { BYTES("GET http://u:p@ok.example/ HTTP/1.1\r\n" HOST "\r\n"), "userinfo", "P26" },
        { BYTES("GET http://allowed@evil/ HTTP/1.1\r\n" HOST "\r\n"), "userinfo", "P27" },
        { BYTES("GET http://evil#@allowed/ HTTP/1.1\r\n" HOST "\r\n"), "bad-request", "P28" },
        { BYTES("GET http://a.test/x#y HTTP/1.1\r\n" HOST "\r\n"), "bad-request", "a fragment" },
        { BYTES("GET http://exam%70le.com/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P31" },
        { BYTES("GET http://evil.test%23.pkgs.test/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host",
          "HOST-05" },
        { BYTES("GET http://evil.test%2f.pkgs.test/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host",
          "HOST-05" },
        { BYTES("CONNECT api%2eacme.test:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-05" },
        { BYTES("GET http://%E2%91%A0.0.0.1/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P33a" },
        { BYTES("GET http://2130706433/ HTTP/1.1\r\n" HOST "\r\n"), "numeric-host", "P32" },
        { BYTES("GET http://0x7f.1/ HTTP/1.1\r\n" HOST "\r\n"), "numeric-host", "P32" },
        { BYTES("GET http://0177.0.0.1/ HTTP/1.1\r\n" HOST "\r\n"), "numeric-host", "P32" },
        { BYTES("GET http://127.1/ HTTP/1.1\r\n" HOST "\r\n"), "numeric-host", "P32" },
        { BYTES("GET http://% HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P34" },
        { BYTES("GET http:// HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P35" },
        { BYTES("GET http://[::1 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P35" },
        { BYTES("GET http://h:99999/ HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "P35" },
        { BYTES("GET http:///evil.example/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "P37" },
        { BYTES("GET http://[[api.acme.test]]/ HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-02" },
        { BYTES("GET http://[fe80::1%25eth0]/ HTTP/1.1\r\n" HOST "\r\n"), "zone-id", "A29" },
        { BYTES("CONNECT [evil.test]:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-02, K15" },
        { BYTES("CONNECT [192.0.2.7]:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-02" },
        { BYTES("CONNECT ok.example HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "CONN-01, K07" },
        { BYTES("CONNECT ok.example: HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "CONN-01" },
        { BYTES("CONNECT api.acme.test..:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-01" },
        { BYTES("CONNECT http://ok.example:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host",
          "CONN-02, K13" },
        { BYTES("CONNECT / HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "K17" },
        { BYTES("CONNECT /x HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "CONN-02" },
        { BYTES("CONNECT * HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "CONN-02" },
        { BYTES("CONNECT a.test:443/x HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "CONN-02" },
        { BYTES("CONNECT a.test:443?x HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "CONN-02" },
        { BYTES("CONNECT a.test:443,b.test:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "CONN-02" },
        { BYTES("CONNECT ok.example:99999 HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "K08" },
        { BYTES("CONNECT ok.example:-1 HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "K08" },
        { BYTES("CONNECT ok.example:0x1bb HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "K09" },
        { BYTES("CONNECT a.test:4294967739 HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "HOST-16" },
        { BYTES("CONNECT a.test:0 HTTP/1.1\r\n" HOST "\r\n"), "bad-port", "HOST-16" },
        { BYTES("CONNECT a.test:443:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "HOST-16" },
        { BYTES("CONNECT ::1:443 HTTP/1.1\r\n" HOST "\r\n"), "bad-host", "K12" },
        { BYTES("CONNECT u@ok.example:443 HTTP/1.1\r\n" HOST "\r\n"), "userinfo", "K14" },
        { BYTES("CONNECT 2130706433:443 HTTP/1.1\r\n" HOST "\r\n"), "numeric-host", "K10" },
    };
    expect_rows(rows, GW_COUNT(rows), print_target);
}

/* A refusal names the host, when there is one to name. */
static void a_refused_request_still_tells_its_host(void **state)
{
    (void)state;
    struct asked asked;
    static const struct gw_slice bytes[] = {
        BYTES("GET http://api.acme.test:81/ HTTP/1.1\r\nHost: a b\r\n\r\n"),
        BYTES("GET http://api.acme.test:81/ HTTP/1.1\r\n\r\n"),
        BYTES("GET / HTTP/1.1\r\nHost: api.acme.test:81\r\nExpect: x\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: api.acme.test:81\r\nTransfer-Encoding: chunked\r\n"
              "Transfer-Encoding: chunked\r\n\r\n"),
        BYTES("GET http://api.acme.test:81/ HTTP/1.1\r\nHost: a\r\nVia: 1.1 " OWN_VIA "\r\n\r\n"),
    };
    for (size_t i = 0; i < GW_COUNT(bytes); i++) {
        char authority[GW_AUTHORITY_TEXT_MAX];
        asked_read(&asked, bytes[i], CUT_NOWHERE);
        assert_int_not_equal(asked.reason, GW_REASON_NONE);
        gw_authority_print(&asked.request.authority, authority, sizeof authority);
        if (asked.message.result == GW_HEAD_DONE)
            expect_text(authority, "api.acme.test:81", bytes[i].data);
        asked_free(&asked);
    }
}

/* ---- framing ----------------------------------------------------------------------------- */

static void print_body(const struct asked *asked, FILE *to)
{
    const struct gw_request *request = &asked->request;
    if (request->body == GW_BODY_CHUNKED)
        fprintf(to, "chunked");
    else if (request->body == GW_BODY_LENGTH)
        fprintf(to, "%llu bytes", (unsigned long long)request->body_length);
    else
        fprintf(to, "none");
    if (request->length_given && request->body == GW_BODY_NONE)
        fprintf(to, ", and says so");
}

static void a_body_ends_at_one_place_or_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "\r\n"), "none", "nothing said" },
        { BYTES(POST "Content-Length: 0\r\n\r\n"), "none, and says so", "a length of 0" },
        { BYTES(POST "Content-Length: 5\r\n\r\n"), "5 bytes", "a length" },
        { BYTES(POST "Content-Length: \t 5 \r\n\r\n"), "5 bytes", "blanks around it" },
        { BYTES(POST "Content-Length: 0005\r\n\r\n"), "5 bytes", "RFC 9110 8.6: 1*DIGIT" },
        { BYTES(POST "Content-Length: 9223372036854775807\r\n\r\n"), "9223372036854775807 bytes",
          "the most" },
        { BYTES(POST "Content-Length: 9223372036854775808\r\n\r\n"), "bad-request", "and one" },
        { BYTES(POST "Content-Length: 18446744073709551617\r\n\r\n"), "bad-request", "2^64 + 1" },
        { BYTES(POST "Content-Length: +5\r\n\r\n"), "bad-request", "P49" },
        { BYTES(POST "Content-Length: -5\r\n\r\n"), "bad-request", "P49" },
        { BYTES(POST "Content-Length: 5x\r\n\r\n"), "bad-request", "specification 3.4" },
        { BYTES(POST "Content-Length: 0x5\r\n\r\n"), "bad-request", "specification 3.4" },
        { BYTES(POST "Content-Length: 5 5\r\n\r\n"), "bad-request", "specification 3.4" },
        { BYTES(POST "Content-Length:\r\n\r\n"), "bad-request", "empty" },
        { BYTES(POST "Content-Length: \xb2\r\n\r\n"), "bad-request", "FRAME-15" },
        { BYTES(POST "Content-Length: 3, 3\r\n\r\n"), "bad-request", "FRAME-03" },
        { BYTES(POST "Content-Length: 3, 30\r\n\r\n"), "bad-request", "FRAME-03" },
        { BYTES(POST "Content-Length: 3\r\nContent-Length: 30\r\n\r\n"), "bad-request",
          "FRAME-03" },
        { BYTES(POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n"), "bad-request",
          "FRAME-03: twice the same" },
        { BYTES(POST "Transfer-Encoding: chunked\r\n\r\n"), "chunked", "chunked" },
        { BYTES(POST "Transfer-Encoding: Chunked\r\n\r\n"), "chunked", "FRAME-02: any case" },
        { BYTES(POST "Transfer-Encoding: chunked \t\r\n\r\n"), "bad-request",
          "FRAME-02: OWS that the decoder does not see past" },
        { BYTES(POST "Transfer-Encoding: chunked,\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: ,chunked\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding:\r\n\r\n"), "bad-request", "FRAME-02: empty" },
        { BYTES(POST "Transfer-Encoding: chunked, gzip\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: xchunked\r\n\r\n"), "bad-request", "FRAME-02, P50" },
        { BYTES(POST "Transfer-Encoding: chunkedx\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: chunked;a=b\r\n\r\n"), "bad-request", "a parameter" },
        { BYTES(POST "Transfer-Encoding: chunked, chunked\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"), "bad-request", "FRAME-02" },
        { BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
          "bad-request", "FRAME-02: two lines" },
        { BYTES(POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"),
          "bad-request", "FRAME-02: two lines" },
        { BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n"), "bad-request",
          "FRAME-02: two lines" },
        { BYTES(POST "Transfer-Encoding: identity\r\n\r\n"), "bad-request", "FRAME-11" },
        { BYTES(POST "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n"), "bad-request",
          "FRAME-11" },
        { BYTES(POST "Transfer-Encoding: chunked, identity\r\n\r\n"), "bad-request", "P50" },
        { BYTES(POST "Content-Length: 56\r\nTransfer-Encoding: chunked\r\n\r\n"), "bad-request",
          "FRAME-01, P47" },
        { BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 56\r\n\r\n"), "bad-request",
          "FRAME-01, the other order" },
        { BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"), "bad-request",
          "FRAME-01, with 0" },
        { BYTES("POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
          "bad-request", "RFC 9112 6.1: never in 1.0" },
        { BYTES("POST http://a.test/ HTTP/1.0\r\nContent-Length: 5\r\n\r\n"), "5 bytes", "1.0" },
        { BYTES(POST "Transfer_Encoding: gzip\r\nContent-Length: 5\r\n\r\n"), "5 bytes",
          "another name" },
        { BYTES("GET http://a.test/ HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"), "5 bytes",
          "a GET may have one" },
        { BYTES("HEAD http://a.test/ HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
          "chunked", "and a HEAD" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"), "bad-request",
          "K30" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"), "bad-request",
          "K30: specification 4.1.4 excepts no length" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
          "bad-request", "K30" },
    };
    expect_rows(rows, GW_COUNT(rows), print_body);
}

/* ---- the connection ---------------------------------------------------------------------- */

static void print_persistence(const struct asked *asked, FILE *to)
{
    fprintf(to, "%s", asked->request.keep_alive ? "stays" : "ends");
}

static void the_connection_stays_or_ends(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "\r\n"), "stays", "1.1" },
        { BYTES(GET "Connection: close\r\n\r\n"), "ends", "close" },
        { BYTES(GET "Connection: CLOSE\r\n\r\n"), "ends", "any case" },
        { BYTES(GET "Connection: x, close\r\n\r\n"), "ends", "in a list" },
        { BYTES(GET "Connection: keep-alive, close\r\n\r\n"), "ends", "close is the stronger" },
        { BYTES(GET "Connection:\r\nConnection: close\r\n\r\n"), "ends", "HOP-01: every line" },
        { BYTES(GET "Connection: closed\r\n\r\n"), "stays", "whole tokens" },
        { BYTES(GET "Proxy-Connection: close\r\n\r\n"), "ends", "the old name" },
        { BYTES(GET "Proxy-Connection: keep-alive\r\nConnection: close\r\n\r\n"), "ends", "both" },
        { BYTES(GET_1_0 "\r\n"), "ends", "1.0" },
        { BYTES(GET_1_0 "Connection: keep-alive\r\n\r\n"), "stays", "1.0 that asks" },
        { BYTES(GET_1_0 "Connection: Keep-Alive, close\r\n\r\n"), "ends",
          "1.0 that asks for both" },
        { BYTES(GET_1_0 "Proxy-Connection: Keep-Alive\r\n\r\n"), "stays", "by the old name" },
        { BYTES(GET_1_0 "Keep-Alive: 300\r\n\r\n"), "ends", "that field alone says nothing" },
    };
    expect_rows(rows, GW_COUNT(rows), print_persistence);
}

static void print_marks(const struct asked *asked, FILE *to)
{
    const struct gw_http_head *head = &asked->message.head;
    for (uint32_t i = 0; i < head->field_count; i++) {
        struct gw_slice name = gw_http_name(&head->fields[i], asked->message.text);
        if (head->fields[i].connection)
            fprintf(to, "%.*s ", (int)name.length, name.data);
    }
}

static void fields_that_connection_names_are_marked(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "X-Drop: 1\r\n\r\n"), "", "nobody names it" },
        { BYTES(GET "Connection: x-drop\r\nX-Drop: 1\r\nX-Keep: 1\r\n\r\n"), "X-Drop ",
          "P43: in any case" },
        { BYTES(GET "X-Drop: 1\r\nConnection: X-Drop\r\nX-DROP: 2\r\n\r\n"), "X-Drop X-DROP ",
          "before and behind, each of them" },
        { BYTES(GET "Connection:\r\nConnection: keep-alive, X-Drop\r\nX-Drop: 1\r\n"
                    "Keep-Alive: timeout=5\r\n\r\n"),
          "X-Drop Keep-Alive ", "HOP-01: all lines are joined" },
        { BYTES(GET "Proxy-Connection: X-Drop\r\nX-Drop: 1\r\n\r\n"), "X-Drop ", "the old name" },
        { BYTES(GET "Connection: Connection, Connection, close\r\n\r\n"), "Connection ",
          "HOP-02: itself" },
        { BYTES(GET "Proxy-Connection: Proxy-Connection, Connection\r\n\r\n"), "Proxy-Connection ",
          "HOP-02" },
        { BYTES(GET "Connection: ,,, ,\r\n\r\n"), "", "HOP-02: nothing" },
        { BYTES(GET "Connection: X-Dro\r\nX-Drop: 1\r\n\r\n"), "", "a prefix is another name" },
        { BYTES(GET "Connection: \"X-Drop\"\r\nX-Drop: 1\r\n\r\n"), "", "not a token" },
        { BYTES(GET "Connection:\tX-Drop\t,\tX-Two\r\nX-Drop: 1\r\nX-Two: 2\r\n\r\n"),
          "X-Drop X-Two ", "blanks" },
    };
    expect_rows(rows, GW_COUNT(rows), print_marks);
}

static void a_flood_of_options_is_refused(void **state)
{
    (void)state;
    struct asked asked;
    char text[1024];
    for (unsigned count = 63; count <= 66; count++) {
        int length = snprintf(text, sizeof text, GET "Connection: ");
        for (unsigned i = 0; i < count; i++)
            length += snprintf(text + length, sizeof text - (size_t)length, "a,");
        length += snprintf(text + length, sizeof text - (size_t)length, "\r\n\r\n");
        asked_read(&asked, (struct gw_slice){ text, (size_t)length }, CUT_NOWHERE);
        assert_int_equal(asked.reason, count <= 64 ? GW_REASON_NONE : GW_REASON_BAD_REQUEST);
        asked_free(&asked);
    }
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void print_websocket(const struct asked *asked, FILE *to)
{
    fprintf(to, "%s", asked->request.websocket ? "yes" : "no");
}

#define WS_KEY "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

static void an_upgrade_to_websocket_is_recognised(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "Connection: Upgrade\r\nUpgrade: websocket\r\n" WS_KEY
                    "Proxy-Connection: close\r\n\r\n"),
          "yes", "UPG-01" },
        { BYTES(GET "Connection: keep-alive, UPGRADE\r\nUpgrade: WebSocket\r\n" WS_KEY "\r\n"),
          "yes", "UPG-03: whole tokens, any case" },
        { BYTES(GET "Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY
                    "\r\n"),
          "yes", "UPG-03: over all lines" },
        { BYTES(GET "Connection: notupgrade\r\nUpgrade: websocket\r\n" WS_KEY "\r\n"), "no",
          "UPG-03" },
        { BYTES(GET "Upgrade: websocket\r\n" WS_KEY "\r\n"), "no", "UPG-03: no Connection" },
        { BYTES(GET "Connection: upgrade\r\n" WS_KEY "\r\n"), "no", "UPG-03: no Upgrade" },
        { BYTES(GET "Proxy-Connection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY "\r\n"), "no",
          "the old name is not it" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websockets\r\n" WS_KEY "\r\n"), "no",
          "UPG-03" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websocket/13\r\n" WS_KEY "\r\n"), "no",
          "another protocol version" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
                    "\r\n"),
          "no", "decision 14.8: h2c is stripped" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"), "no", "no key" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY WS_KEY "\r\n"), "no",
          "two keys (RFC 6455 4.1)" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n" WS_KEY
                    "\r\n"),
          "no", "two lines" },
        { BYTES(GET_1_0 "Connection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY "\r\n"), "no",
          "RFC 6455 4.1: 1.1 or later" },
        { BYTES(POST "Connection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY "\r\n"), "no",
          "RFC 6455 4.1: GET" },
        { BYTES(GET "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n" WS_KEY
                    "\r\n"),
          "no", "a body would be read as frames" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n" HOST
                "Connection: upgrade\r\nUpgrade: websocket\r\n" WS_KEY "\r\n"),
          "no", "CONNECT" },
    };
    expect_rows(rows, GW_COUNT(rows), print_websocket);
}

static void print_expect(const struct asked *asked, FILE *to)
{
    fprintf(to, "%s", asked->request.expects_continue ? "waits" : "sends");
}

static void an_expectation_is_known_or_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(POST "Content-Length: 1\r\n\r\n"), "sends", "none" },
        { BYTES(POST "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n"), "waits", "RESP-04" },
        { BYTES(POST "Content-Length: 1\r\nExpect: 100-Continue\r\n\r\n"), "waits", "any case" },
        { BYTES(POST "Content-Length: 1\r\nExpect: x-magic\r\n\r\n"), "expectation", "RESP-04 e" },
        { BYTES(POST "Content-Length: 1\r\nExpect: 100-continue, x-magic\r\n\r\n"), "expectation",
          "RESP-04 e" },
        { BYTES(POST "Content-Length: 1\r\nExpect: 100-continue\r\nExpect: x\r\n\r\n"),
          "expectation", "RESP-04 e" },
        { BYTES(POST "Content-Length: 1\r\nExpect:\r\n\r\n"), "expectation", "empty" },
    };
    expect_rows(rows, GW_COUNT(rows), print_expect);
}

static void print_nothing(const struct asked *asked, FILE *to)
{
    (void)asked;
    fprintf(to, "goes on");
}

static void our_own_via_is_a_loop(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "Via: 1.1 " OWN_VIA "\r\n\r\n"), "loop", "specification 3.2 c" },
        { BYTES(GET "Via: 1.0 fred, 1.1 " OWN_VIA ", 1.1 joe\r\n\r\n"), "loop", "in a list" },
        { BYTES(GET "Via: 1.1 fred\r\nvia: HTTP/1.1  GW-7F3A (x)\r\n\r\n"), "loop",
          "any line, any case, with a comment" },
        { BYTES(GET "Via: 1.1 " OWN_VIA "x\r\n\r\n"), "goes on", "another one" },
        { BYTES(GET "Via: 1.1 x" OWN_VIA "\r\n\r\n"), "goes on", "another one" },
        { BYTES(GET "Via: \r\n\r\n"), "goes on", "empty" },
        { BYTES(GET "X-Via: 1.1 " OWN_VIA "\r\n\r\n"), "goes on", "another field" },
        { BYTES("CONNECT a.test:443 HTTP/1.1\r\n" HOST "Via: 1.1 " OWN_VIA "\r\n\r\n"), "loop",
          "decision 14.1: on both paths" },
        { BYTES(GET "Connection: Via\r\nVia: 1.1 " OWN_VIA "\r\n\r\n"), "loop",
          "HOP-03: Connection cannot hide it" },
    };
    expect_rows(rows, GW_COUNT(rows), print_nothing);
}

static void print_json(const struct asked *asked, FILE *to)
{
    fprintf(to, "%s", asked->request.wants_json ? "json" : "text");
}

static void json_goes_to_who_accepts_it(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "\r\n"), "text", "nothing said" },
        { BYTES(GET "Accept: */*\r\n\r\n"), "text", "anything" },
        { BYTES(GET "Accept: application/json\r\n\r\n"), "json", "named" },
        { BYTES(GET "Accept: text/html, Application/JSON;q=0.9\r\n\r\n"), "json", "in a list" },
        { BYTES(GET "Accept: text/html\r\nAccept: application/json\r\n\r\n"), "json", "two lines" },
        { BYTES(GET "Accept: application/json;q=0\r\n\r\n"), "text", "RFC 9110 12.4.2: never" },
        { BYTES(GET "Accept: application/json; q=0.000, text/plain\r\n\r\n"), "text", "never" },
        { BYTES(GET "Accept: application/json;v=1;Q=0\r\n\r\n"), "text", "never" },
        { BYTES(GET "Accept: application/json;q=0.1\r\n\r\n"), "json", "if need be" },
        { BYTES(GET "Accept: application/json;q=\r\n\r\n"), "json", "nonsense behind it" },
        { BYTES(GET "Accept: application/jsonx\r\n\r\n"), "text", "another type" },
        { BYTES(GET "Accept: ;;,;\r\n\r\n"), "text", "nonsense" },
    };
    expect_rows(rows, GW_COUNT(rows), print_json);
}

static void print_forwards(const struct asked *asked, FILE *to)
{
    fprintf(to, "%lld", (long long)asked->request.max_forwards);
}

static void max_forwards_is_a_number_or_nothing(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(GET "\r\n"), "-1", "not given" },
        { BYTES(GET "Max-Forwards: 0\r\n\r\n"), "0", "CRED-14" },
        { BYTES(GET "Max-Forwards: 5\r\n\r\n"), "5", "five" },
        { BYTES(GET "Max-Forwards: 2147483647\r\n\r\n"), "2147483647", "the most" },
        { BYTES(GET "Max-Forwards: 2147483648\r\n\r\n"), "-1", "too much is as nothing" },
        { BYTES(GET "Max-Forwards: -1\r\n\r\n"), "-1", "not a number" },
        { BYTES(GET "Max-Forwards: 5x\r\n\r\n"), "-1", "not a number" },
    };
    expect_rows(rows, GW_COUNT(rows), print_forwards);
}

static void the_method_and_version_are_noted(void **state)
{
    (void)state;
    struct asked asked;
    asked_read(&asked, GW_SLICE("HEAD http://a.test/ HTTP/1.0\r\n\r\n"), CUT_NOWHERE);
    assert_int_equal(asked.reason, GW_REASON_NONE);
    assert_true(asked.request.is_head && asked.request.minor0 && !asked.request.is_connect);
    assert_true(gw_slice_equal(asked.request.method, GW_SLICE("HEAD")));
    asked_free(&asked);
    asked_read(&asked, GW_SLICE("CONNECT a.test:443 HTTP/1.1\r\n" HOST "\r\n"), CUT_NOWHERE);
    assert_int_equal(asked.reason, GW_REASON_NONE);
    assert_true(asked.request.is_connect && !asked.request.minor0 && !asked.request.is_head);
    asked_free(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_wins_over_host),
        cmocka_unit_test(a_target_or_host_that_is_not_clear_is_refused),
        cmocka_unit_test(a_refused_request_still_tells_its_host),
        cmocka_unit_test(a_body_ends_at_one_place_or_is_refused),
        cmocka_unit_test(the_connection_stays_or_ends),
        cmocka_unit_test(fields_that_connection_names_are_marked),
        cmocka_unit_test(a_flood_of_options_is_refused),
        cmocka_unit_test(an_upgrade_to_websocket_is_recognised),
        cmocka_unit_test(an_expectation_is_known_or_refused),
        cmocka_unit_test(our_own_via_is_a_loop),
        cmocka_unit_test(json_goes_to_who_accepts_it),
        cmocka_unit_test(max_forwards_is_a_number_or_nothing),
        cmocka_unit_test(the_method_and_version_are_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
