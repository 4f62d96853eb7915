/* gateway/config/yaml_text.h - is this text that a YAML parser can read, and where is a byte of it?
 * UTF-8 only (RFC 3629), with or without a byte order mark; no NUL and no other control bytes. */
#pragma once
#include "base/slice.h"
#include "gateway/config/config_errors.h"

/* Without the mark, if there is one. Must be asked before positions are. */
struct gw_slice gw_yaml_text_skip_mark(struct gw_slice text);

/* False, and one error with its position, if the text is in another encoding or damaged. */
bool gw_yaml_text_check(struct gw_slice text, struct gw_config_errors *errors);

/* Line and column (both 1-based, the column in characters) of the byte at `offset`. */
void gw_yaml_text_position(struct gw_slice text, size_t offset, unsigned *line, unsigned *column);

/* The other way round; the byte there, or 0 past the end. */
char gw_yaml_text_at(struct gw_slice text, unsigned line, unsigned column);
