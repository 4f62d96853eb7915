/* base/text.h - building text in memory of a fixed size.
 * Nothing here allocates and nothing can run over: what does not fit is left out, and `truncated`
 * says so. The text is kept NUL-terminated. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/slice.h"

struct gw_text {
    char *data; /* borrowed: the caller's memory */
    size_t room;
    size_t length;  /* without the final NUL; always < room */
    bool truncated; /* something did not fit; what is there is a prefix */
};

/* `room` is at least 1. */
void gw_text_init(struct gw_text *text, char *data, size_t room);
void gw_text_add(struct gw_text *text, struct gw_slice more);
void gw_text_add_string(struct gw_text *text, const char *more);
void gw_text_add_char(struct gw_text *text, char more);
void gw_text_add_number(struct gw_text *text, uint64_t number);
void gw_text_addf(struct gw_text *text, const char *format, ...) GW_PRINTF(2, 3);
void gw_text_addv(struct gw_text *text, const char *format, va_list list) GW_PRINTF(2, 0);

/* Adds `more` as the inside of a JSON string (RFC 8259): quotes, backslashes and control bytes
 * escaped, DEL and U+2028/2029 too, each byte that is not valid UTF-8 as U+FFFD. At most
 * `limit` bytes of `more` are looked at; a cut is marked with "…". Never cuts inside an escape. */
void gw_text_add_json(struct gw_text *text, struct gw_slice more, size_t limit);

/* Adds `more` for a person or a one-line answer: printable ASCII as it is, every other byte and
 * `%` as %XX. At most `limit` bytes of `more`; a cut is marked with "...". */
void gw_text_add_visible(struct gw_text *text, struct gw_slice more, size_t limit);

static inline struct gw_slice gw_text_slice(const struct gw_text *text)
{
    return (struct gw_slice){ text->data, text->length };
}
