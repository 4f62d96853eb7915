/* base/error.h - what went wrong, and where.
 * A fixed-size value: reporting an error never allocates and cannot fail. The callee says what
 * (gw_error_set), the caller adds where (gw_error_at); it is logged once, where it is acted on.
 * No secret is ever put into an error. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

enum gw_error_code {
    GW_ERR_NONE = 0,
    GW_ERR_SYNTAX,      /* text that does not parse */
    GW_ERR_CONFIG,      /* a setting that cannot be honoured */
    GW_ERR_UNSUPPORTED, /* known, but not in this version or not on this system */
    GW_ERR_LIMIT,       /* larger, deeper or more than we accept */
    GW_ERR_CORRUPT,     /* an image or a message that fails validation */
    GW_ERR_SYSTEM,      /* the kernel said no; the text has its reason */
    GW_ERR_MEMORY,
    GW_ERR_PEER, /* another process of ours, or a remote, broke the protocol */
};

struct gw_error {
    enum gw_error_code code;
    unsigned line, column; /* 1-based; 0 when unknown */
    char file[128];        /* empty when unknown */
    char text[384];
};

#define GW_ERROR_NONE       \
    {                       \
        .code = GW_ERR_NONE \
    }

/* Sets code and text; keeps a position that is already there. The first error wins: a set on an
 * error that already has a code is ignored, so that a clean-up cannot hide the cause. */
void gw_error_set(struct gw_error *err, enum gw_error_code code, const char *format, ...)
    GW_PRINTF(3, 4);

/* Adds the position, unless a callee nearer to it did so already. */
void gw_error_at(struct gw_error *err, const char *file, unsigned line, unsigned column);

/* Puts `format` and ": " in front of the text: what the caller was doing. */
void gw_error_prefix(struct gw_error *err, const char *format, ...) GW_PRINTF(2, 3);

/* Prints "file:line:column: text" (parts that are unknown left out); returns the length. */
size_t gw_error_print(const struct gw_error *err, char *out, size_t room);
