/* base/error.c */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void gw_error_set(struct gw_error *err, enum gw_error_code code, const char *format, ...)
{
    if (err->code != GW_ERR_NONE)
        return;
    struct gw_text text;
    va_list list;
    err->code = code;
    gw_text_init(&text, err->text, sizeof err->text);
    va_start(list, format);
    gw_text_addv(&text, format, list);
    va_end(list);
}

void gw_error_at(struct gw_error *err, const char *file, unsigned line, unsigned column)
{
    if (err->line != 0 || err->file[0] != '\0')
        return;
    struct gw_text text;
    gw_text_init(&text, err->file, sizeof err->file);
    gw_text_add_string(&text, file);
    err->line = line;
    err->column = column;
}

void gw_error_prefix(struct gw_error *err, const char *format, ...)
{
    char whole[sizeof err->text];
    struct gw_text text;
    va_list list;
    gw_text_init(&text, whole, sizeof whole);
    va_start(list, format);
    gw_text_addv(&text, format, list);
    va_end(list);
    gw_text_add_string(&text, ": ");
    gw_text_add_string(&text, err->text);
    memcpy(err->text, whole, sizeof whole);
}

size_t gw_error_print(const struct gw_error *err, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    if (err->file[0] != '\0') {
        gw_text_add_string(&text, err->file);
        gw_text_add_char(&text, ':');
        if (err->line != 0)
            gw_text_addf(&text, "%u:%u:", err->line, err->column);
        gw_text_add_char(&text, ' ');
    }
    gw_text_add_string(&text, err->text);
    return text.length;
}
