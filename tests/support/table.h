/* tests/support/table.h - verdicts as text: a table of cases that a test program walks.
 * A table is a file of tab-separated lines under GW_TEST_DATA. A line that begins with '#' is a
 * comment, the first other line names the columns, every further one is a case. The columns "id"
 * and "why" are always there; an id is unique. Fields are printf-style: \x00 \r \n \t \\ and
 * nothing else; two tabs in a row are an empty field.
 *
 * A mistake in the table itself fails the test at once. A case that goes wrong is told with file,
 * line, id and why, and the walk goes on: one run shows all of them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "base/slice.h"

struct gw_table;

/* `name` is relative to GW_TEST_DATA. */
struct gw_table *gw_table_open(const char *name);

/* Moves to the next case; false past the last one. */
bool gw_table_next(struct gw_table *table);

/* A field of the case, unescaped; borrowed until the table is closed. It is NUL-terminated too,
 * but may hold a NUL of its own. */
struct gw_slice gw_table_get(const struct gw_table *table, const char *column);

/* The same in a heap block of exactly its size, for parsers: a read past the end is one byte too
 * far, and AddressSanitizer sees it. Borrowed until the next case. */
struct gw_slice gw_table_bytes(struct gw_table *table, const char *column);

/* The same as a string; for columns that hold no NUL. */
const char *gw_table_text(const struct gw_table *table, const char *column);

/* This case went wrong: prints what happened beside where and why. */
void gw_table_wrong(struct gw_table *table, const char *format, ...) GW_PRINTF(2, 3);

/* Every id from prefix-first to prefix-last (with that many digits) has been walked past, alone or
 * with one letter behind it (R24, or R24a and R24b). A row cannot be lost without being missed. */
void gw_table_expect_series(struct gw_table *table, const char *prefix, int digits, unsigned first,
                            unsigned last);

/* Frees the table; fails the test if a case went wrong or there were fewer than `least`. */
void gw_table_close(struct gw_table *table, size_t least);

/* The part before the first `separator`, blanks and all; `rest` moves behind it and its data
 * becomes NULL with the last part. False when nothing is left. */
bool gw_table_split(struct gw_slice *rest, char separator, struct gw_slice *part);
