/* The host matcher: tests/data/matcher.tsv and pattern_pairs.tsv.
 * Each case is judged twice, by the patterns one after the other and by the index of a policy
 * image made from the same entries; the two must agree, whatever the table says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/decision.h"
#include "policy/host.h"
#include "policy/host_pattern.h"
#include "policy/policy_image.h"
#include "tests/support/table.h"

#define ENTRIES_MAX 8

static struct gw_host_pattern patterns[ENTRIES_MAX];

static const char *or_allowed(const char *code)
{
    return code[0] == '\0' ? "allowed" : code;
}

static bool is_visible(struct gw_slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] < '!' || text.data[i] > '~' || text.data[i] == '%')
            return false;
    return text.length > 0 && text.length < 80;
}

static bool holds(const char *text, struct gw_slice part)
{
    size_t length = strlen(text);
    for (size_t i = 0; part.length > 0 && i + part.length <= length; i++)
        if (memcmp(text + i, part.data, part.length) == 0)
            return true;
    return part.length == 0;
}

/* Both ways of reading an entry, which must agree; `mentions` is what the error has to say. */
static bool read_entry(struct gw_table *table, struct gw_image_builder *builder,
                       struct gw_slice entry, struct gw_slice mentions, struct gw_host_pattern *out)
{
    struct gw_error err = GW_ERROR_NONE, again = GW_ERROR_NONE;
    bool good = gw_host_pattern_parse(entry, out, &err);
    if (gw_image_builder_allow(builder, entry, GW_SNI_DEFAULT, &again) != good)
        gw_table_wrong(table, "pattern and builder differ on the entry");
    if (good)
        return true;
    if (err.code == GW_ERR_NONE || err.text[0] == '\0')
        gw_table_wrong(table, "the entry is refused without a reason");
    if (is_visible(entry) && !holds(err.text, entry))
        gw_table_wrong(table, "the error does not name the entry: %s", err.text);
    if (!holds(err.text, mentions))
        gw_table_wrong(table, "the error does not mention %s: %s", mentions.data, err.text);
    return false;
}

/* As gw_table_bytes(): in a block of its own size, so that a read past the end is seen. */
static bool read_exact_entry(struct gw_table *table, struct gw_image_builder *builder,
                             struct gw_slice entry, struct gw_slice mentions,
                             struct gw_host_pattern *out)
{
    char *copy = malloc(entry.length);
    assert_true(copy != NULL || entry.length == 0);
    if (entry.length > 0)
        memcpy(copy, entry.data, entry.length);
    entry.data = copy;
    bool good = read_entry(table, builder, entry, mentions, out);
    free(copy);
    return good;
}

/* May this host be asked for, by the index of the image? Where it leads is not the question here,
 * so a refusal by the screen is as good as a yes. */
static bool is_in_image(const struct gw_image *image, const struct gw_host *host)
{
    struct gw_verdict verdict;
    const struct gw_ask ask = {
        .kind = GW_ASK_REQUEST,
        .https = true,
        .authority = { .host = *host },
        .method = GW_SLICE("GET"),
        .path_and_query = GW_SLICE("/"),
    };
    gw_decide(image, NULL, &ask, NULL, &verdict);
    return verdict.refusal.reason != GW_REASON_NOT_ALLOWED;
}

static bool asks_image(const struct gw_image *image, const char *text)
{
    struct gw_host host;
    assert_int_equal(gw_host_parse(gw_slice_of(text), &host), GW_REASON_NONE);
    return is_in_image(image, &host);
}

static bool image_allows(struct gw_image_builder *builder, const struct gw_host *host)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    void *bytes = NULL;
    size_t length = 0;
    if (!gw_image_builder_finish(builder, &bytes, &length, &err)
        || !gw_image_open(bytes, length, &image, &err))
        fail_msg("no image: %s", err.text);
    bool allows = is_in_image(&image, host);
    free(bytes);
    return allows;
}

static bool patterns_allow(const struct gw_host *host, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gw_host_pattern_matches(&patterns[i], host))
            return true;
    return false;
}

/* A host that was read prints to a text which reads as the same host. */
static void check_round_trip(struct gw_table *table, const struct gw_host *host)
{
    char text[GW_HOST_TEXT_MAX + 4];
    struct gw_host again;
    size_t length = gw_host_print(host, text, sizeof text);
    if (gw_host_parse((struct gw_slice){ text, length }, &again) != GW_REASON_NONE
        || !gw_host_equal(host, &again))
        gw_table_wrong(table, "the host prints as \"%.*s\", which is another", (int)length, text);
}

static void check_case(struct gw_table *table, struct gw_image_builder *builder)
{
    struct gw_slice entries = gw_table_get(table, "entries"), entry;
    struct gw_slice expected = gw_table_get(table, "expected"), verdict, mentions;
    struct gw_host host;
    size_t count = 0, bad = 0, good = 0;

    mentions = expected;
    (void)gw_table_split(&mentions, ':', &verdict);
    bool expects_bad_entry = gw_slice_equal(verdict, GW_SLICE("bad-entry"));
    if (gw_slice_equal(entries, GW_SLICE("-")))
        entries.data = NULL; /* no entry at all */
    for (; gw_table_split(&entries, ',', &entry); count++) {
        assert_true(count < ENTRIES_MAX);
        if (read_exact_entry(table, builder, entry, mentions, &patterns[good]))
            good++;
        else
            bad++;
    }
    if (expects_bad_entry) {
        if (bad == 0 || good > 0)
            gw_table_wrong(table, "%zu of %zu entries are accepted", good, count);
        return;
    }
    if (bad > 0) {
        gw_table_wrong(table, "an entry is refused");
        return;
    }

    enum gw_reason reason = gw_host_parse(gw_table_bytes(table, "host"), &host);
    bool allow = gw_slice_equal(verdict, GW_SLICE("allow"));
    bool deny = gw_slice_equal(verdict, GW_SLICE("deny"));
    if (!allow && !deny) {
        if (!gw_slice_equal(verdict, gw_slice_of(gw_reason_code(reason))))
            gw_table_wrong(table, "the host is %s, %s expected", or_allowed(gw_reason_code(reason)),
                           verdict.data);
        return;
    }
    if (reason != GW_REASON_NONE) {
        gw_table_wrong(table, "the host is refused: %s", gw_reason_code(reason));
        return;
    }
    check_round_trip(table, &host);
    if (patterns_allow(&host, good) != allow)
        gw_table_wrong(table, "the patterns say the contrary of %s", verdict.data);
    if (image_allows(builder, &host) != allow)
        gw_table_wrong(table, "the image says the contrary of %s", verdict.data);
}

static void entries_match_the_hosts_that_they_name_and_no_other(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("matcher.tsv");
    while (gw_table_next(table)) {
        struct gw_image_builder *builder = gw_image_builder_new(GW_POLICY_STATIC);
        assert_non_null(builder);
        check_case(table, builder);
        gw_image_builder_free(builder);
    }
    gw_table_expect_series(table, "M", 2, 1, 64);
    gw_table_close(table, 224);
}

static bool says_yes(struct gw_table *table, const char *column)
{
    return gw_slice_equal(gw_table_get(table, column), GW_SLICE("yes"));
}

static void two_entries_cover_each_other_or_not(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("pattern_pairs.tsv");
    while (gw_table_next(table)) {
        struct gw_error err = GW_ERROR_NONE;
        struct gw_host_pattern a, b;
        if (!gw_host_pattern_parse(gw_table_bytes(table, "a"), &a, &err)
            || !gw_host_pattern_parse(gw_table_bytes(table, "b"), &b, &err)) {
            gw_table_wrong(table, "no pattern: %s", err.text);
            continue;
        }
        if (gw_host_pattern_covers(&a, &b) != says_yes(table, "a_covers_b"))
            gw_table_wrong(table, "a covers b: not %s", gw_table_text(table, "a_covers_b"));
        if (gw_host_pattern_covers(&b, &a) != says_yes(table, "b_covers_a"))
            gw_table_wrong(table, "b covers a: not %s", gw_table_text(table, "b_covers_a"));
        if (gw_host_pattern_overlaps(&a, &b) != says_yes(table, "overlap")
            || gw_host_pattern_overlaps(&b, &a) != says_yes(table, "overlap"))
            gw_table_wrong(table, "overlap: not %s both ways", gw_table_text(table, "overlap"));
    }
    gw_table_close(table, 21);
}

/* Case CONF-15: one image of many entries still tells every one of them from its neighbours. */
static void many_entries_are_told_apart(void **state)
{
    enum { COUNT = 20000 };
    (void)state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image_builder *builder = gw_image_builder_new(GW_POLICY_STATIC);
    struct gw_image image;
    void *bytes = NULL;
    size_t length = 0;
    assert_non_null(builder);
    for (unsigned i = 0; i < COUNT; i++) {
        char entry[64];
        snprintf(entry, sizeof entry, "%sh%u.example", i % 2 == 0 ? "" : ".", i * 3);
        assert_true(gw_image_builder_allow(builder, gw_slice_of(entry), GW_SNI_DEFAULT, &err));
    }
    assert_true(gw_image_builder_finish(builder, &bytes, &length, &err));
    gw_image_builder_free(builder);
    assert_true(gw_image_open(bytes, length, &image, &err));
    assert_int_equal(gw_image_host_count(&image), COUNT);
    for (unsigned i = 0; i < COUNT * 3; i++) {
        bool is_listed = i % 3 == 0, is_suffix = is_listed && i / 3 % 2 == 1;
        char host[64];
        snprintf(host, sizeof host, "h%u.example", i);
        if (asks_image(&image, host) != is_listed)
            fail_msg("%s: not %s", host, is_listed ? "allowed" : "denied");
        snprintf(host, sizeof host, "a.h%u.example", i);
        if (asks_image(&image, host) != is_suffix)
            fail_msg("%s: not %s", host, is_suffix ? "allowed" : "denied");
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_match_the_hosts_that_they_name_and_no_other),
        cmocka_unit_test(two_entries_cover_each_other_or_not),
        cmocka_unit_test(many_entries_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
