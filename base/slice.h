/* base/slice.h - borrowed bytes with an explicit length.
 * Text from the wire is never NUL-terminated and may hold any byte; a slice is the only shape it
 * travels in. A slice owns nothing: who hands one over says how long it lives (else: for the
 * call). An empty slice may have a NULL pointer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct gw_slice {
    const char *data;
    size_t length;
};

/* A slice over a string literal. */
#define GW_SLICE(literal) ((struct gw_slice){ "" literal, sizeof(literal) - 1 })

/* A slice over a NUL-terminated string; NULL gives the empty slice. */
static inline struct gw_slice gw_slice_of(const char *text)
{
    return (struct gw_slice){ text, text == NULL ? 0 : strlen(text) };
}

/* ASCII lower case: A to Z only, whatever the locale. */
static inline char gw_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static inline bool gw_slice_equal(struct gw_slice a, struct gw_slice b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Equal but for the case of ASCII letters. */
bool gw_slice_equal_nocase(struct gw_slice a, struct gw_slice b);

/* Without leading and trailing SP and HTAB (RFC 9110 calls them OWS). */
struct gw_slice gw_slice_trim(struct gw_slice text);

/* The part before the first `separator`, trimmed; `rest` moves behind it. Returns false when
 * `rest` is used up. An empty element is returned as such. `rest` must not be `element`.
 *
 *     while (gw_slice_next(&rest, ',', &element)) ... */
bool gw_slice_next(struct gw_slice *rest, char separator, struct gw_slice *element);
