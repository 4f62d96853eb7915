/* tests/unit/proxy/http_head_test.c - heads, read strictly and in any pieces. Row names refer to
 * spec/specification section 9 (P, K) and cases/case list (FRAME, SYN, HOST). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "message.h"

static char *read_and_print(bool response, struct gw_slice bytes, size_t cut,
                            const struct gw_limits *limits)
{
    struct message message;
    message_read(&message, response, bytes, cut, limits);
    char *printed = message_print(&message);
    message_free(&message);
    return printed;
}

/* One piece, cut in two at every position, byte by byte: the same every time. */
static void expect_head(bool response, struct gw_slice bytes, const char *expected, const char *why,
                        const struct gw_limits *limits)
{
    char *whole = read_and_print(response, bytes, CUT_NOWHERE, limits);
    expect_text(whole, expected, why);
    free(whole);
    size_t step = bytes.length > 2048 ? 97 : 1;
    for (size_t cut = 1; cut < bytes.length; cut += step) {
        char label[160];
        snprintf(label, sizeof label, "%s (cut at %zu)", why, cut);
        char *parts = read_and_print(response, bytes, cut, limits);
        expect_text(parts, expected, label);
        free(parts);
    }
    char *single = read_and_print(response, bytes, CUT_EVERYWHERE, limits);
    expect_text(single, expected, why);
    free(single);
}

struct row {
    struct gw_slice bytes;
    const char *expected;
    const char *why;
};

#define BYTES(text)               \
    {                             \
        "" text, sizeof(text) - 1 \
    }

static void expect_rows(bool response, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_head(response, rows[i].bytes, rows[i].expected, rows[i].why, NULL);
}

/* ---- requests ---------------------------------------------------------------------------- */

static void a_request_is_read(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("GET http://api.acme.test/a?b HTTP/1.1\r\nHost: api.acme.test\r\n\r\n"),
          "GET http://api.acme.test/a?b 1.1, 62 bytes\nHost=api.acme.test\n", "an ordinary one" },
        { BYTES("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\n\r\n"),
          "GET / 1.1, 27 bytes\nHost=a\n", "what follows is another's" },
        { BYTES("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
          "POST / 1.1, 47 bytes\nHost=a\nContent-Length=5\n", "a body is not looked at" },
        { BYTES("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
          "POST / 1.1, 56 bytes\nHost=a\nTransfer-Encoding=chunked\n", "nor a chunked one" },
        { BYTES("CONNECT api.acme.test:443 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01"),
          "CONNECT api.acme.test:443 1.1, 47 bytes\nHost=x\n", "CONN-05: early data" },
        { BYTES("CONNECT api.acme.test:443 HTTP/1.0\r\n\r\n"),
          "CONNECT api.acme.test:443 1.0, 38 bytes\n", "CONN-03: no field at all" },
        { BYTES("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw"),
          "GET / 1.1, 59 bytes\nConnection=Upgrade\nUpgrade=websocket\n",
          "an upgrade is nothing special yet" },
        { BYTES("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / 1.1, 29 bytes\nHost=a\n",
          "an empty line before is skipped (RFC 9112 2.2)" },
        { BYTES("GET / HTTP/1.1\r\nA:\r\nB: \t \r\nC:x\r\nD: \t y z\t \r\n\r\n"),
          "GET / 1.1, 46 bytes\nA=\nB=\nC=x\nD=y z\n", "blanks around a value are not of it" },
        { BYTES("GET / HTTP/1.1\r\nX: a\tb\r\nY: \xc3\xa9\xff\x80\r\n\r\n"),
          "GET / 1.1, 35 bytes\nX=a\\x09b\nY=\\xc3\\xa9\\xff\\x80\n",
          "SYN-01: HTAB and 0x80-0xff may stand in a value" },
        { BYTES("GET / HTTP/1.1\r\n!#$%&'*+-.^_`|~09azAZ: 1\r\n\r\n"),
          "GET / 1.1, 44 bytes\n!#$%&'*+-.^_`|~09azAZ=1\n", "every token byte" },
        { BYTES("GET / HTTP/1.1\r\nX: 1\r\nX: 2\r\nx: 3\r\n\r\n"),
          "GET / 1.1, 36 bytes\nX=1\nX=2\nx=3\n", "order and spelling are kept" },
        { BYTES("PROPFIND http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"),
          "PROPFIND http://a.test/ 1.1, 50 bytes\nHost=a.test\n", "WebDAV" },
        { BYTES("TRACE http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"),
          "TRACE http://a.test/ 1.1, 47 bytes\nHost=a.test\n", "refused later, by the policy" },
        { BYTES("TRACK http://a.test/ HTTP/1.1\r\n\r\n"), "TRACK http://a.test/ 1.1, 33 bytes\n",
          "decision 14.9: refused later, by the policy" },
        { BYTES("BREW http://a.test/ HTTP/1.1\r\n\r\n"), "BREW http://a.test/ 1.1, 32 bytes\n",
          "specification 3.4: any token" },
        { BYTES("get http://a.test/ HTTP/1.1\r\n\r\n"), "get http://a.test/ 1.1, 31 bytes\n",
          "another method than GET" },
        { BYTES("GETT http://a.test/ HTTP/1.1\r\n\r\n"), "GETT http://a.test/ 1.1, 32 bytes\n",
          "longer than a known one" },
        { BYTES("!#$%&'*+-.^_`|~09azAZ http://a.test/ HTTP/1.1\r\n\r\n"),
          "!#$%&'*+-.^_`|~09azAZ http://a.test/ 1.1, 49 bytes\n", "every token byte" },
        { BYTES("GET http://a.test/o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz HTTP/1.1\r\n\r\n"),
          "GET http://a.test/o/a%2Fb%20c//d/../e;p=1?q=%23&x=%zz 1.1, 66 bytes\n",
          "CRED-07: the target byte for byte" },
        { BYTES("GET http://a.test?next=http://b.test/ HTTP/1.1\r\n\r\n"),
          "GET http://a.test?next=http://b.test/ 1.1, 50 bytes\n", "HOST-09" },
        { BYTES("GET http://a.test/?q={}|\"<>^` HTTP/1.1\r\n\r\n"),
          "GET http://a.test/?q={}|\"<>^` 1.1, 42 bytes\n", "clients send these unescaped" },
    };
    expect_rows(false, rows, GW_COUNT(rows));
}

static void a_request_line_is_judged_as_a_whole(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "bad: tls-to-plain", "SYN-09" },
        { BYTES("\x16"), "bad: tls-to-plain", "SYN-09: the first byte will do" },
        { BYTES(" GET http://a.test/ HTTP/1.1\r\n\r\n"), "bad: bad-request", "SYN-07: leading SP" },
        { BYTES("\tGET http://a.test/ HTTP/1.1\r\n\r\n"), "bad: bad-request", "leading HTAB" },
        { BYTES("\x00"), "bad: bad-request", "NUL first" },
        { BYTES("\xffGET / HTTP/1.1\r\n\r\n"), "bad: bad-request", "0xff first" },
        { BYTES("GET  http://a.test/ HTTP/1.1\r\n\r\n"), "bad: bad-request", "two SP" },
        { BYTES("GET http://a.test/  HTTP/1.1\r\n\r\n"), "bad: bad-request", "two SP" },
        { BYTES("GET http://a.test/ HTTP/1.1 \r\n\r\n"), "bad: bad-request", "SP behind" },
        { BYTES("GET\thttp://a.test/ HTTP/1.1\r\n\r\n"), "bad: bad-request", "HTAB between" },
        { BYTES("GET http://a.test/\tHTTP/1.1\r\n\r\n"), "bad: bad-request", "HTAB" },
        { BYTES("GET http://a.test/a b HTTP/1.1\r\n\r\n"), "bad: bad-request", "SP in a path" },
        { BYTES("GET http://a.test/\r\n\r\n"), "bad: bad-request", "HTTP/0.9" },
        { BYTES("GET /\r\n"), "bad: bad-request", "HTTP/0.9" },
        { BYTES("GET\r\n"), "bad: bad-request", "a method alone" },
        { BYTES("GET \r\n"), "bad: bad-request", "and nothing else" },
        { BYTES("GET HTTP/1.1\r\n\r\n"), "bad: bad-request", "no target" },
        { BYTES("HTTP/1.1 200 OK\r\n\r\n"), "bad: bad-request", "an answer" },
        { BYTES("GET http://a.test/ HTTP/2.0\r\n\r\n"), "bad: version", "P56" },
        { BYTES("GET http://a.test/ HTTP/1.2\r\n\r\n"), "bad: version", "of the future" },
        { BYTES("GET http://a.test/ HTTP/0.9\r\n\r\n"), "bad: version", "of the past" },
        { BYTES("GET http://a.test/ HTTP/3.0\r\n\r\n"), "bad: version", "not over TCP" },
        { BYTES("GET http://a.test/ HTTP/2\r\n\r\n"), "bad: version", "without a minor" },
        { BYTES("GET http://a.test/ HTTP/1\r\n\r\n"), "bad: version", "without a minor" },
        { BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "bad: version", "the preface of HTTP/2" },
        { BYTES("GET http://a.test/ HTTP/1.11\r\n\r\n"), "bad: bad-request", "two digits" },
        { BYTES("GET http://a.test/ HTTP/1.1x\r\n\r\n"), "bad: bad-request", "a tail" },
        { BYTES("GET http://a.test/ http/1.1\r\n\r\n"), "bad: bad-request", "lower case" },
        { BYTES("GET http://a.test/ HTTP/ 1.1\r\n\r\n"), "bad: bad-request", "a blank inside" },
        { BYTES("GET http://a.test/ HTCPCP/1.1\r\n\r\n"), "bad: bad-request", "another name" },
        { BYTES("GET http://a.test/ ICE/1.0\r\n\r\n"), "bad: bad-request", "llhttp knows ICE" },
        { BYTES("SOURCE /a ICE/1.0\r\n\r\n"), "bad: bad-request", "llhttp knows ICE" },
        { BYTES("OPTIONS rtsp://a.test/ RTSP/1.0\r\n\r\n"), "bad: bad-request", "and RTSP" },
        { BYTES("DESCRIBE /a RTSP/1.0\r\n\r\n"), "bad: bad-request", "and RTSP" },
        { BYTES("connect a.test:443 HTTP/1.1\r\n\r\n"), "bad: bad-request", "is not CONNECT" },
        { BYTES("CONNECTS a.test:443 HTTP/1.1\r\n\r\n"), "bad: bad-request", "is not CONNECT" },
        { BYTES("\nGET / HTTP/1.1\r\n\r\n"), "bad: bad-request", "SYN-04: LF in front" },
        { BYTES("\rGET / HTTP/1.1\r\n\r\n"), "bad: bad-request", "CR in front" },
        { BYTES("\r\n\x16\x03\x01"), "bad: bad-request", "TLS comes first or not at all" },
        { BYTES("GE\x80T / HTTP/1.1\r\n\r\n"), "bad: bad-request", "FRAME-15, in a method" },
        { BYTES("G\0T / HTTP/1.1\r\n\r\n"), "bad: bad-request", "NUL in a method" },
        { BYTES("G=T http://a.test/ HTTP/1.1\r\n\r\n"), "bad: bad-request", "not a token" },
        { BYTES("EHLO mail.acme.test\r\n"), "bad: bad-request", "decision 6.7b: not HTTP" },
        { BYTES("SSH-2.0-OpenSSH_9.2\r\n"), "bad: bad-request", "decision 6.7b: not HTTP" },
        { BYTES("*1\r\n$4\r\nPING\r\n"), "bad: bad-request", "decision 6.7b: not HTTP" },
        { BYTES("GET http://\xe2\x91\xa0\xe2\x91\xa1.0.0.1/ HTTP/1.1\r\n\r\n"), "bad: bad-host",
          "P33: circled digits" },
        { BYTES("GET http://\xef\xbd\x8fk.example/ HTTP/1.1\r\n\r\n"), "bad: bad-host",
          "P33: full-width" },
        { BYTES("CONNECT \xef\xbd\x8fk.example:443 HTTP/1.1\r\n\r\n"), "bad: bad-host",
          "P33: full-width" },
        { BYTES("GET http://a.test/\xc3\xa9 HTTP/1.1\r\n\r\n"), "bad: bad-request",
          "no raw UTF-8 in a path" },
        { BYTES("GET http://a.test/\x01 HTTP/1.1\r\n\r\n"), "bad: bad-request", "control byte" },
        { BYTES("GET http://a.test/\x00 HTTP/1.1\r\n\r\n"), "bad: bad-request", "NUL" },
        { BYTES("GET http://a.t\x00st/ HTTP/1.1\r\n\r\n"), "bad: bad-host", "NUL in the host" },
        { BYTES("GET ok.example:80 HTTP/1.1\r\n\r\n"), "bad: bad-request", "P25" },
        { BYTES("GET http://a.test@@evil.test/ HTTP/1.1\r\n\r\n"), "bad: userinfo", "HOST-06" },
        { BYTES("GET http://evil.test\\.pkgs.test/ HTTP/1.1\r\n\r\n"), "bad: bad-host", "HOST-11" },
        { BYTES("GET http://api.acme.test\\@evil.test/ HTTP/1.1\r\n\r\n"), "bad: userinfo",
          "HOST-11" },
        { BYTES("GET http://a.test/ HTTP/1.1\nHost: a\n\n"), "bad: bad-request", "SYN-04, P52" },
        { BYTES("GET http://a.test/ HTTP/1.1\rHost: a\r\r"), "bad: bad-request", "bare CR" },
        { BYTES("GET http://a.test/\nHTTP/1.1\r\n\r\n"), "bad: bad-request", "LF inside" },
        { BYTES("GET http://a.test/\r HTTP/1.1\r\n\r\n"), "bad: bad-request", "CR inside" },
    };
    expect_rows(false, rows, GW_COUNT(rows));
}

#define LINE "GET http://a.test/ HTTP/1.1\r\n"

static void malformed_fields_are_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES(LINE "X-Tag: a\0b\r\n\r\n"), "bad: bad-request", "SYN-01, P54: NUL" },
        { BYTES(LINE "Host: a.test\0.evil.test\r\n\r\n"), "bad: bad-request", "SYN-01: NUL" },
        { BYTES(LINE "X-Tag: a\x0b"
                     "b\r\n\r\n"),
          "bad: bad-request", "SYN-01: VT" },
        { BYTES(LINE "X-Tag: a\x7f"
                     "b\r\n\r\n"),
          "bad: bad-request", "SYN-01: DEL" },
        { BYTES(LINE "X-Tag: a\x1b"
                     "b\r\n\r\n"),
          "bad: bad-request", "SYN-01: ESC" },
        { BYTES(LINE ": x\r\n\r\n"), "bad: bad-request", "SYN-02: no name" },
        { BYTES(LINE "Transfer-Encoding : chunked\r\n\r\n"), "bad: bad-request", "SYN-02" },
        { BYTES(LINE "Content-Length : 5\r\n\r\n"), "bad: bad-request", "P51" },
        { BYTES(LINE "Host\t: a.test\r\n\r\n"), "bad: bad-request", "SYN-02: HTAB" },
        { BYTES(LINE "Bad Name: 1\r\n\r\n"), "bad: bad-request", "SYN-02" },
        { BYTES(LINE "X\x01: 1\r\n\r\n"), "bad: bad-request", "SYN-02" },
        { BYTES(LINE "X\xff: 1\r\n\r\n"), "bad: bad-request", "FRAME-15: 0xff in a name" },
        { BYTES(LINE "X\x80: 1\r\n\r\n"), "bad: bad-request", "FRAME-15: 0x80 in a name" },
        { BYTES(LINE "\"X\": 1\r\n\r\n"), "bad: bad-request", "a quoted name" },
        { BYTES(LINE " X-First: 1\r\n\r\n"), "bad: bad-request", "SYN-02: SP before the first" },
        { BYTES(LINE "\tX-First: 1\r\n\r\n"), "bad: bad-request", "SYN-02: HTAB" },
        { BYTES(LINE "X-A: 1\r\n  folded\r\n\r\n"), "bad: bad-request", "SYN-02, P53" },
        { BYTES(LINE "X-A: 1\r\n\tfolded\r\n\r\n"), "bad: bad-request", "SYN-02: with HTAB" },
        { BYTES(LINE "X-A:\r\n folded\r\n\r\n"), "bad: bad-request", "folded before the value" },
        { BYTES(LINE "X-A: 1\r\n \r\n\r\n"), "bad: bad-request", "a blank line that is not empty" },
        { BYTES(LINE "NoColon\r\n\r\n"), "bad: bad-request", "SYN-02" },
        { BYTES(LINE "Host: a.test\n\r\n"), "bad: bad-request", "SYN-04: one LF" },
        { BYTES(LINE "Host: a.test\r\n\n"), "bad: bad-request", "SYN-04: LF as the end" },
        { BYTES(LINE "Host: a.test\n\n"), "bad: bad-request", "SYN-04" },
        { BYTES(LINE "Host:\n\r\n"), "bad: bad-request", "SYN-04: behind an empty value" },
        { BYTES(LINE "Host: a\rb\r\n\r\n"), "bad: bad-request", "bare CR in a value" },
        { BYTES(LINE "X: 1\r\r\n\r\n"), "bad: bad-request", "CR CR LF" },
        { BYTES(LINE "Host: a.test\r\n\rGET"), "bad: bad-request", "CR and no LF at the end" },
        { BYTES(LINE "Content-Length: +5\r\n\r\n"), "bad: bad-request", "P49" },
        { BYTES(LINE "Content-Length: 5, 6\r\n\r\n"), "bad: bad-request", "FRAME-03" },
        { BYTES(LINE "Content-Length: 0x5\r\n\r\n"), "bad: bad-request", "specification 3.4" },
        { BYTES(LINE "Content-Length: 99999999999999999999\r\n\r\n"), "bad: bad-request",
          "more than 64 bits" },
        { BYTES(LINE "Content-Length: 3\r\nContent-Length: 30\r\n\r\n"), "bad: bad-request",
          "P48, FRAME-03" },
        { BYTES(LINE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), "bad: bad-request",
          "P47, FRAME-01" },
        { BYTES(LINE "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), "bad: bad-request",
          "FRAME-01, the other order" },
    };
    expect_rows(false, rows, GW_COUNT(rows));
}

static void an_unfinished_head_waits(void **state)
{
    (void)state;
    struct gw_slice head = GW_SLICE("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
    for (size_t length = 0; length < head.length; length++)
        expect_head(false, (struct gw_slice){ head.data, length }, "more", "not all there", NULL);
    expect_head(false, GW_SLICE("\r\n\r\n"), "more", "empty lines alone", NULL);
    expect_head(false, GW_SLICE("BREW http://a.test/ HTTP"), "more", "an unfit line, not ended",
                NULL);
}

/* ---- limits ------------------------------------------------------------------------------ */

/* `before`, `count` times `fill`, `after`. */
static struct gw_slice grow(const char *before, char fill, size_t count, const char *after)
{
    static char text[300000];
    size_t head = strlen(before), tail = strlen(after);
    assert_true(head + count + tail <= sizeof text);
    memcpy(text, before, head);
    memset(text + head, fill, count);
    memcpy(text + head + count, after, tail);
    return (struct gw_slice){ text, head + count + tail };
}

static enum gw_reason reason_of(bool response, struct gw_slice bytes, size_t cut,
                                const struct gw_limits *limits, size_t *needed)
{
    struct message message;
    message_read(&message, response, bytes, cut, limits);
    enum gw_reason reason = message.head.reason;
    if (message.result == GW_HEAD_MORE)
        fail_msg("%zu bytes are not enough", bytes.length);
    assert_int_equal(message.result == GW_HEAD_BAD, reason != GW_REASON_NONE);
    *needed = message.needed;
    message_free(&message);
    return reason;
}

/* Cut wherever it could matter: the answer is the same, and comes with the byte that is too much.
 */
static void expect_reason(bool response, struct gw_slice bytes, enum gw_reason expected,
                          size_t at_most, const struct gw_limits *limits, const char *why)
{
    size_t needed, step = bytes.length > 600 ? bytes.length / 150 : 1;
    for (size_t cut = 0; cut < bytes.length; cut += step) {
        enum gw_reason got = reason_of(response, bytes, cut, limits, &needed);
        if (got != expected)
            fail_msg("%s, cut at %zu: %s", why, cut, gw_reason_code(got));
    }
    if (bytes.length > 4096)
        return;
    enum gw_reason got = reason_of(response, bytes, CUT_EVERYWHERE, limits, &needed);
    if (got != expected || needed > at_most)
        fail_msg("%s, byte by byte: %s after %zu bytes", why, gw_reason_code(got), needed);
}

static struct gw_limits small_limits(void)
{
    struct gw_limits limits;
    gw_limits_init(&limits);
    gw_limit(&limits, REQUEST_LINE_BYTES) = 64;
    gw_limit(&limits, HEAD_BYTES) = 256;
    gw_limit(&limits, HEAD_FIELDS) = 4;
    gw_limit(&limits, RESPONSE_HEAD_BYTES) = 256;
    gw_limit(&limits, RESPONSE_FIELDS) = 4;
    return limits;
}

#define FRAME_OF_LINE (sizeof("GET http://a.test/ HTTP/1.1") - 1)

static void the_request_line_has_a_limit(void **state)
{
    (void)state;
    struct gw_limits small = small_limits(), normal;
    gw_limits_init(&normal);
    const struct gw_limits *both[] = { &small, &normal };
    for (size_t i = 0; i < GW_COUNT(both); i++) {
        size_t most = (size_t)gw_limit(both[i], REQUEST_LINE_BYTES);
        size_t fill = most - FRAME_OF_LINE;
        expect_reason(false,
                      grow("GET http://a.test/", 'p', fill, " HTTP/1.1\r\nHost: a.test\r\n\r\n"),
                      GW_REASON_NONE, SIZE_MAX, both[i], "a line of exactly the limit");
        expect_reason(
            false, grow("GET http://a.test/", 'p', fill + 1, " HTTP/1.1\r\nHost: a.test\r\n\r\n"),
            GW_REASON_URI_TOO_LONG, most + 1, both[i], "SYN-11: one byte more");
        expect_reason(false, grow("GET http://a.test/", 'p', 4 * most, ""), GW_REASON_URI_TOO_LONG,
                      most + 1, both[i], "SYN-11: without an end");
        expect_reason(false, grow("", 'G', 4 * most, ""), GW_REASON_URI_TOO_LONG, most + 1, both[i],
                      "a method without an end");
        expect_reason(false, grow("GET http://a.test/\xff", 'p', 4 * most, ""),
                      GW_REASON_URI_TOO_LONG, most + 1, both[i], "a bad line without an end");
    }
    expect_reason(false, grow("GET http://a.test/ HTTP/1.1", '1', 200, ""), GW_REASON_BAD_REQUEST,
                  64, &small, "a version without an end");
}

static void the_head_has_a_limit(void **state)
{
    (void)state;
    char lines[200];
    struct gw_limits small = small_limits(), normal;
    gw_limits_init(&normal);
    const struct gw_limits *both[] = { &small, &normal };
    size_t around = sizeof("GET http://a.test/ HTTP/1.1\r\nX: \r\n\r\n") - 1;
    for (size_t i = 0; i < GW_COUNT(both); i++) {
        size_t most = (size_t)gw_limit(both[i], HEAD_BYTES), fill = most - around;
        expect_reason(false, grow(LINE "X: ", 'v', fill, "\r\n\r\nbody"), GW_REASON_NONE, SIZE_MAX,
                      both[i], "a head of exactly the limit");
        expect_reason(false, grow(LINE "X: ", 'v', fill + 1, "\r\n\r\nbody"),
                      GW_REASON_HEADERS_TOO_LARGE, most + 1, both[i], "SYN-11: one byte more");
        expect_reason(false, grow(LINE "X: ", 'v', 2 * most, ""), GW_REASON_HEADERS_TOO_LARGE,
                      most + 1, both[i], "SYN-11: without an end");
        expect_reason(false, grow(LINE, 'N', 2 * most, ""), GW_REASON_HEADERS_TOO_LARGE, most + 1,
                      both[i], "a name without an end");
        expect_reason(false, grow(LINE "X:", ' ', 2 * most, ""), GW_REASON_HEADERS_TOO_LARGE,
                      most + 1, both[i], "blanks without an end");
    }
    expect_reason(false, grow(LINE "X: ", 'v', 20000, "\r\n\r\n"), GW_REASON_NONE, SIZE_MAX,
                  &normal, "P57: 20,000 bytes pass");
    expect_reason(false, grow(LINE "X: ", 'v', 40000, "\r\n\r\n"), GW_REASON_HEADERS_TOO_LARGE,
                  SIZE_MAX, &normal, "P57: 40,000 do not");
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = i % 2 == 0 ? '\r' : '\n';
    expect_reason(false, (struct gw_slice){ lines, sizeof lines }, GW_REASON_URI_TOO_LONG, 65,
                  &small, "empty lines without an end");
    gw_limit(&small, HEAD_BYTES) = 40;
    expect_reason(false, grow("GET http://a.test/", 'p', 30, " HTTP/1.1\r\n\r\n"),
                  GW_REASON_URI_TOO_LONG, 41, &small, "a line above the limit of heads");
}

static struct gw_slice many_fields(const char *line, unsigned count)
{
    static char text[300000];
    size_t length = strlen(line);
    memcpy(text, line, length);
    for (unsigned i = 0; i < count; i++, length += 6)
        memcpy(text + length, "X: a\r\n", 6);
    memcpy(text + length, "\r\n", 2);
    return (struct gw_slice){ text, length + 2 };
}

static void fields_have_a_limit(void **state)
{
    (void)state;
    struct gw_limits small = small_limits(), normal;
    gw_limits_init(&normal);
    expect_reason(false, many_fields(LINE, 4), GW_REASON_NONE, SIZE_MAX, &small, "four of four");
    expect_reason(false, many_fields(LINE, 5), GW_REASON_HEADERS_TOO_LARGE, strlen(LINE) + 31,
                  &small, "the fifth");
    expect_reason(false, many_fields(LINE, 128), GW_REASON_NONE, SIZE_MAX, &normal, "128");
    expect_reason(false, many_fields(LINE, 129), GW_REASON_HEADERS_TOO_LARGE, SIZE_MAX, &normal,
                  "129");
    expect_reason(false, many_fields(LINE, 10001), GW_REASON_HEADERS_TOO_LARGE, SIZE_MAX, &normal,
                  "SYN-11: 10,001 tiny fields");
    expect_reason(false, many_fields("GET http://a.test/\r\n", 5), GW_REASON_BAD_REQUEST, 20,
                  &small, "HTTP/0.9 has none, and is refused as such");
    const char *answer = "HTTP/1.1 200 OK\r\n";
    expect_reason(true, many_fields(answer, 4), GW_REASON_NONE, SIZE_MAX, &small, "four of four");
    expect_reason(true, many_fields(answer, 5), GW_REASON_UPSTREAM_PROTOCOL, strlen(answer) + 31,
                  &small, "RESP-14: the fifth");
    expect_reason(true, many_fields(answer, 256), GW_REASON_NONE, SIZE_MAX, &normal, "256");
    expect_reason(true, many_fields(answer, 257), GW_REASON_UPSTREAM_PROTOCOL, SIZE_MAX, &normal,
                  "257");
}

static void an_answers_head_has_a_limit(void **state)
{
    (void)state;
    struct gw_limits small = small_limits(), normal;
    gw_limits_init(&normal);
    const struct gw_limits *both[] = { &small, &normal };
    size_t around = sizeof("HTTP/1.1 200 OK\r\nX: \r\n\r\n") - 1;
    for (size_t i = 0; i < GW_COUNT(both); i++) {
        size_t most = (size_t)gw_limit(both[i], RESPONSE_HEAD_BYTES), fill = most - around;
        expect_reason(true, grow("HTTP/1.1 200 OK\r\nX: ", 'v', fill, "\r\n\r\nbody"),
                      GW_REASON_NONE, SIZE_MAX, both[i], "exactly the limit");
        expect_reason(true, grow("HTTP/1.1 200 OK\r\nX: ", 'v', fill + 1, "\r\n\r\nbody"),
                      GW_REASON_UPSTREAM_PROTOCOL, most + 1, both[i], "RESP-14: one byte more");
        expect_reason(true, grow("HTTP/1.1 200 ", 'O', 2 * most, ""), GW_REASON_UPSTREAM_PROTOCOL,
                      most + 1, both[i], "RESP-14: a phrase without an end");
    }
}

/* ---- answers ----------------------------------------------------------------------------- */

static void an_answer_is_read(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
          "200 'OK' 1.1, 38 bytes\nContent-Length=2\n", "an ordinary one" },
        { BYTES("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\nzz"),
          "404 'Not Found' 1.1, 54 bytes\nTransfer-Encoding=chunked\n", "a chunked one" },
        { BYTES("HTTP/1.0 200 OK\r\n\r\n"), "200 'OK' 1.0, 19 bytes\n", "1.0" },
        { BYTES("HTTP/1.1 200 \r\n\r\n"), "200 '' 1.1, 17 bytes\n", "an empty phrase" },
        { BYTES("HTTP/1.1 200\r\n\r\n"), "200 '' 1.1, 16 bytes\n",
          "no blank behind the status: seen in the wild" },
        { BYTES("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
          "100 'Continue' 1.1, 25 bytes\n", "interim, and what follows" },
        { BYTES("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
          "103 'Early Hints' 1.1, 40 bytes\nLink=</a>\n", "interim" },
        { BYTES("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\n\r\n\x81\x01x"),
          "101 'Switching Protocols' 1.1, 77 bytes\nUpgrade=websocket\nConnection=Upgrade\n",
          "frames are not touched" },
        { BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"),
          "304 'Not Modified' 1.1, 50 bytes\nContent-Length=500\n", "RESP-02" },
        { BYTES("HTTP/1.1 599 X\r\n\r\n"), "599 'X' 1.1, 18 bytes\n", "the last status" },
        { BYTES("HTTP/1.1 200 caf\xc3\xa9\tau lait\r\n\r\n"),
          "200 'caf\\xc3\\xa9\\x09au lait' 1.1, 30 bytes\n", "RFC 9112 4: HTAB and 0x80-0xff" },
    };
    expect_rows(true, rows, GW_COUNT(rows));
}

static void a_malformed_answer_is_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("HTTP/2.0 200 OK\r\n\r\n"), "bad: upstream-protocol", "version" },
        { BYTES("HTTP/1.2 200 OK\r\n\r\n"), "bad: upstream-protocol", "version" },
        { BYTES("HTTP/0.9 200 OK\r\n\r\n"), "bad: upstream-protocol", "version" },
        { BYTES("http/1.1 200 OK\r\n\r\n"), "bad: upstream-protocol", "lower case" },
        { BYTES("ICY 200 OK\r\n\r\n"), "bad: upstream-protocol", "shoutcast" },
        { BYTES("ICE/1.0 200 OK\r\n\r\n"), "bad: upstream-protocol", "llhttp knows ICE" },
        { BYTES("RTSP/1.0 200 OK\r\n\r\n"), "bad: upstream-protocol", "and RTSP" },
        { BYTES("HTTP/1.1 099 X\r\n\r\n"), "bad: upstream-protocol", "no such status" },
        { BYTES("HTTP/1.1 600 X\r\n\r\n"), "bad: upstream-protocol", "no such status" },
        { BYTES("HTTP/1.1 000 X\r\n\r\n"), "bad: upstream-protocol", "no such status" },
        { BYTES("HTTP/1.1 20 OK\r\n\r\n"), "bad: upstream-protocol", "two digits" },
        { BYTES("HTTP/1.1 2000 OK\r\n\r\n"), "bad: upstream-protocol", "four digits" },
        { BYTES("HTTP/1.1 20x OK\r\n\r\n"), "bad: upstream-protocol", "not a number" },
        { BYTES("HTTP/1.1  200 OK\r\n\r\n"), "bad: upstream-protocol", "two SP" },
        { BYTES("HTTP/1.1\t200 OK\r\n\r\n"), "bad: upstream-protocol", "HTAB" },
        { BYTES("HTTP/1.1 200 OK\n\n"), "bad: upstream-protocol", "bare LF" },
        { BYTES("HTTP/1.1 200 O\rK\r\n\r\n"), "bad: upstream-protocol", "P77: bare CR" },
        { BYTES("HTTP/1.1 200 O\0K\r\n\r\n"), "bad: upstream-protocol", "P77: NUL in the phrase" },
        { BYTES("HTTP/1.1 200 O\x1b[1mK\r\n\r\n"), "bad: upstream-protocol", "ESC in the phrase" },
        { BYTES("HTTP/1.1 200 O\x7fK\r\n\r\n"), "bad: upstream-protocol", "DEL in the phrase" },
        { BYTES("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"), "bad: upstream-protocol", "P77: NUL" },
        { BYTES("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n"), "bad: upstream-protocol", "P77: bare CR" },
        { BYTES("HTTP/1.1 200 OK\r\nX: a\n\r\n"), "bad: upstream-protocol", "bare LF" },
        { BYTES("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"), "bad: upstream-protocol", "blank before ':'" },
        { BYTES("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"), "bad: upstream-protocol", "folded" },
        { BYTES("HTTP/1.1 200 OK\r\n X: a\r\n\r\n"), "bad: upstream-protocol", "blank first" },
        { BYTES("HTTP/1.1 200 OK\r\nX\r\n\r\n"), "bad: upstream-protocol", "no colon" },
        { BYTES("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\n"),
          "bad: upstream-protocol", "RESP-11" },
        { BYTES("HTTP/1.1 200 OK\r\nContent-Length: 3, 5\r\n\r\n"), "bad: upstream-protocol",
          "RESP-11" },
        { BYTES("<html>hello</html>\r\n"), "bad: upstream-protocol", "HTTP/0.9" },
        { BYTES("\x15\x03\x01\x00\x02\x02\x46"), "bad: upstream-protocol", "a TLS alert" },
        { BYTES(" HTTP/1.1 200 OK\r\n\r\n"), "bad: upstream-protocol", "leading SP" },
        { BYTES("GET / HTTP/1.1\r\n\r\n"), "bad: upstream-protocol", "a request" },
    };
    expect_rows(true, rows, GW_COUNT(rows));
}

static void names_are_known_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(gw_field_id(GW_SLICE("HOST")), GW_FIELD_HOST);
    assert_int_equal(gw_field_id(GW_SLICE("sEc-WebSocket-KEY")), GW_FIELD_WS_KEY);
    assert_int_equal(gw_field_id(GW_SLICE("hosts")), GW_FIELD_OTHER);
    assert_int_equal(gw_field_id(GW_SLICE("hos")), GW_FIELD_OTHER);
    assert_int_equal(gw_field_id(GW_SLICE("transfer_encoding")), GW_FIELD_OTHER);
    assert_int_equal(gw_field_id(GW_SLICE("")), GW_FIELD_OTHER);
    assert_false(gw_field_is_hop_by_hop(GW_FIELD_OTHER));
    assert_false(gw_field_is_hop_by_hop(GW_FIELD_HOST));
    /* specification 3.4: removed whatever Connection says */
    static const char *const hop[] = { "proxy-authorization",
                                       "proxy-connection",
                                       "connection",
                                       "keep-alive",
                                       "te",
                                       "upgrade",
                                       "transfer-encoding",
                                       "http2-settings",
                                       "proxy-authenticate",
                                       "proxy-authentication-info" };
    for (size_t i = 0; i < GW_COUNT(hop); i++)
        if (!gw_field_is_hop_by_hop(gw_field_id(gw_slice_of(hop[i]))))
            fail_msg("%s goes on", hop[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read),
        cmocka_unit_test(a_request_line_is_judged_as_a_whole),
        cmocka_unit_test(malformed_fields_are_refused),
        cmocka_unit_test(an_unfinished_head_waits),
        cmocka_unit_test(the_request_line_has_a_limit),
        cmocka_unit_test(the_head_has_a_limit),
        cmocka_unit_test(fields_have_a_limit),
        cmocka_unit_test(an_answers_head_has_a_limit),
        cmocka_unit_test(an_answer_is_read),
        cmocka_unit_test(a_malformed_answer_is_refused),
        cmocka_unit_test(names_are_known_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
