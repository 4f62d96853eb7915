/* tests/unit/config/generated_test.c - the files in docs/ that are made from the key tables are
 * what the tables make now, and the examples are accepted. `unit_config_generated --write` makes
 * the files anew. */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "config_support.h"
#include "gateway/config/file_text.h"

static const struct {
    const char *path;
    void (*print)(FILE *out);
} files[] = {
    { GW_SOURCE "/docs/namzu-gw.schema.json", gw_config_print_schema },
    { GW_SOURCE "/docs/configuration.md", gw_config_print_reference },
};

static void files_are_what_the_tables_make(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(files); i++) {
        struct gw_error err = GW_ERROR_NONE;
        char *made = NULL, *there;
        size_t made_length, length;
        FILE *out = open_memstream(&made, &made_length);
        assert_non_null(out);
        files[i].print(out);
        fclose(out);
        if (!gw_file_text_read(files[i].path, 1u << 20, &there, &length, &err))
            fail_msg("%s", err.text);
        if (strcmp(made, there) != 0)
            fail_msg("%s is out of date; run unit_config_generated --write", files[i].path);
        free(made);
        free(there);
    }
}

static void the_examples_are_accepted(void **state)
{
    (void)state;
    static const char *const examples[] = { GW_SOURCE "/examples/minimal.yaml",
                                            GW_SOURCE "/examples/policy.yaml" };
    for (size_t i = 0; i < GW_COUNT(examples); i++) {
        struct gw_error err = GW_ERROR_NONE;
        char *text;
        size_t length;
        if (!gw_file_text_read(examples[i], 1u << 20, &text, &length, &err))
            fail_msg("%s", err.text);
        /* On a build machine the system's bundle may not be there. */
        char *yaml = support_replace(text, "/etc/ssl/certs/ca-certificates.crt", "$DATA/ca.pem");
        struct gw_settings *settings = support_load(yaml);
        for (size_t j = 0; j < settings->warning_count; j++)
            fail_msg("%s: %s", examples[i], settings->warnings[j]);
        gw_settings_free(settings);
        free(yaml);
        free(text);
    }
}

static int write_files(void)
{
    for (size_t i = 0; i < GW_COUNT(files); i++) {
        FILE *out = fopen(files[i].path, "w");
        if (out == NULL) {
            perror(files[i].path);
            return 1;
        }
        files[i].print(out);
        fclose(out);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_what_the_tables_make),
        cmocka_unit_test(the_examples_are_accepted),
    };
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_files();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
