/* tests/unit/config/yaml_limits_test.c - text that is made to cost more than it is worth, and text
 * in other encodings: refused at once, and in little memory (CONF-03, CONF-05). */
#define _GNU_SOURCE /* open_memstream, fork */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config_support.h"
#include "gateway/config/yaml_tree.h"

#define REST                            \
    "policies: {p: {kind: deny-all}}\n" \
    "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n"

/* ---- bombs ---------------------------------------------------------------------------------- */

struct bomb {
    char *text; /* owned */
    size_t length;
    const char *error;
};

static void repeat(FILE *out, const char *text, size_t times)
{
    while (times-- > 0)
        fputs(text, out);
}

static void write_alias_bomb(FILE *out)
{
    fputs("a: &a [x,x,x,x,x,x,x,x,x]\n", out);
    for (char c = 'b'; c <= 'j'; c++) {
        fprintf(out, "%c: &%c [", c, c);
        for (int i = 0; i < 9; i++)
            fprintf(out, "%s*%c", i == 0 ? "" : ",", c - 1);
        fputs("]\n", out);
    }
}

static void write_scalar(FILE *out, size_t length)
{
    fputs("version: ", out);
    for (size_t i = 0; i < length / 64; i++)
        fputs("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", out);
    fputc('\n', out);
}

static void write_anchors(FILE *out)
{
    fputs("a: [", out);
    for (int i = 0; i < 1001; i++)
        fprintf(out, "&a%d x, ", i);
    fputs("]\n", out);
}

enum { ALIASES, FLOW, BLOCK, MAPS, SCALAR, LONG_FILE, NODES, KEYS, ANCHORS, KINDS };

static void write_bomb(FILE *out, int kind)
{
    switch (kind) {
    case ALIASES:
        write_alias_bomb(out);
        break;
    case FLOW:
        repeat(out, "[", 10000);
        break;
    case BLOCK:
        repeat(out, "- ", 10000);
        break;
    case MAPS:
        repeat(out, "{a: ", 10000);
        break;
    case SCALAR:
        write_scalar(out, 15u << 20);
        break;
    case LONG_FILE:
        write_scalar(out, 100u << 20);
        break;
    case NODES:
        fputs("a: [", out);
        repeat(out, "a,", 8000000 / 2);
        break;
    case KEYS:
        repeat(out, "? a\n", 200000);
        break;
    case ANCHORS:
        write_anchors(out);
        break;
    default:
        break;
    }
}

#define MORE_NODES \
    "more than 500000 nodes; put long host lists into a file and name it with allowed_hosts_file"

static const char *const bomb_errors[KINDS] = {
    [ALIASES] = "the aliases stand for more than 10000 nodes",
    [FLOW] = "nested deeper than 32 levels",
    [BLOCK] = "nested deeper than 32 levels",
    [MAPS] = "nested deeper than 32 levels",
    [SCALAR] = "text of more than 65536 bytes",
    [LONG_FILE] = "the file is larger than 16 MiB",
    [NODES] = MORE_NODES,
    [KEYS] = "the key \"version\" is missing" /* and then 199,999 duplicates */,
    [ANCHORS] = "more than 1000 anchors",
};

/* Of the processor, so that a busy machine makes nobody fail. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* In a process of its own, whose memory has no other history. Ends with what went wrong. */
enum { FINE, OTHER_ERROR, SLOW, LARGE };

static _Noreturn void read_bomb(struct gw_slice text, int kind)
{
    struct gw_config_errors errors;
    long before_kib = peak_kib();
    double before = seconds();
    struct gw_settings *settings = gw_config_parse("bomb.yaml", text, &errors);
    double took = seconds() - before;
    long grown_kib = peak_kib() - before_kib;
    int outcome = FINE;
    fprintf(stderr, "bomb %d: %.2f s, %ld KiB, %s\n", kind, took, grown_kib,
            errors.count == 0 ? "no error" : errors.list[0].text);
    if (settings != NULL || errors.count == 0
        || strcmp(errors.list[0].text, bomb_errors[kind]) != 0)
        outcome = OTHER_ERROR;
#ifdef GW_SANITIZED /* which costs time and memory of its own */
    else if (took > 20)
        outcome = SLOW;
#else
    else if (took > 1)
        outcome = SLOW;
    else if (grown_kib > 64 * 1024)
        outcome = LARGE;
#endif
    _exit(outcome);
}

static void a_bomb_is_refused_at_once_and_in_little_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        char *text = NULL;
        size_t length;
        int status = 0;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        write_bomb(out, kind);
        fclose(out);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            read_bomb((struct gw_slice){ text, length }, kind);
        free(text);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), FINE);
    }
}

static void aliases_are_for_the_same_thing_twice(void **state)
{
    (void)state;
    struct gw_settings *settings =
        support_load("version: 1\n"
                     "policies:\n"
                     "  p: {kind: static, allowed_hosts: &hosts [a.test, b.test]}\n"
                     "  q: {kind: static, allowed_hosts: *hosts}\n"
                     "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\n");
    assert_true(gw_digest_equal(&settings->policies[0].digest, &settings->policies[1].digest));
    gw_settings_free(settings);
}

static void depth_32_is_read_and_33_is_not(void **state)
{
    (void)state;
    for (size_t depth = 32; depth <= 33; depth++) {
        char text[128] = "";
        struct gw_config_errors errors;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        gw_config_errors_init(&errors, "deep.yaml");
        struct gw_yaml_tree *tree = gw_yaml_tree_parse(gw_slice_of(text), &errors);
        assert_int_equal(tree != NULL, depth == 32);
        gw_yaml_tree_free(tree);
        gw_config_errors_fini(&errors);
    }
}

/* ---- encodings ------------------------------------------------------------------------------ */

#define BYTES(literal)                  \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    } /* NULs included */

static const struct {
    struct gw_slice text;
    const char *error; /* NULL: read as without */
    unsigned line, column;
    const char *why;
} encodings[] = {
    { BYTES("\xef\xbb\xbf"
            "version: 1\n" REST),
      NULL, 0, 0, "a byte order mark" },
    { BYTES("version: 1\r\npolicies: {p: {kind: deny-all}}\r\n"
            "networks: {n: {listen: 127.0.0.1:3128, policy: p}}\r\n"),
      NULL, 0, 0, "CRLF" },
    { BYTES("\xef\xbb\xbf"
            "versoin: 1\nversion: 1\n" REST),
      "unknown key \"versoin\"; did you mean \"version\"?", 1, 1, "the mark is no column" },
    { BYTES("version: 1\r\nversoin: 1\r\n" REST),
      "unknown key \"versoin\"; did you mean \"version\"?", 2, 1, "CRLF is one line end" },
    { BYTES("\xff\xfev\0e\0r\0"), "the file is UTF-16; save it as UTF-8", 1, 1, "UTF-16LE" },
    { BYTES("\xfe\xff\0v\0e\0r"), "the file is UTF-16; save it as UTF-8", 1, 1, "UTF-16BE" },
    { BYTES("v\0e\0r\0"), "control byte 0x00 is not allowed in this file; is it UTF-8 text?", 1, 2,
      "UTF-16 without its mark" },
    { BYTES("version: 1\n# \xc3\xbc \xe4\n"),
      "byte 0xe4 is not valid UTF-8; save the file as UTF-8", 2, 5,
      "Latin-1; columns are characters" },
    { BYTES("version: \xc0\xaf\n"), "byte 0xc0 is not valid UTF-8; save the file as UTF-8", 1, 10,
      "an overlong form" },
    { BYTES("version: \xed\xa0\x80\n"), "byte 0xed is not valid UTF-8; save the file as UTF-8", 1,
      10, "a surrogate" },
    { BYTES("version: \xf4\x90\x80\x80\n"), "byte 0xf4 is not valid UTF-8; save the file as UTF-8",
      1, 10, "past the last character" },
    { BYTES("version: 1\n\xe2\x82"), "byte 0xe2 is not valid UTF-8; save the file as UTF-8", 2, 1,
      "cut short" },
    { BYTES("version: 1\n# \x1b[31m\n"),
      "control byte 0x1b is not allowed in this file; is it UTF-8 text?", 2, 3, "an escape" },
    { BYTES("version: 1\n\0" REST),
      "control byte 0x00 is not allowed in this file; is it UTF-8 text?", 2, 1,
      "a NUL does not end the file" },
};

static void other_encodings_are_refused_with_a_position(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(encodings); i++) {
        struct gw_config_sources sources;
        struct gw_config_errors errors;
        support_sources(&sources);
        struct gw_settings *settings =
            gw_config_parse_with("x.yaml", encodings[i].text, &sources, &errors);
        if ((settings != NULL) != (encodings[i].error == NULL))
            fail_msg("%s", encodings[i].why);
        if (settings == NULL
            && (strcmp(errors.list[0].text, encodings[i].error) != 0
                || errors.list[0].line != encodings[i].line
                || errors.list[0].column != encodings[i].column))
            fail_msg("%s: %u:%u: %s", encodings[i].why, errors.list[0].line, errors.list[0].column,
                     errors.list[0].text);
        gw_settings_free(settings);
        gw_config_errors_fini(&errors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bomb_is_refused_at_once_and_in_little_memory),
        cmocka_unit_test(aliases_are_for_the_same_thing_twice),
        cmocka_unit_test(depth_32_is_read_and_33_is_not),
        cmocka_unit_test(other_encodings_are_refused_with_a_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
