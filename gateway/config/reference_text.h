/* gateway/config/reference_text.h - what the reference says beside its tables. */
#pragma once

/* Stands before the first section. */
extern const char gw_reference_text_intro[];

/* Stands behind the table of the mapping at `path` ("policies.NAME"); "" where there is nothing to
 * add. */
const char *gw_reference_text_of(const char *path);
