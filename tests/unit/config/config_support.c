#define _GNU_SOURCE /* open_memstream */
#include "config_support.h"

#include <stdlib.h>
#include <string.h>

#define DATA GW_TEST_DATA "/config"

void support_sources(struct gw_config_sources *sources)
{
    *sources = (struct gw_config_sources){
        .resolv_conf = DATA "/resolv.conf",
        .ca_file = DATA "/ca.pem",
        .descriptor_limit = SUPPORT_DESCRIPTORS,
    };
}

char *support_replace(const char *text, const char *from, const char *to)
{
    char *result = NULL;
    size_t length;
    FILE *out = open_memstream(&result, &length);
    assert_non_null(out);
    for (const char *found; (found = strstr(text, from)) != NULL; text = found + strlen(from))
        fprintf(out, "%.*s%s", (int)(found - text), text, to);
    fputs(text, out);
    fclose(out);
    return result;
}

static struct gw_settings *parse(const char *yaml, struct gw_config_errors *errors)
{
    struct gw_config_sources sources;
    support_sources(&sources);
    char *text = support_replace(yaml, "$DATA", DATA);
    struct gw_settings *settings =
        gw_config_parse_with("gateway.yaml", gw_slice_of(text), &sources, errors);
    free(text);
    return settings;
}

struct gw_settings *support_load(const char *yaml)
{
    struct gw_config_errors errors;
    struct gw_settings *settings = parse(yaml, &errors);
    if (settings == NULL) {
        gw_config_errors_print(&errors, stderr);
        fail_msg("refused:\n%s", yaml);
    }
    assert_int_equal(errors.count, 0);
    gw_config_errors_fini(&errors);
    return settings;
}

char *support_errors(const char *yaml)
{
    struct gw_config_errors errors;
    char *list = NULL, *result;
    size_t length;
    FILE *out = open_memstream(&list, &length);
    assert_non_null(out);
    gw_settings_free(parse(yaml, &errors));
    for (size_t i = 0; i < errors.count; i++)
        fprintf(out, "%u:%u: %s\n", errors.list[i].line, errors.list[i].column,
                errors.list[i].text);
    fclose(out);
    gw_config_errors_fini(&errors);
    result = support_replace(list, DATA, "$DATA");
    free(list);
    return result;
}

void support_check(const struct support_case *cases, size_t count)
{
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        char *errors = support_errors(cases[i].yaml);
        if (strcmp(errors, cases[i].errors) != 0) {
            fprintf(stderr, "%s:\n%sexpected:\n%sfound:\n%s", cases[i].why, cases[i].yaml,
                    cases[i].errors, errors);
            fine = false;
        }
        free(errors);
    }
    assert_true(fine);
}
