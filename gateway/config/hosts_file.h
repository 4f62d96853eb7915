/* gateway/config/hosts_file.h - a long host list: one entry a line, in a file of its own.
 * `#` begins a comment, at the start of a line or behind a blank; blank lines and CRLF are fine. */
#pragma once
#include "base/error.h"
#include "base/slice.h"

/* `on_entry` is told of each entry, and the number of its line. False only when the file cannot be
 * read, and then nothing was told; what is wrong with an entry is for `on_entry` to say. */
bool gw_hosts_file_read(const char *path,
                        void (*on_entry)(void *context, struct gw_slice entry, unsigned line),
                        void *context, struct gw_error *err);
