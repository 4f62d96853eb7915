/* Decisions: tests/data/decision.tsv. "ask" is "METHOD target", read as a request line would be.
 * Expected is a refusal, "bad-policy" when the policy itself has to be refused, or
 *   ok NAMED->DIALLED [tls] [http] [sni=MODE] [ca=BUNDLE] [creds=NAME,NAME]
 * where "http" is a tunnel whose inside is read, and an SNI mode is that of a tunnel which is not.
 * Credentials are listed by name: in which order they are stamped does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "policy/decision.h"
#include "policy/request_target.h"
#include "tests/support/policy_text.h"
#include "tests/support/refusal_text.h"
#include "tests/support/table.h"

#define ANSWER_MAX 512

static const char *sni_text(enum gw_sni_mode mode)
{
    switch (mode) {
    case GW_SNI_DEFAULT:
        return "default";
    case GW_SNI_MATCH:
        return "match";
    case GW_SNI_LOG:
        return "log";
    case GW_SNI_OFF:
        return "off";
    }
    return "?";
}

static int by_name(const void *a, const void *b)
{
    const struct gw_slice *left = a, *right = b;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->data, right->data, shorter);
    return order != 0 ? order : (int)left->length - (int)right->length;
}

static void describe_credentials(const struct gw_image *image, const struct gw_verdict *verdict,
                                 struct gw_text *text)
{
    struct gw_slice names[GW_VERDICT_CREDENTIALS_MAX];
    assert_true(verdict->credential_count <= GW_VERDICT_CREDENTIALS_MAX);
    for (uint32_t i = 0; i < verdict->credential_count; i++) {
        assert_true(verdict->credentials[i] < gw_image_credential_count(image));
        names[i] = gw_image_credential(image, verdict->credentials[i]).name;
    }
    qsort(names, verdict->credential_count, sizeof names[0], by_name);
    for (uint32_t i = 0; i < verdict->credential_count; i++) {
        gw_text_add_string(text, i == 0 ? " creds=" : ",");
        gw_text_add(text, names[i]);
    }
}

static void describe(const struct gw_image *image, enum gw_ask_kind kind,
                     const struct gw_verdict *verdict, char out[ANSWER_MAX])
{
    struct gw_text text;
    gw_text_init(&text, out, ANSWER_MAX);
    gw_text_addf(&text, "ok %u->%u", (unsigned)verdict->named_port, (unsigned)verdict->dial_port);
    if (verdict->tls)
        gw_text_add_string(&text, " tls");
    if (verdict->read_as_http)
        gw_text_add_string(&text, " http");
    if (kind == GW_ASK_TUNNEL && !verdict->read_as_http)
        gw_text_addf(&text, " sni=%s", sni_text(verdict->sni));
    if (kind == GW_ASK_REQUEST && verdict->ca >= 0) {
        gw_text_add_string(&text, " ca=");
        gw_text_add(&text, gw_image_ca(image, (size_t)verdict->ca));
    }
    describe_credentials(image, verdict, &text);
}

static void on_step(void *context, const char *step, const char *finding)
{
    size_t *steps = context;
    assert_true(step[0] != '\0');
    assert_null(strchr(finding, '\n'));
    ++*steps;
}

/* What is promised of a refusal is its reason; of a yes, everything. */
static bool is_same_verdict(const struct gw_verdict *a, const struct gw_verdict *b)
{
    if (a->refusal.reason != b->refusal.reason || a->refusal.kind != b->refusal.kind)
        return false;
    return a->refusal.reason != GW_REASON_NONE
           || (a->dial_port == b->dial_port && a->tls == b->tls
               && a->read_as_http == b->read_as_http && a->credential_count == b->credential_count);
}

/* Reads the ask as a request line would be read; the reason when the target itself is refused. */
static enum gw_reason read_ask(struct gw_slice line, struct gw_ask *ask)
{
    struct gw_request_target target;
    struct gw_slice method;
    memset(ask, 0, sizeof *ask);
    (void)gw_table_split(&line, ' ', &method);
    bool is_connect = gw_slice_equal(method, GW_SLICE("CONNECT"));
    enum gw_reason reason = gw_request_target_parse(line, is_connect, &target);
    if (reason != GW_REASON_NONE)
        return reason;
    ask->kind = is_connect ? GW_ASK_TUNNEL : GW_ASK_REQUEST;
    ask->https = !is_connect && target.https;
    ask->authority = target.authority;
    if (is_connect)
        return GW_REASON_NONE;
    ask->method = method;
    ask->path_and_query = target.path_and_query;
    return GW_REASON_NONE;
}

static struct gw_verdict decide(struct gw_table *table, const struct gw_image *image,
                                const struct gw_ask *ask)
{
    struct gw_own_text own;
    struct gw_verdict verdict, traced;
    size_t steps = 0;
    const struct gw_trace trace = { .told = on_step, .context = &steps };
    bool knows_itself = !gw_slice_equal(gw_table_get(table, "own"), GW_SLICE("-"));
    gw_own_text_parse(gw_table_get(table, "own"), &own);
    memset(&verdict, 0xa5, sizeof verdict); /* nothing may be left as it was */
    memset(&traced, 0x5a, sizeof traced);
    gw_decide(image, knows_itself ? &own.own : NULL, ask, NULL, &verdict);
    gw_decide(image, knows_itself ? &own.own : NULL, ask, &trace, &traced);
    if (!is_same_verdict(&verdict, &traced))
        gw_table_wrong(table, "a trace changes the decision");
    if (steps == 0)
        gw_table_wrong(table, "the trace is told nothing");
    return verdict;
}

static void check_answer(struct gw_table *table, const struct gw_image *image)
{
    struct gw_slice expected = gw_table_get(table, "expected");
    struct gw_verdict verdict;
    struct gw_ask ask;
    char got[ANSWER_MAX];
    memset(&verdict, 0, sizeof verdict);
    verdict.refusal.reason = read_ask(gw_table_bytes(table, "ask"), &ask);
    if (verdict.refusal.reason == GW_REASON_NONE)
        verdict = decide(table, image, &ask);
    if (verdict.refusal.reason != GW_REASON_NONE) {
        if (gw_refusal_text_is(expected, verdict.refusal))
            return;
        (void)gw_refusal_print(verdict.refusal, got, sizeof got);
    } else {
        describe(image, ask.kind, &verdict, got);
        if (gw_slice_equal(expected, gw_slice_of(got)))
            return;
    }
    gw_table_wrong(table, "\"%s\", expected \"%s\"", got, expected.data);
}

static void a_request_is_allowed_or_refused_for_a_reason(void **state)
{
    (void)state;
    struct gw_table *table = gw_table_open("decision.tsv");
    while (gw_table_next(table)) {
        struct gw_error err = GW_ERROR_NONE;
        struct gw_image image;
        void *bytes = NULL;
        bool expects_bad = gw_slice_equal(gw_table_get(table, "expected"), GW_SLICE("bad-policy"));
        if (!gw_policy_text_build(gw_table_get(table, "policy"), &bytes, &image, &err)) {
            if (!expects_bad)
                gw_table_wrong(table, "the policy is refused: %s", err.text);
            else if (err.code == GW_ERR_NONE || err.text[0] == '\0')
                gw_table_wrong(table, "the policy is refused without a reason");
        } else if (expects_bad) {
            gw_table_wrong(table, "the policy is accepted");
        } else {
            check_answer(table, &image);
        }
        free(bytes);
    }
    gw_table_expect_series(table, "P", 2, 39, 40);
    gw_table_expect_series(table, "P", 2, 64, 68);
    gw_table_expect_series(table, "K", 2, 18, 18);
    gw_table_expect_series(table, "K", 2, 31, 31);
    gw_table_expect_series(table, "K", 2, 38, 38);
    gw_table_close(table, 268);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_allowed_or_refused_for_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
