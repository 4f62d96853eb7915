/* base/text.c */
#include "base/text.h"

#include <stdio.h>

#include "base/check.h"

void gw_text_init(struct gw_text *text, char *data, size_t room)
{
    gw_check(room >= 1);
    *text = (struct gw_text){ .data = data, .room = room };
    data[0] = '\0';
}

void gw_text_add(struct gw_text *text, struct gw_slice more)
{
    size_t left = text->room - 1 - text->length;
    size_t take = more.length;
    if (take > left) {
        take = left;
        text->truncated = true;
    }
    if (take > 0)
        memcpy(text->data + text->length, more.data, take);
    text->length += take;
    text->data[text->length] = '\0';
}

void gw_text_add_string(struct gw_text *text, const char *more)
{
    gw_text_add(text, gw_slice_of(more));
}

void gw_text_add_char(struct gw_text *text, char more)
{
    gw_text_add(text, (struct gw_slice){ &more, 1 });
}

void gw_text_add_number(struct gw_text *text, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    gw_text_add(text, (struct gw_slice){ digits + at, sizeof digits - at });
}

void gw_text_addv(struct gw_text *text, const char *format, va_list list)
{
    size_t left = text->room - text->length;
    int wanted = vsnprintf(text->data + text->length, left, format, list);
    if (wanted < 0) {
        text->truncated = true;
        text->data[text->length] = '\0';
    } else if ((size_t)wanted >= left) {
        text->truncated = true;
        text->length = text->room - 1;
    } else {
        text->length += (size_t)wanted;
    }
}

void gw_text_addf(struct gw_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    gw_text_addv(text, format, list);
    va_end(list);
}

/* A whole piece or nothing: an escape that is cut in half would be another escape. */
static void add_whole(struct gw_text *text, struct gw_slice piece)
{
    if (text->room - 1 - text->length < piece.length)
        text->truncated = true;
    else
        gw_text_add(text, piece);
}

/* Length of the well-formed UTF-8 sequence at the start (Unicode table 3-7), else 0. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xc2 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf5 ? 4
                                   : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f)
        || (first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

static void add_json_control(struct gw_text *text, unsigned char byte)
{
    char escape[8];
    int length = snprintf(escape, sizeof escape, "\\u%04x", byte);
    add_whole(text, (struct gw_slice){ escape, (size_t)length });
}

void gw_text_add_json(struct gw_text *text, struct gw_slice more, size_t limit)
{
    size_t end = more.length < limit ? more.length : limit;
    const unsigned char *data = (const unsigned char *)more.data;
    for (size_t i = 0; i < end;) {
        unsigned char byte = data[i];
        size_t length = utf8_length(data + i, more.length - i);
        if (length == 0) {
            add_whole(text, GW_SLICE("\xef\xbf\xbd"));
            i++;
            continue;
        }
        if (byte == '"')
            add_whole(text, GW_SLICE("\\\""));
        else if (byte == '\\')
            add_whole(text, GW_SLICE("\\\\"));
        else if (byte == '\n')
            add_whole(text, GW_SLICE("\\n"));
        else if (byte < 0x20 || byte == 0x7f)
            add_json_control(text, byte);
        else if (length == 3 && byte == 0xe2 && data[i + 1] == 0x80
                 && (data[i + 2] == 0xa8 || data[i + 2] == 0xa9))
            add_whole(text, data[i + 2] == 0xa8 ? GW_SLICE("\\u2028") : GW_SLICE("\\u2029"));
        else
            add_whole(text, (struct gw_slice){ more.data + i, length });
        i += length;
    }
    if (end < more.length)
        add_whole(text, GW_SLICE("\xe2\x80\xa6"));
}

void gw_text_add_visible(struct gw_text *text, struct gw_slice more, size_t limit)
{
    size_t end = more.length < limit ? more.length : limit;
    for (size_t i = 0; i < end; i++) {
        unsigned char byte = (unsigned char)more.data[i];
        char escape[4];
        if (byte > 0x20 && byte < 0x7f && byte != '%') {
            gw_text_add_char(text, (char)byte);
            continue;
        }
        int length = snprintf(escape, sizeof escape, "%%%02X", byte);
        add_whole(text, (struct gw_slice){ escape, (size_t)length });
    }
    if (end < more.length)
        add_whole(text, GW_SLICE("..."));
}
