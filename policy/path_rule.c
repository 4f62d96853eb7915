/* policy/path_rule.c */
#include "policy/path_rule.h"

static struct gw_slice path_of(struct gw_slice path_and_query)
{
    const char *query =
        path_and_query.length == 0 ? NULL : memchr(path_and_query.data, '?', path_and_query.length);
    if (query != NULL)
        path_and_query.length = (size_t)(query - path_and_query.data);
    return path_and_query.length == 0 ? GW_SLICE("/") : path_and_query;
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = gw_lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static int hex_pair(struct gw_slice text, size_t at)
{
    if (at + 2 > text.length)
        return -1;
    int high = hex_digit(text.data[at]), low = hex_digit(text.data[at + 1]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

struct unit {
    int byte;     /* what it stands for; -1: a malformed escape */
    bool escaped; /* written as %XX */
};

/* One byte, decoded once. */
static struct unit decode_once(struct gw_slice path, size_t *at)
{
    struct unit unit = { .byte = (unsigned char)path.data[(*at)++] };
    if (unit.byte != '%')
        return unit;
    unit.escaped = true;
    unit.byte = hex_pair(path, *at);
    if (unit.byte >= 0)
        *at += 2;
    return unit;
}

/* The value of a unit as a hex digit; -1: it is none; -2: a percent sign, or no byte at all. Two
 * percent signs so close to each other can be nested without end (%25%32%65 is %2e is a dot), and
 * no honest path has them. */
static int digit_ahead(struct gw_slice path, size_t *at)
{
    if (*at == path.length)
        return -1;
    struct unit unit = decode_once(path, at);
    if (unit.byte < 0 || unit.byte == '%')
        return -2;
    return unit.byte < 0x80 ? hex_digit((char)unit.byte) : -1;
}

/* One byte of the path as the most eager reader would decode it: %252e is a dot for whoever decodes
 * twice, and "twice" has been seen often enough to count as a second reading. */
static struct unit next_unit(struct gw_slice path, size_t *at)
{
    struct unit unit = decode_once(path, at);
    while (unit.byte == '%') { /* an escaped one: a raw one is a malformed escape */
        size_t ahead = *at;
        int high = digit_ahead(path, &ahead);
        int low = high < 0 ? high : digit_ahead(path, &ahead);
        if (low == -2)
            unit.byte = -1;
        if (low < 0)
            break;
        unit.byte = high << 4 | low;
        *at = ahead;
    }
    return unit;
}

/* An overlong UTF-8 form of an ASCII byte (%c0%af is a slash to a lenient decoder). */
static bool is_overlong(int before, int byte)
{
    return byte == 0xc0 || byte == 0xc1 || (before == 0xe0 && byte >= 0x80 && byte < 0xa0)
           || (before == 0xf0 && byte >= 0x80 && byte < 0x90);
}

/* One segment while it is read: how much of it is dots and nothing else. */
struct segment {
    size_t length;
    size_t dots;
    bool parameters; /* behind a ';': some servers drop it before they look for dots */
    size_t name;     /* length without the parameters */
};

static void segment_add(struct segment *segment, int byte)
{
    segment->length++;
    segment->parameters |= byte == ';';
    if (segment->parameters)
        return;
    segment->name++;
    segment->dots += byte == '.';
}

static bool is_dot_segment(const struct segment *segment)
{
    return segment->name == segment->dots && (segment->dots == 1 || segment->dots == 2);
}

bool gw_path_is_ambiguous(struct gw_slice path_and_query, bool allow_encoded_slash)
{
    struct gw_slice path = path_of(path_and_query);
    struct segment segment = { 0 };
    int before = 0;
    if (path.data[0] != '/')
        return true;
    for (size_t at = 1; at < path.length;) {
        struct unit unit = next_unit(path, &at);
        if (unit.byte <= 0 || unit.byte == '\\' || is_overlong(before, unit.byte))
            return true; /* %00 too: a reader of C strings stops there */
        before = unit.byte;
        if (unit.byte != '/') {
            segment_add(&segment, unit.byte);
            continue;
        }
        if (unit.escaped && !allow_encoded_slash)
            return true;
        /* An encoded slash that is allowed may still not hide a dot segment or an empty one. */
        if (segment.length == 0 || is_dot_segment(&segment))
            return true;
        segment = (struct segment){ 0 };
    }
    return is_dot_segment(&segment);
}

bool gw_path_matches(struct gw_slice prefix, struct gw_slice path_and_query)
{
    struct gw_slice path = path_of(path_and_query);
    if (prefix.length == 0 || path.length < prefix.length
        || memcmp(path.data, prefix.data, prefix.length) != 0)
        return false;
    return path.length == prefix.length || prefix.data[prefix.length - 1] == '/'
           || path.data[prefix.length] == '/';
}
