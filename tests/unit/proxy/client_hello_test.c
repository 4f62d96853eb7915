/* tests/unit/proxy/client_hello_test.c - the server name of real and of crafted ClientHellos. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "client_hello_data.h"
#include "gateway/proxy/client_hello.h"

#define LIMIT 16384
#define NAME "api.acme.test"

struct bytes {
    size_t length;
    unsigned char data[GW_CLIENT_HELLO_WIRE_MAX(LIMIT) + 64];
};

static unsigned char scratch[LIMIT];

static void put(struct bytes *to, const void *data, size_t length)
{
    assert_true(to->length + length <= sizeof to->data);
    memcpy(to->data + to->length, data, length);
    to->length += length;
}

static void put_hex(struct bytes *to, const char *hex)
{
    for (; hex[0] != '\0'; hex += 2) {
        char digits[3] = { hex[0], hex[1], '\0' };
        unsigned char byte = (unsigned char)strtoul(digits, NULL, 16);
        put(to, &byte, 1);
    }
}

static const struct bytes *from_hex(const char *hex)
{
    static struct bytes bytes;
    bytes.length = 0;
    put_hex(&bytes, hex);
    return &bytes;
}

/* Reads a copy that ends where the bytes end, so that ASan sees a step too far. */
static enum gw_client_hello read_exact(const unsigned char *data, size_t length, size_t limit,
                                       struct gw_client_hello_facts *facts, char name[512])
{
    char *copy = malloc(length + 1);
    unsigned char *room = malloc(limit);
    assert_true(copy != NULL && room != NULL);
    memcpy(copy + 1, data, length);
    enum gw_client_hello result =
        gw_client_hello_read((struct gw_slice){ copy + 1, length }, limit, room, facts);
    size_t copied = facts->name.length < 511 ? facts->name.length : 511;
    if (copied > 0)
        memcpy(name, facts->name.data, copied);
    name[copied] = '\0';
    free(room);
    free(copy);
    return result;
}

static void expect(const struct bytes *bytes, enum gw_client_hello wanted, const char *name,
                   const char *why)
{
    struct gw_client_hello_facts facts;
    char found[512];
    enum gw_client_hello result = read_exact(bytes->data, bytes->length, LIMIT, &facts, found);
    if (result != wanted || strcmp(found, name) != 0)
        fail_msg("%s: %d \"%s\" instead of %d \"%s\"", why, result, found, wanted, name);
}

/* The same message in records of `size` bytes, the first of `first`. */
static const struct bytes *in_records(const struct bytes *one_record, size_t first, size_t size)
{
    static struct bytes bytes;
    const unsigned char *message = one_record->data + 5;
    size_t left = one_record->length - 5, piece = first;
    bytes.length = 0;
    while (left > 0) {
        size_t length = piece < left ? piece : left;
        unsigned char head[] = { 22, 3, 3, (unsigned char)(length >> 8), (unsigned char)length };
        put(&bytes, head, sizeof head);
        put(&bytes, message, length);
        message += length;
        left -= length;
        piece = size;
    }
    return &bytes;
}

/* --- real clients --- */

static const struct {
    const char *who, *hex;
    enum gw_client_hello result;
    const char *name;
} clients[] = {
    { "Python, TLS 1.3", python_tls13, GW_HELLO_NAMED, NAME },
    { "Python, TLS 1.2, a name in capitals", python_tls12, GW_HELLO_NAMED, "API.Acme.test" },
    { "Python without a name", python_no_name, GW_HELLO_UNNAMED, "" },
    { "openssl s_client", openssl_s_client, GW_HELLO_NAMED, NAME },
    { "curl", curl, GW_HELLO_NAMED, NAME },
};

static void the_name_of_a_real_client_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(clients); i++)
        expect(from_hex(clients[i].hex), clients[i].result, clients[i].name, clients[i].who);
}

/* [K35] One-byte segments: each prefix is a prefix and nothing else. */
static void every_prefix_needs_more(void **state)
{
    struct bytes part;
    (void)state;
    for (size_t i = 0; i < GW_COUNT(clients); i++) {
        const struct bytes *whole = from_hex(clients[i].hex);
        for (part.length = 0; part.length < whole->length;) {
            expect(&part, GW_HELLO_NEED_MORE, "", clients[i].who);
            put(&part, whole->data + part.length, 1);
        }
        expect(&part, clients[i].result, clients[i].name, clients[i].who);
    }
}

/* [K35] Two records, cut at each byte; and records of every size, one byte included. */
static void the_message_may_come_in_several_records(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(clients); i++) {
        const struct bytes *whole = from_hex(clients[i].hex);
        for (size_t at = 1; at < whole->length - 5; at++) {
            const struct bytes *cut = in_records(whole, at, LIMIT);
            expect(cut, clients[i].result, clients[i].name, clients[i].who);
            expect(in_records(whole, at, at), clients[i].result, clients[i].name, clients[i].who);
        }
    }
}

static void prefixes_of_many_records_need_more(void **state)
{
    struct bytes part;
    const struct bytes *whole = in_records(from_hex(openssl_s_client), 1, 3);
    (void)state;
    for (part.length = 0; part.length < whole->length;) {
        expect(&part, GW_HELLO_NEED_MORE, "", "records of three bytes");
        put(&part, whole->data + part.length, 1);
    }
    expect(&part, GW_HELLO_NAMED, NAME, "records of three bytes");
}

static void what_follows_the_hello_does_not_matter(void **state)
{
    struct bytes bytes = *from_hex(curl);
    (void)state;
    put_hex(&bytes, "140303000101"); /* a middlebox-compatibility record, then early data */
    expect(&bytes, GW_HELLO_NAMED, NAME, "another record behind it");
    put_hex(&bytes, "1703030010");
    expect(&bytes, GW_HELLO_NAMED, NAME, "a cut record behind it");
}

/* --- what is not a ClientHello --- */

static void other_protocols_are_told_by_their_first_bytes(void **state)
{
    static const struct {
        const char *hex;
        const char *why;
    } cases[] = {
        { "53", "SSH-2.0: its first byte is enough" },
        { "47455420", "GET" },
        { "802e0103010015000000", "an SSLv2 hello" },
        { "15", "an alert" },
        { "17030300100000", "application data" },
        { "1602", "record version 2" },
        { "1604", "record version 4" },
        { "1603010000", "an empty record" },
        { "1603014001", "a record over 16384 bytes" },
        { "160303000402", "a ServerHello" },
        { "160303000400", "a HelloRequest" },
        { "00", "zeros" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        expect(from_hex(cases[i].hex), GW_HELLO_NOT_TLS, "", cases[i].why);
    expect(from_hex(""), GW_HELLO_NEED_MORE, "", "nothing");
    expect(from_hex("1603014000"), GW_HELLO_NEED_MORE, "", "a record of 16384 bytes");
}

/* --- crafted messages --- */

#define RANDOM "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define UNTIL_EXTENSIONS \
    "0303" RANDOM "00"   \
    "00021301"           \
    "0100"
#define SNI_NAME "6170692e61636d652e74657374" /* api.acme.test: 13 bytes */
#define SNI    \
    "00000012" \
    "0010"     \
    "00"       \
    "000d" SNI_NAME

static const struct bytes *message_of(const char *body, const char *extensions)
{
    static struct bytes bytes;
    bytes.length = 0;
    put_hex(&bytes, "160301000001000000");
    put_hex(&bytes, body);
    if (extensions != NULL) {
        size_t length = strlen(extensions) / 2;
        unsigned char head[] = { (unsigned char)(length >> 8), (unsigned char)length };
        put(&bytes, head, 2);
        put_hex(&bytes, extensions);
    }
    size_t record = bytes.length - 5, message = record - 4;
    bytes.data[3] = (unsigned char)(record >> 8);
    bytes.data[4] = (unsigned char)record;
    bytes.data[7] = (unsigned char)(message >> 8);
    bytes.data[8] = (unsigned char)message;
    return &bytes;
}

static void extensions_are_read_strictly(void **state)
{
    static const struct {
        const char *extensions;
        enum gw_client_hello result;
        const char *why;
    } cases[] = {
        { SNI, GW_HELLO_NAMED, "a name" },
        { "00170000" SNI "00230000", GW_HELLO_NAMED, "between others" },
        { "", GW_HELLO_UNNAMED, "no extension" },
        { "00170000", GW_HELLO_UNNAMED, "others only" },
        { SNI SNI, GW_HELLO_NOT_TLS, "the extension twice: a server may take the other one" },
        { SNI "00000012"
              "0010"
              "00"
              "000d"
              "6576696c2e61636d652e746573",
          GW_HELLO_NOT_TLS, "twice, the second cut" },
        { "00000000", GW_HELLO_NOT_TLS, "empty, as only a server may send it" },
        { "00000002"
          "0000",
          GW_HELLO_NOT_TLS, "an empty list" },
        { "00000005"
          "0003"
          "00"
          "0000",
          GW_HELLO_NOT_TLS, "an empty name" },
        { "00000012"
          "0010"
          "01"
          "000d" SNI_NAME,
          GW_HELLO_NOT_TLS, "not a host_name" },
        { "00000022"
          "0020"
          "00"
          "000d" SNI_NAME "00"
          "000d" SNI_NAME,
          GW_HELLO_NOT_TLS, "two names" },
        { "00000016"
          "0014"
          "00"
          "000d" SNI_NAME "01"
          "000161",
          GW_HELLO_NOT_TLS, "a name and another type" },
        { "00000013"
          "0010"
          "00"
          "000d" SNI_NAME "00",
          GW_HELLO_NOT_TLS, "garbage behind the list" },
        { "00000013"
          "0011"
          "00"
          "000d" SNI_NAME "00",
          GW_HELLO_NOT_TLS, "garbage in the list" },
        { "00000012"
          "000f"
          "00"
          "000d" SNI_NAME,
          GW_HELLO_NOT_TLS, "a list too short" },
        { "00000012"
          "0011"
          "00"
          "000d" SNI_NAME,
          GW_HELLO_NOT_TLS, "a list too long" },
        { "00000012"
          "0010"
          "00"
          "000e" SNI_NAME,
          GW_HELLO_NOT_TLS, "a name too long" },
        { "00000012"
          "0010"
          "00"
          "000c" SNI_NAME,
          GW_HELLO_NOT_TLS, "a name too short" },
        { "00000013"
          "0010"
          "00"
          "000d" SNI_NAME,
          GW_HELLO_NOT_TLS, "an extension too long" },
        { SNI "0017", GW_HELLO_NOT_TLS, "half a header behind it" },
        { SNI "00170001", GW_HELLO_NOT_TLS, "an extension without its byte" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        expect(message_of(UNTIL_EXTENSIONS, cases[i].extensions), cases[i].result,
               cases[i].result == GW_HELLO_NAMED ? NAME : "", cases[i].why);
}

static void the_rest_of_the_message_is_read_strictly(void **state)
{
    static const struct {
        const char *body;
        enum gw_client_hello result;
        const char *why;
    } cases[] = {
        { UNTIL_EXTENSIONS, GW_HELLO_UNNAMED, "TLS 1.0 without extensions" },
        { UNTIL_EXTENSIONS "0000", GW_HELLO_UNNAMED, "an empty list of extensions" },
        { UNTIL_EXTENSIONS "00", GW_HELLO_NOT_TLS, "half a length" },
        { UNTIL_EXTENSIONS "0001", GW_HELLO_NOT_TLS, "extensions that are not there" },
        { UNTIL_EXTENSIONS "000000", GW_HELLO_NOT_TLS, "garbage behind the extensions" },
        { "0203" RANDOM "00"
          "00021301"
          "0100",
          GW_HELLO_NOT_TLS, "version 2" },
        { "fefd" RANDOM "00"
          "00021301"
          "0100",
          GW_HELLO_NOT_TLS, "DTLS" },
        { "0303" RANDOM "21" RANDOM "00"
          "00021301"
          "0100",
          GW_HELLO_NOT_TLS, "a session id of 33 bytes" },
        { "0303" RANDOM "20" RANDOM "00021301"
          "0100",
          GW_HELLO_UNNAMED, "a session id of 32 bytes" },
        { "0303" RANDOM "00"
          "0000"
          "0100",
          GW_HELLO_NOT_TLS, "no cipher suite" },
        { "0303" RANDOM "00"
          "0003130113"
          "0100",
          GW_HELLO_NOT_TLS, "half a cipher suite" },
        { "0303" RANDOM "00"
          "00021301"
          "00",
          GW_HELLO_NOT_TLS, "no compression method" },
        { "0303" RANDOM "00"
          "00021301",
          GW_HELLO_NOT_TLS, "cut before the compression" },
        { "0303" RANDOM, GW_HELLO_NOT_TLS, "cut behind the random" },
        { "03", GW_HELLO_NOT_TLS, "cut in the version" },
        { "", GW_HELLO_NOT_TLS, "an empty message" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        expect(message_of(cases[i].body, NULL), cases[i].result, "", cases[i].why);
}

static void a_second_message_in_the_record_is_refused(void **state)
{
    struct bytes bytes = *message_of(UNTIL_EXTENSIONS, SNI);
    (void)state;
    bytes.data[4]++;
    expect(&bytes, GW_HELLO_NOT_TLS, "", "known before the byte has come");
    put_hex(&bytes, "01");
    expect(&bytes, GW_HELLO_NOT_TLS, "", "one byte too many");
    bytes = *in_records(message_of(UNTIL_EXTENSIONS, SNI), 20, LIMIT);
    bytes.data[29]++; /* the length of the second record */
    put_hex(&bytes, "01");
    expect(&bytes, GW_HELLO_NOT_TLS, "", "in the second record");
    bytes = *message_of(UNTIL_EXTENSIONS, SNI);
    put_hex(&bytes, "160303"); /* a record of its own is the server's to judge */
    expect(&bytes, GW_HELLO_NAMED, NAME, "in the next record");
    bytes = *in_records(message_of(UNTIL_EXTENSIONS, SNI), 20, LIMIT);
    bytes.data[25] = 23;
    expect(&bytes, GW_HELLO_NOT_TLS, "", "another type of record in between");
}

static void encrypted_hello_is_seen(void **state)
{
    struct gw_client_hello_facts facts;
    const struct bytes *with = message_of(UNTIL_EXTENSIONS, SNI "fe0d0003000001");
    (void)state;
    gw_client_hello_read((struct gw_slice){ (const char *)with->data, with->length }, LIMIT,
                         scratch, &facts);
    assert_true(facts.encrypted_hello);
    assert_int_equal(facts.name.length, strlen(NAME)); /* the outer one */
    const struct bytes *without = from_hex(curl);
    gw_client_hello_read((struct gw_slice){ (const char *)without->data, without->length }, LIMIT,
                         scratch, &facts);
    assert_false(facts.encrypted_hello);
}

/* --- bounds --- */

static void a_message_over_the_limit_is_too_large(void **state)
{
    const struct bytes *whole = from_hex(curl); /* 512 bytes of message */
    struct gw_client_hello_facts facts;
    char name[512];
    (void)state;
    assert_int_equal(read_exact(whole->data, whole->length, 512, &facts, name), GW_HELLO_NAMED);
    assert_int_equal(read_exact(whole->data, whole->length, 511, &facts, name), GW_HELLO_TOO_LARGE);
    for (size_t length = 0; length < 9; length++)
        assert_int_equal(read_exact(whole->data, length, 511, &facts, name), GW_HELLO_NEED_MORE);
    assert_int_equal(read_exact(whole->data, 9, 511, &facts, name), GW_HELLO_TOO_LARGE);
}

/* The longest way to say it: a record a byte. One that never ends is not waited for. */
static void more_is_never_needed_beyond_the_bound(void **state)
{
    static struct bytes bytes;
    enum { SMALL = 600 };
    struct gw_client_hello_facts facts;
    char name[512];
    (void)state;
    static const unsigned char head[] = { 1, 0, (SMALL - 4) >> 8, (SMALL - 4) & 0xff };
    for (size_t i = 0; bytes.length < GW_CLIENT_HELLO_WIRE_MAX(SMALL); i++) {
        unsigned char record[] = { 22, 3, 1, 0, 1, i < sizeof head ? head[i] : 0 };
        assert_int_equal(read_exact(bytes.data, bytes.length, SMALL, &facts, name),
                         GW_HELLO_NEED_MORE);
        put(&bytes, record, sizeof record);
    }
    assert_int_equal(read_exact(bytes.data, bytes.length, SMALL, &facts, name), GW_HELLO_NOT_TLS);
}

static void damage_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(clients); i++) {
        struct bytes bytes = *from_hex(clients[i].hex);
        for (size_t at = 0; at < bytes.length; at++) {
            static const unsigned char flips[] = { 0x01, 0x80, 0xff };
            for (size_t k = 0; k < GW_COUNT(flips); k++) {
                struct gw_client_hello_facts facts;
                char name[512];
                bytes.data[at] ^= flips[k];
                enum gw_client_hello result =
                    read_exact(bytes.data, bytes.length, LIMIT, &facts, name);
                assert_true((result == GW_HELLO_NAMED) == (facts.name.length > 0));
                bytes.data[at] ^= flips[k];
            }
        }
    }
}

/* --- the verdict --- */

static void the_name_must_equal_the_target(void **state)
{
    static const struct {
        const char *name, *target;
        bool matches;
        const char *why;
    } cases[] = {
        { "api.acme.test", "api.acme.test", true, "equal" },
        { "API.Acme.TEST", "api.acme.test", true, "case does not matter" },
        { "api.acme.test.", "api.acme.test", true, "nor does the root dot" },
        { "api.acme.test", "api.acme.test.", true, "on either side" },
        { "evil.test", "api.acme.test", false, "[K33] another name" },
        { "acme.test", "api.acme.test", false, "a parent" },
        { "x.api.acme.test", "api.acme.test", false, "a child" },
        { "", "api.acme.test", false, "[K34] no name" },
        { "192.0.2.1", "api.acme.test", false, "a literal" },
        { "api.acme.test/", "api.acme.test", false, "not a name" },
        { "evil.test", "192.0.2.1", true, "a literal target: any name" },
        { "", "192.0.2.1", true, "or none" },
        { "", "[2001:db8::1]", true, "or none" },
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_client_hello_facts facts = { .name = gw_slice_of(cases[i].name) };
        struct gw_host target;
        assert_int_equal(gw_host_parse(gw_slice_of(cases[i].target), &target), GW_REASON_NONE);
        if (gw_client_hello_matches(&facts, &target) != cases[i].matches)
            fail_msg("%s", cases[i].why);
    }
    struct gw_client_hello_facts nul = { .name = GW_SLICE("api.acme.test\0.evil.test") };
    struct gw_host target;
    assert_int_equal(gw_host_parse(GW_SLICE("api.acme.test"), &target), GW_REASON_NONE);
    assert_false(gw_client_hello_matches(&nul, &target));
}

static void the_alert_is_a_fatal_unrecognized_name(void **state)
{
    static const unsigned char wanted[] = { 21, 3, 1, 0, 2, 2, 112 };
    (void)state;
    assert_memory_equal(gw_tls_unrecognized_name_alert, wanted, sizeof wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_a_real_client_is_found),
        cmocka_unit_test(every_prefix_needs_more),
        cmocka_unit_test(the_message_may_come_in_several_records),
        cmocka_unit_test(prefixes_of_many_records_need_more),
        cmocka_unit_test(what_follows_the_hello_does_not_matter),
        cmocka_unit_test(other_protocols_are_told_by_their_first_bytes),
        cmocka_unit_test(extensions_are_read_strictly),
        cmocka_unit_test(the_rest_of_the_message_is_read_strictly),
        cmocka_unit_test(a_second_message_in_the_record_is_refused),
        cmocka_unit_test(encrypted_hello_is_seen),
        cmocka_unit_test(a_message_over_the_limit_is_too_large),
        cmocka_unit_test(more_is_never_needed_beyond_the_bound),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(the_name_must_equal_the_target),
        cmocka_unit_test(the_alert_is_a_fatal_unrecognized_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
