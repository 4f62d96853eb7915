#include "json_check.h"

#include <stdio.h>

struct cursor {
    const unsigned char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && memchr(" \t\r\n", *cursor->at, 4) != NULL)
        cursor->at++;
}

static bool take(struct cursor *cursor, char byte)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != (unsigned char)byte)
        return false;
    cursor->at++;
    return true;
}

static bool is_hex(unsigned char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f')
           || (byte >= 'A' && byte <= 'F');
}

/* Unicode table 3-7 */
static bool take_character(struct cursor *cursor)
{
    const unsigned char *at = cursor->at;
    size_t left = (size_t)(cursor->end - at), length = at[0] < 0x80   ? 1
                                                       : at[0] < 0xc2 ? 0
                                                       : at[0] < 0xe0 ? 2
                                                       : at[0] < 0xf0 ? 3
                                                       : at[0] < 0xf5 ? 4
                                                                      : 0;
    if (at[0] < 0x20 || length == 0 || length > left)
        return false;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return false;
    cursor->at += length;
    return !(at[0] == 0xe0 && at[1] < 0xa0) && !(at[0] == 0xed && at[1] > 0x9f)
           && !(at[0] == 0xf0 && at[1] < 0x90) && !(at[0] == 0xf4 && at[1] > 0x8f);
}

static bool take_string(struct cursor *cursor)
{
    if (!take(cursor, '"'))
        return false;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        if (*cursor->at != '\\') {
            if (!take_character(cursor))
                return false;
            continue;
        }
        if (++cursor->at == cursor->end)
            return false;
        unsigned char escape = *cursor->at++;
        if (escape != 'u') {
            if (memchr("\"\\/bfnrt", escape, 8) == NULL)
                return false;
            continue;
        }
        for (unsigned i = 0; i < 4; i++, cursor->at++)
            if (cursor->at == cursor->end || !is_hex(*cursor->at))
                return false;
    }
    return take(cursor, '"');
}

static bool take_number(struct cursor *cursor)
{
    const unsigned char *start = cursor->at;
    if (cursor->at < cursor->end && *cursor->at == '-')
        cursor->at++;
    const unsigned char *digits = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9')
        cursor->at++;
    if (cursor->at == digits || (*digits == '0' && cursor->at != digits + 1))
        return false;
    if (cursor->at < cursor->end && *cursor->at == '.') {
        const unsigned char *fraction = ++cursor->at;
        while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9')
            cursor->at++;
        if (cursor->at == fraction)
            return false;
    }
    return cursor->at != start; /* we write no exponents */
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool take_value(struct cursor *cursor, unsigned depth)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || depth > 8)
        return false;
    if (*cursor->at == '"')
        return take_string(cursor);
    bool object = *cursor->at == '{';
    if (!object && *cursor->at != '[')
        return take_word(cursor, "true") || take_word(cursor, "false") || take_word(cursor, "null")
               || take_number(cursor);
    cursor->at++;
    char close = object ? '}' : ']';
    if (take(cursor, close))
        return true;
    do {
        if (object && (!take_string(cursor) || !take(cursor, ':')))
            return false;
        if (!take_value(cursor, depth + 1))
            return false;
    } while (take(cursor, ','));
    return take(cursor, close);
}

bool json_is_valid(struct gw_slice text)
{
    struct cursor cursor = { (const unsigned char *)text.data,
                             (const unsigned char *)text.data + text.length };
    if (!take_value(&cursor, 0))
        return false;
    skip_blanks(&cursor);
    return cursor.at == cursor.end;
}

struct gw_slice json_string(struct gw_slice text, const char *key)
{
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *found = memmem(text.data, text.length, quoted, (size_t)length);
    if (found == NULL)
        return (struct gw_slice){ NULL, 0 };
    const char *start = found + length, *end = start;
    while (*end != '"')
        end += *end == '\\' ? 2 : 1;
    return (struct gw_slice){ start, (size_t)(end - start) };
}
