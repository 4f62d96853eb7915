/* base/number.c */
#include "base/number.h"

bool gw_number_parse_digits(struct gw_slice text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (text.length == 0)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.data[i];
        if (byte < '0' || byte > '9')
            return false;
        unsigned digit = (unsigned)(byte - '0');
        if (value > (max - digit) / 10 || digit > max)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool gw_number_parse(struct gw_slice text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value;
    if (text.length > 1 && text.data[0] == '0')
        return false;
    if (!gw_number_parse_digits(text, max, &value) || value < min)
        return false;
    *out = value;
    return true;
}
