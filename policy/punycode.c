/* policy/punycode.c */
#include "policy/punycode.h"

#include <stdint.h>

#include "base/text.h"

#define LABEL_MAX 63 /* RFC 1035 2.3.4 */

/* The next code point, or -1 when the bytes are not UTF-8 (Unicode table 3-7). */
static int32_t next_code_point(struct gw_slice text, size_t *at)
{
    static const int32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char first = (unsigned char)text.data[(*at)++];
    if (first < 0x80)
        return first;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length - 1 > text.length - *at)
        return -1;
    int32_t point = first & (0xff >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char byte = (unsigned char)text.data[(*at)++];
        if ((byte & 0xc0) != 0x80)
            return -1;
        point = point << 6 | (byte & 0x3f);
    }
    if (point < lowest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return -1;
    return point;
}

static int32_t lower(int32_t point)
{
    if (point >= 0xff01 && point <= 0xff5e) /* full-width forms of ASCII */
        point -= 0xfee0;
    if ((point >= 'A' && point <= 'Z') || (point >= 0xc0 && point <= 0xde && point != 0xd7)
        || (point >= 0x391 && point <= 0x3a9) || (point >= 0x410 && point <= 0x42f))
        return point + 32;
    if (point >= 0x400 && point <= 0x40f)
        return point + 80;
    if ((point >= 0x139 && point <= 0x148) || (point >= 0x179 && point <= 0x17e))
        return point % 2 == 1 ? point + 1 : point;
    if ((point >= 0x100 && point <= 0x137 && point != 0x130) || (point >= 0x14a && point <= 0x177)
        || (point >= 0x460 && point <= 0x481))
        return point | 1;
    return point;
}

static bool is_dot(int32_t point)
{
    return point == '.' || point == 0x3002 || point == 0xff0e || point == 0xff61;
}

/* RFC 3492 5: the parameters of IDNA. */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_N = 128 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
    uint32_t k = 0;
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / points;
    for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
        delta /= BASE - T_MIN;
    return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static void add_integer(uint32_t number, uint32_t bias, struct gw_text *out)
{
    for (uint32_t k = BASE;; k += BASE) {
        uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
        uint32_t digit = number < t ? number : t + (number - t) % (BASE - t);
        gw_text_add_char(out, (char)(digit < 26 ? 'a' + digit : '0' + (digit - 26)));
        if (number < t)
            return;
        number = (number - t) / (BASE - t);
    }
}

/* RFC 3492 6.3. No overflow: 63 code points below 0x110000 keep delta below 2^27. */
static void encode_label(const int32_t *points, uint32_t count, struct gw_text *out)
{
    uint32_t n = FIRST_N, delta = 0, bias = FIRST_BIAS, basic = 0;
    for (uint32_t i = 0; i < count; i++)
        basic += points[i] < FIRST_N;
    if (basic < count)
        gw_text_add_string(out, "xn--");
    for (uint32_t i = 0; i < count; i++)
        if (points[i] < FIRST_N)
            gw_text_add_char(out, (char)points[i]);
    if (basic > 0 && basic < count)
        gw_text_add_char(out, '-');
    for (uint32_t done = basic; done < count;) {
        uint32_t next = UINT32_MAX;
        for (uint32_t i = 0; i < count; i++)
            if ((uint32_t)points[i] >= n && (uint32_t)points[i] < next)
                next = (uint32_t)points[i];
        delta += (next - n) * (done + 1);
        n = next;
        for (uint32_t i = 0; i < count; i++) {
            delta += (uint32_t)points[i] < n;
            if ((uint32_t)points[i] != n)
                continue;
            add_integer(delta, bias, out);
            bias = adapt(delta, done + 1, done == basic);
            delta = 0;
            done++;
        }
        delta++;
        n++;
    }
}

bool gw_punycode_name(struct gw_slice text, char *out, size_t room)
{
    struct gw_text name;
    int32_t label[LABEL_MAX];
    uint32_t length = 0;
    gw_text_init(&name, out, room);
    for (size_t at = 0; at < text.length;) {
        int32_t point = next_code_point(text, &at);
        if (point < 0)
            return false;
        if (is_dot(point)) {
            encode_label(label, length, &name);
            gw_text_add_char(&name, '.');
            length = 0;
        } else if (length == LABEL_MAX) {
            return false;
        } else {
            label[length++] = lower(point);
        }
    }
    encode_label(label, length, &name);
    return !name.truncated;
}
