/* tests/fuzz/path_rule_fuzz.c - a path that is not ambiguous stays what it is however eagerly it is
 * decoded and normalised, so that no origin can see one that the rules did not judge. */
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "policy/path_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int hex(char byte)
{
    const char *digits = "0123456789abcdef", *found = strchr(digits, gw_lower(byte));
    return byte == '\0' || found == NULL ? -1 : (int)(found - digits);
}

/* Decodes every escape in place, once; returns the new length. */
static size_t decode(char *text, size_t length)
{
    size_t to = 0;
    for (size_t from = 0; from < length; from++) {
        int high = -1, low = -1;
        if (text[from] == '%' && from + 2 < length) {
            high = hex(text[from + 1]);
            low = hex(text[from + 2]);
        }
        text[to++] = high >= 0 && low >= 0 ? (char)(high << 4 | low) : text[from];
        if (high >= 0 && low >= 0)
            from += 2;
    }
    return to;
}

static bool is_separator(char byte)
{
    return byte == '/' || byte == '\\';
}

/* Is there a "." or ".." between separators, with or without parameters? */
static bool has_dots(const char *text, size_t length)
{
    for (size_t start = 0; start < length;) {
        size_t end = start, name;
        while (end < length && !is_separator(text[end]))
            end++;
        for (name = start; name < end && text[name] != ';';)
            name++;
        if ((name - start == 1 && text[start] == '.')
            || (name - start == 2 && text[start] == '.' && text[start + 1] == '.'))
            return true;
        start = end + 1;
    }
    return false;
}

static void check_decoded(struct gw_slice path, bool allow_slash)
{
    char *text = malloc(path.length + 1);
    size_t length = path.length, slashes = 0;
    gw_check(text != NULL);
    memcpy(text, path.data, path.length);
    for (size_t i = 0; i < length; i++)
        slashes += is_separator(text[i]);
    for (int round = 0; round < 4; round++) {
        size_t now = 0;
        gw_check(!has_dots(text, length));
        for (size_t i = 0; i < length; i++)
            now += is_separator(text[i]);
        gw_check(allow_slash || now == slashes);
        length = decode(text, length);
    }
    free(text);
}

static void check_prefix(struct gw_slice prefix, struct gw_slice path)
{
    if (!gw_path_matches(prefix, path))
        return;
    gw_check(prefix.length > 0);
    gw_check(path.length < prefix.length || memcmp(prefix.data, path.data, prefix.length) == 0);
    gw_check(gw_path_matches(GW_SLICE("/"), path)
             == (path.length == 0 || path.data[0] == '/' || path.data[0] == '?'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_slice text = { (const char *)data, size };
    const char *query = size == 0 ? NULL : memchr(text.data, '?', size);
    struct gw_slice path = { text.data, query == NULL ? size : (size_t)(query - text.data) };
    bool strict = gw_path_is_ambiguous(text, false), lenient = gw_path_is_ambiguous(text, true);
    gw_check(strict || !lenient);
    gw_check(gw_path_is_ambiguous(path, false) == strict); /* the query is no part of it */
    if (path.length > 0 && !strict)
        check_decoded(path, false);
    if (path.length > 0 && !lenient)
        check_decoded(path, true);
    for (size_t cut = 0; cut <= path.length && cut < 64; cut++)
        check_prefix((struct gw_slice){ text.data, cut }, text);
    return 0;
}
