#define _GNU_SOURCE /* strdup */
#include "gateway/config/config_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void gw_config_errors_init(struct gw_config_errors *errors, const char *path)
{
    *errors = (struct gw_config_errors){ .file = strdup(path) };
}

static bool is_before(const struct gw_config_error *a, const struct gw_config_error *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void gw_config_errors_addv(struct gw_config_errors *errors, unsigned line, unsigned column,
                           const char *format, va_list list)
{
    struct gw_config_error fresh = { .line = line, .column = column };
    struct gw_text text;
    if (errors->list == NULL)
        errors->list = calloc(GW_CONFIG_ERRORS_MAX, sizeof *errors->list);
    if (errors->list == NULL) {
        errors->left_out++; /* still a refusal; gw_config_errors_print() says what it can */
        return;
    }
    size_t at = errors->count;
    if (at == GW_CONFIG_ERRORS_MAX && !is_before(&fresh, &errors->list[at - 1])) {
        errors->left_out++;
        return;
    }
    gw_text_init(&text, fresh.text, sizeof fresh.text);
    gw_text_addv(&text, format, list);
    while (at > 0 && is_before(&fresh, &errors->list[at - 1]))
        at--;
    for (size_t i = at; i > 0 && !is_before(&errors->list[i - 1], &fresh); i--)
        if (strcmp(errors->list[i - 1].text, fresh.text) == 0)
            return;
    if (errors->count == GW_CONFIG_ERRORS_MAX) {
        errors->left_out++;
        errors->count--; /* the last of the kept ones makes room for an earlier one */
    }
    memmove(&errors->list[at + 1], &errors->list[at], (errors->count - at) * sizeof fresh);
    errors->list[at] = fresh;
    errors->count++;
}

void gw_config_errors_add(struct gw_config_errors *errors, unsigned line, unsigned column,
                          const char *format, ...)
{
    va_list list;
    va_start(list, format);
    gw_config_errors_addv(errors, line, column, format, list);
    va_end(list);
}

void gw_config_errors_print(const struct gw_config_errors *errors, FILE *out)
{
    const char *file = errors->file == NULL ? "configuration" : errors->file;
    for (size_t i = 0; i < errors->count; i++) {
        const struct gw_config_error *error = &errors->list[i];
        if (error->line == 0)
            fprintf(out, "%s: %s\n", file, error->text);
        else
            fprintf(out, "%s:%u:%u: %s\n", file, error->line, error->column, error->text);
    }
    if (errors->list == NULL && errors->left_out > 0)
        fprintf(out, "%s: out of memory\n", file);
    else if (errors->left_out > 0)
        fprintf(out, "%s: and %zu more\n", file, errors->left_out);
}

void gw_config_errors_fini(struct gw_config_errors *errors)
{
    free(errors->file);
    free(errors->list);
    *errors = (struct gw_config_errors){ .file = NULL };
}
