/* tests/unit/proxy/reply_test.c - answers of the gateway's own: for every reason, whole, exact, and
 * without a byte of the requester's but an escaped host. decision 6, specification 2.7 and 3.9,
 * SYN-07. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/proxy/reply.h"
#include "gateway/proxy/rewrite.h"
#include "json_check.h"
#include "message.h"

/* A reply, written and read back as a client would. */
struct read_back {
    char *text; /* owned: all of it */
    struct message message;
    struct gw_slice body;
};

static void write_and_read(struct read_back *back, const struct gw_reply *reply, const char *why)
{
    struct gw_buffer out = { 0 };
    assert_true(gw_reply_write(reply, &out));
    back->text = buffer_text(&out);
    gw_buffer_fini(&out);
    struct gw_slice all = gw_slice_of(back->text);
    message_read(&back->message, true, all, CUT_NOWHERE, NULL);
    if (back->message.result != GW_HEAD_DONE)
        fail_msg("%s: the head of the reply does not parse:\n%s", why, back->text);
    size_t length = back->message.head.length;
    back->body = (struct gw_slice){ back->text + length, all.length - length };
}

static void read_back_free(struct read_back *back)
{
    message_free(&back->message);
    free(back->text);
}

/* The value of the only field of that name; "" when there is none. */
static char *field_of(const struct read_back *back, const char *name)
{
    static char value[512];
    unsigned count = 0;
    value[0] = '\0';
    for (uint32_t i = 0; i < back->message.head.field_count; i++) {
        const struct gw_http_field *field = &back->message.head.fields[i];
        struct gw_slice text = gw_http_value(field, back->message.text);
        if (!gw_slice_equal_nocase(gw_http_name(field, back->message.text), gw_slice_of(name)))
            continue;
        assert_int_equal(++count, 1);
        snprintf(value, sizeof value, "%.*s", (int)text.length, text.data);
    }
    return value;
}

/* RFC 9110 15 and RFC 6585 */
static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 405, "Method Not Allowed" },
        { 407, "Proxy Authentication Required" },
        { 408, "Request Timeout" },
        { 413, "Content Too Large" },
        { 414, "URI Too Long" },
        { 417, "Expectation Failed" },
        { 421, "Misdirected Request" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 502, "Bad Gateway" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < GW_COUNT(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    fail_msg("no phrase for %d", status);
    return "";
}

static void check_head(const struct read_back *back, struct gw_refusal refusal, const char *code)
{
    const struct gw_http_head *head = &back->message.head;
    int status = gw_reason_status(refusal.reason);
    char expected[256];
    assert_int_equal(head->status, status);
    assert_false(head->minor0);
    struct gw_slice phrase = { back->message.text + head->phrase, head->phrase_length };
    if (!gw_slice_equal(phrase, gw_slice_of(phrase_of(status))))
        fail_msg("%s: %d %.*s", code, status, (int)phrase.length, phrase.data);
    expect_text(field_of(back, "X-Namzu-Reason"), code, "decision 14.9");
    const char *type = gw_reason_proxy_status(refusal.reason);
    assert_non_null(type); /* of every reason that is answered */
    snprintf(expected, sizeof expected, "namzu-gw; error=%s; details=\"%s\"", type, code);
    expect_text(field_of(back, "Proxy-Status"), expected, "RFC 9209");
    expect_text(field_of(back, "X-Content-Type-Options"), "nosniff", "SYN-07");
    expect_text(field_of(back, "Cache-Control"), "no-store", "specification 3.9");
    snprintf(expected, sizeof expected, "%zu", back->body.length);
    expect_text(field_of(back, "Content-Length"), expected, code);
    expect_text(field_of(back, "Transfer-Encoding"), "", "one length");
    if ((*field_of(back, "Allow") != '\0') != (status == 405))
        fail_msg("RFC 9110 15.5.6: Allow in a %d", status);
    if (status == 405)
        assert_null(strstr(field_of(back, "Allow"), "TRAC"));
    if ((*field_of(back, "Proxy-Authenticate") != '\0') != (status == 407))
        fail_msg("RFC 9110 15.5.8: Proxy-Authenticate in a %d", status);
    if ((*field_of(back, "Retry-After") != '\0') != (status == 429 || status == 503))
        fail_msg("Retry-After in a %d", status);
}

static void check_reason(struct gw_refusal refusal)
{
    struct read_back back;
    char code[GW_REASON_CODE_MAX], expected[512];
    gw_refusal_print(refusal, code, sizeof code);
    struct gw_reply reply = { .refusal = refusal, .host = GW_SLICE("api.acme.test"), .port = 443 };
    const char *text = gw_reason_text(refusal.reason);

    write_and_read(&back, &reply, code);
    check_head(&back, refusal, code);
    expect_text(field_of(&back, "Content-Type"), "text/plain; charset=utf-8", code);
    snprintf(expected, sizeof expected, "namzu-gw: api.acme.test:443: %s (%s)\n", text, code);
    expect_text(back.body.data, expected, code);
    read_back_free(&back);

    reply.json = true;
    write_and_read(&back, &reply, code);
    check_head(&back, refusal, code);
    expect_text(field_of(&back, "Content-Type"), "application/json", code);
    snprintf(expected, sizeof expected,
             "{\"error\":{\"code\":\"%s\",\"message\":\"%s\",\"host\":\"api.acme.test\","
             "\"port\":443}}\n",
             code, text);
    expect_text(back.body.data, expected, code);
    if (!json_is_valid(back.body))
        fail_msg("not JSON: %s", back.body.data);
    read_back_free(&back);

    reply = (struct gw_reply){ .refusal = refusal, .json = true };
    write_and_read(&back, &reply, code);
    if (!json_is_valid(back.body) || strstr(back.text, "host\":") != NULL)
        fail_msg("without a host: %s", back.body.data);
    read_back_free(&back);
}

static void every_reason_has_its_answer(void **state)
{
    (void)state;
    unsigned answered = 0;
    for (int reason = 1; reason < GW_REASONS; reason++) {
        if (gw_reason_status((enum gw_reason)reason) == 0)
            continue;
        check_reason((struct gw_refusal){ .reason = (enum gw_reason)reason });
        answered++;
    }
    assert_true(answered > 30);
#define GW_ADDRESS_KIND(name, text, lift)                                        \
    if (GW_KIND_##name != GW_KIND_GLOBAL) {                                      \
        check_reason((struct gw_refusal){ GW_REASON_LITERAL, GW_KIND_##name });  \
        check_reason((struct gw_refusal){ GW_REASON_RESOLVED, GW_KIND_##name }); \
    }
    GW_ADDRESS_KINDS(GW_ADDRESS_KIND)
#undef GW_ADDRESS_KIND
}

/* specification 2.7, W-29: the kind and nothing more. */
static void no_answer_holds_an_address(void **state)
{
    (void)state;
    for (int reason = 1; reason < GW_REASONS; reason++) {
        struct gw_reply reply = { .refusal = { (enum gw_reason)reason, GW_KIND_LOOPBACK },
                                  .host = GW_SLICE("api.acme.test"),
                                  .port = 443 };
        struct gw_buffer out = { 0 };
        if (gw_reason_status((enum gw_reason)reason) == 0)
            continue;
        assert_true(gw_reply_write(&reply, &out));
        char *text = buffer_text(&out);
        for (const char *at = text; *at != '\0'; at++) {
            unsigned a, b, c;
            if (sscanf(at, "%u.%u.%u", &a, &b, &c) == 3 || strncmp(at, "::", 2) == 0)
                fail_msg("an address? %s", at);
        }
        free(text);
        gw_buffer_fini(&out);
    }
}

static void the_connection_is_told_its_fate(void **state)
{
    (void)state;
    static const struct {
        bool close, minor0;
        const char *connection;
    } rows[] = {
        { false, false, "" },
        { true, false, "close" },
        { true, true, "close" },
        { false, true, "keep-alive" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct read_back back;
        struct gw_reply reply = { .refusal = { .reason = GW_REASON_NOT_ALLOWED },
                                  .close = rows[i].close,
                                  .minor0 = rows[i].minor0 };
        write_and_read(&back, &reply, "connection");
        expect_text(field_of(&back, "Connection"), rows[i].connection, "Connection");
        read_back_free(&back);
    }
}

static void an_answer_to_head_has_no_body(void **state)
{
    (void)state;
    struct read_back with, without;
    struct gw_reply reply = { .refusal = { .reason = GW_REASON_NOT_ALLOWED },
                              .host = GW_SLICE("api.acme.test") };
    write_and_read(&with, &reply, "GET");
    reply.head = true;
    write_and_read(&without, &reply, "HEAD");
    assert_int_equal(without.body.length, 0);
    with.text[with.message.head.length] = '\0';
    expect_text(without.text, with.text, "RFC 9110 9.3.2: the same head");
    read_back_free(&with);
    read_back_free(&without);
}

static void a_host_is_shown_as_it_would_be_written(void **state)
{
    (void)state;
    static const struct {
        struct gw_slice host;
        unsigned port;
        const char *text, *json;
    } rows[] = {
        { { "api.acme.test", 13 }, 0, "namzu-gw: api.acme.test: ", "\"host\":\"api.acme.test\"}}" },
        { { "2001:db8::5", 11 },
          443,
          "namzu-gw: [2001:db8::5]:443: ",
          "\"host\":\"2001:db8::5\",\"port\":443}}" },
        { { "192.0.2.7", 9 },
          65535,
          "namzu-gw: 192.0.2.7:65535: ",
          "\"host\":\"192.0.2.7\",\"port\":65535}}" },
        { { NULL, 0 }, 0, "namzu-gw: the host", "allowlist\"}}" },
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct read_back back;
        struct gw_reply reply = { .refusal = { .reason = GW_REASON_NOT_ALLOWED },
                                  .host = rows[i].host,
                                  .port = rows[i].port };
        write_and_read(&back, &reply, "text");
        if (strncmp(back.body.data, rows[i].text, strlen(rows[i].text)) != 0)
            fail_msg("%s", back.body.data);
        read_back_free(&back);
        reply.json = true;
        write_and_read(&back, &reply, "json");
        if (strstr(back.body.data, rows[i].json) == NULL)
            fail_msg("%s", back.body.data);
        read_back_free(&back);
    }
}

/* SYN-07, L10: any byte, and as many as one likes. */
static void a_hostile_host_is_escaped_and_cut(void **state)
{
    (void)state;
    static const size_t lengths[] = { 1, 2, 254, 255, 256, 5000 };
    static const struct gw_refusal longest = { GW_REASON_RESOLVED, GW_KIND_SHARED };
    static char host[5000];
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t i = 0; i < GW_COUNT(lengths); i++) {
            struct read_back back;
            memset(host, (int)byte, lengths[i]);
            struct gw_reply reply = { .refusal = longest,
                                      .host = { host, lengths[i] },
                                      .port = 65535 };
            write_and_read(&back, &reply, "hostile");
            check_head(&back, longest, "resolved:shared-address-space");
            const char *end = strstr(back.body.data, " (resolved:shared-address-space)\n");
            assert_non_null(end);
            assert_int_equal(strlen(end), strlen(" (resolved:shared-address-space)\n"));
            for (const char *at = back.body.data; at < end; at++)
                if (*at < 0x20 || *at > 0x7e)
                    fail_msg("byte %02x is in a text", (unsigned char)*at);
            assert_true(back.body.length < 1200);
            read_back_free(&back);
            reply.json = true;
            write_and_read(&back, &reply, "hostile");
            check_head(&back, longest, "resolved:shared-address-space");
            if (!json_is_valid(back.body))
                fail_msg("%zu times %02x is not JSON: %s", lengths[i], byte, back.body.data);
            assert_true(back.body.length < 4096);
            read_back_free(&back);
        }
    }
}

static void options_are_answered_here(void **state)
{
    (void)state;
    struct gw_buffer out = { 0 };
    assert_true(gw_reply_write_options(false, &out));
    char *text = buffer_text(&out);
    expect_text(text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n",
                "CRED-14: Max-Forwards 0");
    free(text);
    gw_buffer_fini(&out);
    assert_true(gw_reply_write_options(true, &out));
    text = buffer_text(&out);
    expect_text(text,
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
                "Connection: close\r\n\r\n",
                "CRED-14: and the end");
    free(text);
    gw_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reason_has_its_answer),
        cmocka_unit_test(no_answer_holds_an_address),
        cmocka_unit_test(the_connection_is_told_its_fate),
        cmocka_unit_test(an_answer_to_head_has_no_body),
        cmocka_unit_test(a_host_is_shown_as_it_would_be_written),
        cmocka_unit_test(a_hostile_host_is_escaped_and_cut),
        cmocka_unit_test(options_are_answered_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
