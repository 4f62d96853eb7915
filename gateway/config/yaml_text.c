#include "gateway/config/yaml_text.h"

#include <stdint.h>

struct gw_slice gw_yaml_text_skip_mark(struct gw_slice text)
{
    if (text.length >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        return (struct gw_slice){ text.data + 3, text.length - 3 };
    return text;
}

/* Bytes of the sequence that begins here; 0 if it is not UTF-8: cut short, overlong, a surrogate,
 * or past U+10FFFF (RFC 3629 section 4). */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = at[0] < 0x80             ? 1
                    : (at[0] & 0xe0) == 0xc0 ? 2
                    : (at[0] & 0xf0) == 0xe0 ? 3
                    : (at[0] & 0xf8) == 0xf0 ? 4
                                             : 0;
    if (length < 2)
        return length;
    if (length > left)
        return 0;
    uint32_t point = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < lowest[length] || point > 0x10ffff || surrogate ? 0 : length;
}

static bool is_bad_control(unsigned char byte)
{
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
}

bool gw_yaml_text_check(struct gw_slice text, struct gw_config_errors *errors)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    if (text.length >= 2
        && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
        gw_config_errors_add(errors, 1, 1, "the file is UTF-16; save it as UTF-8");
        return false;
    }
    for (size_t at = 0; at < text.length;) {
        size_t length = sequence_length(bytes + at, text.length - at);
        if (length == 0 || is_bad_control(bytes[at])) {
            unsigned line, column;
            gw_yaml_text_position(text, at, &line, &column);
            gw_config_errors_add(errors, line, column,
                                 length == 0 ? "byte 0x%02x is not valid UTF-8; save the file as "
                                               "UTF-8"
                                             : "control byte 0x%02x is not allowed in this file; "
                                               "is it UTF-8 text?",
                                 bytes[at]);
            return false;
        }
        at += length;
    }
    return true;
}

/* Steps over one character and, if it ends a line as libyaml counts lines, begins the next: CR, LF,
 * CRLF, and NEL, LS and PS (YAML 1.1 5.4). */
static size_t step(struct gw_slice text, size_t at, unsigned *line, unsigned *column)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t left = text.length - at, length = sequence_length(bytes + at, left);
    bool broke = false;
    if (length == 0)
        length = 1;
    if (bytes[at] == '\r') {
        length = left > 1 && bytes[at + 1] == '\n' ? 2 : 1;
        broke = true;
    } else {
        broke = bytes[at] == '\n' || (length == 2 && memcmp(bytes + at, "\xc2\x85", 2) == 0)
                || (length == 3
                    && (memcmp(bytes + at, "\xe2\x80\xa8", 3) == 0
                        || memcmp(bytes + at, "\xe2\x80\xa9", 3) == 0));
    }
    *line += broke;
    *column = broke ? 1 : *column + 1;
    return at + length;
}

void gw_yaml_text_position(struct gw_slice text, size_t offset, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (size_t at = 0; at < offset && at < text.length;)
        at = step(text, at, line, column);
}

char gw_yaml_text_at(struct gw_slice text, unsigned line, unsigned column)
{
    unsigned at_line = 1, at_column = 1;
    for (size_t at = 0; at < text.length; at = step(text, at, &at_line, &at_column))
        if (at_line == line && at_column == column)
            return text.data[at];
    return 0;
}
