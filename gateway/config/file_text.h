/* gateway/config/file_text.h - a whole file in memory, if it is a regular one of bounded size. */
#pragma once
#include "base/error.h"
#include "base/slice.h"

/* `*text` is malloc'ed and NUL-terminated behind its length, and handed over. A file that is
 * replaced while it is read is read as it was when it was opened. */
bool gw_file_text_read(const char *path, size_t most, char **text, size_t *length,
                       struct gw_error *err);
