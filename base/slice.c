/* base/slice.c */
#include "base/slice.h"

bool gw_slice_equal_nocase(struct gw_slice a, struct gw_slice b)
{
    if (a.length != b.length)
        return false;
    for (size_t i = 0; i < a.length; i++)
        if (gw_lower(a.data[i]) != gw_lower(b.data[i]))
            return false;
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct gw_slice gw_slice_trim(struct gw_slice text)
{
    while (text.length > 0 && is_blank(text.data[0])) {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.data[text.length - 1]))
        text.length--;
    return text;
}

bool gw_slice_next(struct gw_slice *rest, char separator, struct gw_slice *element)
{
    if (rest->data == NULL)
        return false;
    const char *found = rest->length == 0 ? NULL : memchr(rest->data, separator, rest->length);
    if (found == NULL) {
        *element = gw_slice_trim(*rest);
        *rest = (struct gw_slice){ NULL, 0 };
        return true;
    }
    size_t before = (size_t)(found - rest->data);
    *element = gw_slice_trim((struct gw_slice){ rest->data, before });
    rest->data += before + 1;
    rest->length -= before + 1;
    return true;
}
