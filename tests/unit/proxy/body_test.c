/* tests/unit/proxy/body_test.c - where a body ends and what is in it, in any pieces. Rows refer to
 * cases/case list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/proxy/body.h"
#include "message.h"

#define BYTES(text)               \
    {                             \
        "" text, sizeof(text) - 1 \
    }

static const struct gw_slice heads[] = {
    BYTES("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BYTES("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
};

/* Everything of a body that was read. */
struct gathered {
    struct gw_buffer data, trailers;
    bool bad, complete;
    size_t rest; /* bytes behind the end */
    size_t used;
};

static void gathered_free(struct gathered *gathered)
{
    gw_buffer_fini(&gathered->data);
    gw_buffer_fini(&gathered->trailers);
}

/* Gives the body bytes [from, to) out of memory of their own, until it takes no more. */
static void feed(struct gw_body *body, struct gathered *gathered, const char *from, const char *to)
{
    size_t length = (size_t)(to - from);
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, from, length);
    for (size_t at = 0; at < length && !body->complete && !gathered->bad;) {
        struct gw_slice pieces[GW_BODY_PIECES_MAX];
        size_t used = SIZE_MAX, count = SIZE_MAX;
        struct gw_slice text = { copy + at, length - at };
        if (gw_body_read(body, text, &used, pieces, &count) == GW_BODY_BAD) {
            gathered->bad = true;
            break;
        }
        assert_true(used > 0 && used <= text.length && count <= GW_BODY_PIECES_MAX);
        for (size_t i = 0; i < count; i++) {
            assert_true(pieces[i].data >= text.data
                        && pieces[i].data + pieces[i].length <= text.data + used);
            assert_true(gw_buffer_append(&gathered->data, pieces[i]));
        }
        at += used;
        gathered->used += used;
    }
    free(copy);
}

static void gather(struct gathered *gathered, struct gw_slice head, enum gw_body_kind kind,
                   uint64_t length, struct gw_slice bytes, size_t cut)
{
    struct message message;
    struct gw_body body;
    *gathered = (struct gathered){ 0 };
    message_read(&message, memcmp(head.data, "HTTP/", 5) == 0, head, CUT_NOWHERE, NULL);
    assert_int_equal(message.result, GW_HEAD_DONE);
    gw_body_init(&body, kind, length, &message.head);
    const char *at = bytes.data, *end = bytes.data + bytes.length;
    if (cut == CUT_EVERYWHERE) {
        for (; at < end; at++)
            feed(&body, gathered, at, at + 1);
    } else {
        feed(&body, gathered, at, at + cut);
        feed(&body, gathered, at + cut, end);
    }
    gathered->complete = body.complete;
    gathered->rest = bytes.length - gathered->used;
    if (!gathered->bad)
        assert_int_equal(body.total, gw_buffer_length(&gathered->data));
    gathered->trailers = body.trailers; /* handed over */
    body.trailers = (struct gw_buffer){ 0 };
    gw_body_fini(&body);
    message_free(&message);
}

static char *print(const struct gathered *gathered)
{
    char *printed;
    size_t length;
    FILE *to = open_memstream(&printed, &length);
    assert_non_null(to);
    if (gathered->bad) {
        fprintf(to, "bad");
    } else {
        char *data = buffer_text(&gathered->data), *trailers = buffer_text(&gathered->trailers);
        fprintf(to, "%s '%s'", gathered->complete ? "whole" : "more", data);
        if (*trailers != '\0')
            fprintf(to, " trailers '%s'", trailers);
        if (gathered->rest > 0)
            fprintf(to, " and %zu", gathered->rest);
        free(data);
        free(trailers);
    }
    fclose(to);
    return printed;
}

static void expect_body(struct gw_slice head, enum gw_body_kind kind, uint64_t length,
                        struct gw_slice bytes, size_t cut, const char *expected, const char *why)
{
    struct gathered gathered;
    char label[160];
    gather(&gathered, head, kind, length, bytes, cut);
    char *got = print(&gathered);
    snprintf(label, sizeof label, "%s (cut at %zu)", why, cut);
    expect_text(got, expected, label);
    free(got);
    gathered_free(&gathered);
}

struct row {
    struct gw_slice bytes;
    const char *expected, *why;
};

/* In a request and in an answer, whole, cut in two everywhere, byte by byte. */
static void expect_chunked(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gw_slice bytes = rows[i].bytes;
        for (size_t h = 0; h < GW_COUNT(heads); h++) {
            for (size_t cut = 0; cut < bytes.length; cut++)
                expect_body(heads[h], GW_BODY_CHUNKED, 0, bytes, cut, rows[i].expected,
                            rows[i].why);
            expect_body(heads[h], GW_BODY_CHUNKED, 0, bytes, CUT_EVERYWHERE, rows[i].expected,
                        rows[i].why);
        }
    }
}

#define END "0\r\n\r\n"

static void chunks_are_decoded(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("5\r\nhello\r\n" END), "whole 'hello'", "one chunk" },
        { BYTES("5\r\nhello\r\n6\r\n world\r\n" END), "whole 'hello world'", "two" },
        { BYTES(END), "whole ''", "none" },
        { BYTES("5\r\nhello\r\n" END "GET / HTTP/1.1\r\n"), "whole 'hello' and 16",
          "what follows is not touched" },
        { BYTES(END "\r\n"), "whole '' and 2", "not even an empty line" },
        { BYTES("A\r\n0123456789\r\na\r\n0123456789\r\n" END), "whole '01234567890123456789'",
          "hexadecimal in both cases" },
        { BYTES("00000000000000000000000005\r\nhello\r\n" END), "whole 'hello'",
          "FRAME-05: zeros in front" },
        { BYTES("000\r\n\r\n"), "whole ''", "many zeros" },
        { BYTES("5;a\r\nhello\r\n0;b=c\r\n\r\n"), "whole 'hello'", "extensions are dropped" },
        { BYTES("5;a=b;c=\"d e\";f\r\nhello\r\n" END), "whole 'hello'", "quoted" },
        { BYTES("7\r\n0\r\n\r\nab\r\n" END), "whole '0\r\n\r\nab'", "data is only data" },
        { BYTES("5\r\nhel"), "more 'hel'", "not ended" },
        { BYTES("5\r\nhello\r\n0\r\n"), "more 'hello'", "not ended" },
    };
    expect_chunked(rows, GW_COUNT(rows));
}

static void malformed_chunks_are_refused(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("-1\r\n"), "bad", "FRAME-05" },
        { BYTES("+5\r\nhello\r\n"), "bad", "FRAME-05" },
        { BYTES("0x5\r\nhello\r\n"), "bad", "FRAME-05" },
        { BYTES("5_0\r\nhello\r\n"), "bad", "FRAME-05" },
        { BYTES(" 5\r\nhello\r\n"), "bad", "FRAME-05: leading SP" },
        { BYTES("\t5\r\nhello\r\n"), "bad", "FRAME-05: leading HTAB" },
        { BYTES("5 \r\nhello\r\n"), "bad", "FRAME-05: SP behind" },
        { BYTES("\r\n"), "bad", "FRAME-05: empty" },
        { BYTES(";a\r\n"), "bad", "FRAME-05: empty, with an extension" },
        { BYTES("ffffffffffffffff\r\n"), "bad", "FRAME-05: 2^64 - 1" },
        { BYTES("10000000000000005\r\nhello\r\n"), "bad", "FRAME-05: 2^64 + 5" },
        { BYTES("7ffffffffffffffe\r\n"), "bad", "FRAME-05: 2^63 - 2" },
        { BYTES("8000000000000000\r\n"), "bad", "FRAME-05: 2^63" },
        { BYTES("ZZ\r\n"), "bad", "P55" },
        { BYTES("5g\r\nhello\r\n"), "bad", "not hexadecimal" },
        { BYTES("5\nhello\r\n" END), "bad", "FRAME-06" },
        { BYTES("5\r\nhello\n" END), "bad", "FRAME-06" },
        { BYTES("5\r\nhello\r\n0\n\n"), "bad", "FRAME-06" },
        { BYTES("5\r\nhello\r\n0\r\n\n"), "bad", "FRAME-06" },
        { BYTES("5;a\nhello\r\n" END), "bad", "FRAME-06: LF ends no extension" },
        { BYTES("5;a\rb\r\nhello\r\n" END), "bad", "CR in an extension" },
        { BYTES("5;a=\"\n\"\r\nhello\r\n" END), "bad", "LF in a quoted extension" },
        { BYTES("5;a\0\r\nhello\r\n" END), "bad", "NUL in an extension" },
        { BYTES("5\r\rhello\r\n" END), "bad", "CR CR" },
        { BYTES("5\r\nhelloX\r\n" END), "bad", "a byte too many" },
        { BYTES("5\r\nhell\r\n" END), "bad", "a byte too few" },
        { BYTES("5\r\nhello" END), "bad", "no CRLF behind the data" },
        { BYTES("\xe1\r\n"), "bad", "FRAME-15" },
        { BYTES("\xff\r\n"), "bad", "FRAME-15" },
        { BYTES("5\x80\r\nhello\r\n"), "bad", "FRAME-15" },
        { BYTES("\xb5\r\nhello\r\n"), "bad", "FRAME-15" },
        { BYTES("0\r\n\rX"), "bad", "CR and no LF at the end" },
    };
    expect_chunked(rows, GW_COUNT(rows));
}

static void trailers_are_kept_or_dropped(void **state)
{
    (void)state;
    static const struct row rows[] = {
        { BYTES("1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"), "whole 'a' trailers 'X-Sum: 1\r\n'", "one" },
        { BYTES("0\r\nX-Sum:1\r\nx-two: \t a b \t\r\nX-Sum: 3\r\n\r\nrest"),
          "whole '' trailers 'X-Sum: 1\r\nx-two: a b\r\nX-Sum: 3\r\n' and 4",
          "order and spelling, without the blanks around" },
        { BYTES("0\r\nEmpty:\r\nX: 1\r\n\r\n"), "whole '' trailers 'Empty: \r\nX: 1\r\n'",
          "an empty value" },
        { BYTES("0\r\nHost: evil.test\r\nAuthorization: x\r\nConnection: close\r\nX: 1\r\n"
                "Set-Cookie: a\r\nTE: x\r\n\r\n"),
          "whole '' trailers 'X: 1\r\n'", "decision 14.8, RFC 9110 6.5.1" },
        { BYTES("0\r\nX: 1\r\n folded\r\n\r\n"), "bad", "SYN-02, in trailers" },
        { BYTES("0\r\nX: 1\n\r\n"), "bad", "SYN-04, in trailers" },
        { BYTES("0\r\nX : 1\r\n\r\n"), "bad", "SYN-02, in trailers" },
        { BYTES("0\r\nX\r\n\r\n"), "bad", "SYN-02, in trailers" },
        { BYTES("0\r\n: 1\r\n\r\n"), "bad", "SYN-02, in trailers" },
        { BYTES("0\r\nX: a\0b\r\n\r\n"), "bad", "SYN-01, in trailers" },
        { BYTES("0\r\nX: a\rb\r\n\r\n"), "bad", "SYN-01, in trailers" },
        { BYTES("0\r\nX\xff: 1\r\n\r\n"), "bad", "FRAME-15, in trailers" },
    };
    expect_chunked(rows, GW_COUNT(rows));
}

/* specification 3.6, C15: every instance of a stamped field is removed, wherever it stands. */
static void trailers_cannot_add_to_a_stamp(void **state)
{
    (void)state;
    static const struct gw_stamp stamp = { .header = { "x-api-key", 9 } };
    static const struct gw_slice text = BYTES("0\r\nX-Api-Key: 1\r\nX_Api_Key: 2\r\nX: 3\r\n\r\n");
    for (size_t count = 0; count < 2; count++) {
        struct message message;
        struct gw_body body;
        struct gw_slice pieces[GW_BODY_PIECES_MAX];
        size_t used, piece_count;
        message_read(&message, false, heads[0], CUT_NOWHERE, NULL);
        gw_body_init(&body, GW_BODY_CHUNKED, 0, &message.head);
        body.stamps = &stamp;
        body.stamp_count = count;
        assert_int_equal(gw_body_read(&body, text, &used, pieces, &piece_count), GW_BODY_OK);
        assert_true(body.complete);
        char *got = buffer_text(&body.trailers);
        expect_text(got, count == 0 ? "X-Api-Key: 1\r\nX_Api_Key: 2\r\nX: 3\r\n" : "X: 3\r\n",
                    "with and without a stamp");
        free(got);
        gw_body_fini(&body);
        message_free(&message);
    }
}

/* Dropped, or the body refused: never a second reading of where it ends. */
static void framing_in_trailers_changes_nothing(void **state)
{
    (void)state;
    static const struct gw_slice bodies[] = {
        BYTES("1\r\na\r\n0\r\nContent-Length: 5\r\n\r\nrest!"),
        BYTES("1\r\na\r\n0\r\nTransfer-Encoding: chunked\r\n\r\nrest!"),
        BYTES("1\r\na\r\n0\r\nTransfer-Encoding: gzip\r\n\r\nrest!"),
        BYTES("1\r\na\r\n0\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nrest!"),
    };
    for (size_t i = 0; i < GW_COUNT(bodies); i++) {
        struct gathered whole, parts;
        gather(&whole, heads[0], GW_BODY_CHUNKED, 0, bodies[i], 0);
        gather(&parts, heads[0], GW_BODY_CHUNKED, 0, bodies[i], CUT_EVERYWHERE);
        char *text = print(&whole), *other = print(&parts);
        expect_text(text, other, bodies[i].data);
        if (!whole.bad)
            expect_text(text, "whole 'a' and 5", bodies[i].data);
        free(text);
        free(other);
        gathered_free(&whole);
        gathered_free(&parts);
    }
}

/* ---- limits ------------------------------------------------------------------------------ */

static char big[2000000];
static size_t big_length;

static void big_start(void)
{
    big_length = 0;
}

static void big_add(const char *text)
{
    size_t length = strlen(text);
    assert_true(big_length + length <= sizeof big);
    memcpy(big + big_length, text, length);
    big_length += length;
}

static void big_fill(char byte, size_t count)
{
    assert_true(big_length + count <= sizeof big);
    memset(big + big_length, byte, count);
    big_length += count;
}

/* Cut at some thirty places: the same verdict. */
static void expect_big(bool bad, size_t data, const char *why)
{
    struct gw_slice bytes = { big, big_length };
    for (size_t i = 0; i < 64; i++) {
        struct gathered gathered;
        size_t cut = big_length / 32 * (i / 2);
        gather(&gathered, heads[i % 2], GW_BODY_CHUNKED, 0, bytes, cut);
        if (gathered.bad != bad
            || (!bad && (!gathered.complete || gw_buffer_length(&gathered.data) != data)))
            fail_msg("%s, cut at %zu: %s, %zu bytes", why, cut, gathered.bad ? "bad" : "fine",
                     gw_buffer_length(&gathered.data));
        gathered_free(&gathered);
    }
}

static void overhead_has_a_limit(void **state)
{
    (void)state;
    big_start();
    for (unsigned i = 0; i < 100; i++) {
        big_add("1;");
        big_fill('a', 8000);
        big_add("\r\nX\r\n");
    }
    big_add(END);
    expect_big(true, 0, "FRAME-08: a flood of extensions");

    big_start();
    for (unsigned i = 0; i < 100000; i++)
        big_add("1\r\nX\r\n");
    big_add(END);
    expect_big(false, 100000, "RESP-14: one-byte chunks");

    /* 16384 bytes beyond 16 times the data (limit_table.h): 17 bytes of it frame one byte */
    big_start();
    big_add("1;");
    big_fill('a', 16384 - 4);
    big_add("\r\nX\r\n");
    big_add(END);
    expect_big(false, 1, "exactly the limit before the first byte");
    big_start();
    big_add("1;");
    big_fill('a', 16384 - 3);
    big_add("\r\nX\r\n");
    big_add(END);
    expect_big(true, 0, "one more");

    big_start();
    big_add("0;");
    big_fill('a', 17000);
    big_add("\r\n\r\n");
    expect_big(true, 0, "FRAME-08: around no data at all");
    big_start();
    big_add("1;");
    big_fill('a', 17000);
    expect_big(true, 0, "FRAME-08: an extension without an end");

    big_start();
    big_add("186a0;");
    big_fill('a', 17000);
    big_add("\r\n");
    big_fill('X', 100000);
    big_add("\r\n" END);
    expect_big(true, 0, "data that comes later makes up for nothing, wherever the text is cut");

    big_start();
    big_add("186a0\r\n");
    big_fill('X', 100000);
    big_add("\r\n0;");
    big_fill('a', 100000);
    big_add("\r\n\r\n");
    expect_big(false, 100000, "data that came before does");
}

static void trailers_have_a_limit(void **state)
{
    (void)state;
    big_start();
    big_add("186a0\r\n");
    big_fill('X', 100000);
    big_add("\r\n0\r\nT: ");
    big_fill('a', 30000);
    big_add("\r\n\r\n");
    expect_big(false, 100000, "less than a head may hold");

    big_start();
    big_add("186a0\r\n");
    big_fill('X', 100000);
    big_add("\r\n0\r\nT: ");
    big_fill('a', 70000);
    big_add("\r\n\r\n");
    expect_big(true, 0, "one field, more than a head may hold");

    big_start();
    big_add("186a0\r\n");
    big_fill('X', 100000);
    big_add("\r\n0\r\n");
    for (unsigned i = 0; i < 20000; i++)
        big_add("Te: a\r\nU: b\r\n");
    big_add("\r\n");
    expect_big(true, 0, "many fields, kept and dropped");
}

static void pieces_come_in_bounded_numbers(void **state)
{
    (void)state;
    struct message message;
    struct gw_body body;
    struct gw_slice pieces[GW_BODY_PIECES_MAX];
    size_t used, count;
    big_start();
    for (unsigned i = 0; i < 2 * GW_BODY_PIECES_MAX; i++)
        big_add("1\r\nX\r\n");
    big_add(END "rest");
    message_read(&message, false, heads[0], CUT_NOWHERE, NULL);
    gw_body_init(&body, GW_BODY_CHUNKED, 0, &message.head);
    struct gw_slice text = { big, big_length };
    for (unsigned turn = 1; turn <= 2; turn++) {
        assert_int_equal(gw_body_read(&body, text, &used, pieces, &count), GW_BODY_OK);
        assert_int_equal(count, GW_BODY_PIECES_MAX);
        assert_int_equal(body.total, turn * GW_BODY_PIECES_MAX);
        assert_false(body.complete);
        text.data += used;
        text.length -= used;
    }
    assert_int_equal(gw_body_read(&body, text, &used, pieces, &count), GW_BODY_OK);
    assert_true(body.complete && count == 0);
    assert_int_equal(text.length - used, 4);
    /* After the end nothing is taken any more. */
    assert_int_equal(gw_body_read(&body, GW_SLICE("1\r\nX\r\n"), &used, pieces, &count),
                     GW_BODY_OK);
    assert_true(used == 0 && count == 0 && body.total == 2 * GW_BODY_PIECES_MAX);
    gw_body_fini(&body);
    message_free(&message);
}

/* ---- the other kinds --------------------------------------------------------------------- */

static void a_length_is_counted(void **state)
{
    (void)state;
    static const struct {
        enum gw_body_kind kind;
        uint64_t length;
        struct gw_slice bytes;
        const char *expected, *why;
    } rows[] = {
        { GW_BODY_LENGTH, 5, BYTES("hello"), "whole 'hello'", "exactly" },
        { GW_BODY_LENGTH, 5, BYTES("helloGET /"), "whole 'hello' and 5", "what follows" },
        { GW_BODY_LENGTH, 5, BYTES("hell"), "more 'hell'", "not all there" },
        { GW_BODY_LENGTH, 0, BYTES("GET /"), "whole '' and 5", "nothing" },
        { GW_BODY_LENGTH, UINT64_MAX, BYTES("hello"), "more 'hello'", "no end in sight" },
        { GW_BODY_NONE, 0, BYTES("GET /"), "whole '' and 5", "no body" },
        { GW_BODY_NONE, 1192, BYTES("HTTP/"), "whole '' and 5", "RESP-01: none, whatever is said" },
        { GW_BODY_TO_EOF, 0, BYTES("hello"), "more 'hello'", "only the caller knows the end" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        for (size_t cut = 0; cut < rows[i].bytes.length; cut++)
            expect_body(heads[0], rows[i].kind, rows[i].length, rows[i].bytes, cut,
                        rows[i].expected, rows[i].why);
        expect_body(heads[0], rows[i].kind, rows[i].length, rows[i].bytes, CUT_EVERYWHERE,
                    rows[i].expected, rows[i].why);
    }
}

/* A head whose parser would see something else in it: an upgrade, a CONNECT-like end. */
static void a_chunked_body_follows_any_head(void **state)
{
    (void)state;
    static const struct gw_slice others[] = {
        BYTES("POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
              "Transfer-Encoding: chunked\r\n\r\n"),
        BYTES("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
              "\r\n"),
        BYTES("DELETE / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
        BYTES("HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
        BYTES("HTTP/1.1 404 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
              "Transfer-Encoding: chunked\r\n\r\n"),
        BYTES("HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
        BYTES("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n"),
    };
    for (size_t i = 0; i < GW_COUNT(others); i++)
        for (unsigned turn = 0; turn < 2; turn++)
            expect_body(others[i], GW_BODY_CHUNKED, 0,
                        GW_SLICE("5\r\nhello\r\n0\r\nX: 1\r\n\r\nrest"),
                        turn == 0 ? 0 : CUT_EVERYWHERE, "whole 'hello' trailers 'X: 1\r\n' and 4",
                        others[i].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_decoded),
        cmocka_unit_test(malformed_chunks_are_refused),
        cmocka_unit_test(trailers_are_kept_or_dropped),
        cmocka_unit_test(trailers_cannot_add_to_a_stamp),
        cmocka_unit_test(framing_in_trailers_changes_nothing),
        cmocka_unit_test(overhead_has_a_limit),
        cmocka_unit_test(trailers_have_a_limit),
        cmocka_unit_test(pieces_come_in_bounded_numbers),
        cmocka_unit_test(a_length_is_counted),
        cmocka_unit_test(a_chunked_body_follows_any_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
