/* gateway/config/config.h - from YAML to settings, with every mistake of the file in one pass.
 *
 * A key is one line of a table (key_table.h); the JSON Schema, the reference and the reader are
 * made from the same tables. Unknown and duplicate keys, wrong types, undefined references and
 * settings that cannot be enforced are refused with file:line:column and, for a near miss, the key
 * that was probably meant. Keys of later versions are known and refused as "not in this version".
 */
#pragma once
#include <stdio.h>

#include "gateway/config/settings.h"

struct gw_config_error {
    unsigned line, column;
    char text[384];
};

struct gw_config_errors {
    char *file;
    struct gw_config_error *list; /* in the order of the file; owned */
    size_t count;
    size_t left_out; /* found, but past the 200 that are kept */
};

/* NULL when there was any mistake; `errors` then has at least one. Reads the file, the lists and CA
 * bundles that it names and the system's resolver file; touches nothing else. Bounded: 16 MiB of
 * YAML, depth 32, 10,000 aliased nodes (host lists that are larger go into allowed_hosts_file). */
struct gw_settings *gw_config_load(const char *path, struct gw_config_errors *errors);

/* The same for text in memory (tests, fuzzing); `path` is what errors call it. */
struct gw_settings *gw_config_parse(const char *path, struct gw_slice yaml,
                                    struct gw_config_errors *errors);

void gw_config_errors_print(const struct gw_config_errors *errors, FILE *out);
void gw_config_errors_fini(struct gw_config_errors *errors);

/* The JSON Schema (draft 2020-12) made from the key tables. */
void gw_config_print_schema(FILE *out);
/* The configuration reference (Markdown) made from the key tables. */
void gw_config_print_reference(FILE *out);
