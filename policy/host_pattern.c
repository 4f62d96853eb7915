/* policy/host_pattern.c */
#include "policy/host_pattern.h"

#include <stdio.h>

#include "base/text.h"
#include "policy/authority.h"
#include "policy/punycode.h"

#define SHOWN_MAX 120 /* bytes of an entry that an error repeats */

static bool read_pattern(struct gw_slice text, struct gw_host_pattern *out, enum gw_reason *why);

/* ---- telling a person what to write instead ---------------------------------------------- */

/* The entry as an error shows it: quoted, control bytes escaped, other letters left readable. */
struct shown {
    char text[SHOWN_MAX * 6 + 8];
};

static const char *show(struct gw_slice entry, struct shown *shown)
{
    struct gw_text text;
    gw_text_init(&text, shown->text, sizeof shown->text);
    gw_text_add_char(&text, '"');
    gw_text_add_json(&text, entry, SHOWN_MAX);
    gw_text_add_char(&text, '"');
    return shown->text;
}

/* Only what would be accepted is ever recommended. */
static bool is_acceptable(struct gw_slice text)
{
    struct gw_host_pattern pattern;
    enum gw_reason why;
    return read_pattern(text, &pattern, &why);
}

static bool find(struct gw_slice text, const char *what, size_t *at)
{
    size_t length = strlen(what);
    for (size_t i = 0; i + length <= text.length; i++)
        if (memcmp(text.data + i, what, length) == 0) {
            *at = i;
            return true;
        }
    return false;
}

static bool has_byte(struct gw_slice text, char byte)
{
    return text.length > 0 && memchr(text.data, byte, text.length) != NULL;
}

static bool is_ascii(struct gw_slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] >= 0x80)
            return false;
    return true;
}

/* What is left of an URL when scheme, user, path, query and fragment are taken away. */
static struct gw_slice authority_of(struct gw_slice text)
{
    size_t at;
    if (find(text, "://", &at)) {
        text.data += at + 3;
        text.length -= at + 3;
    }
    for (size_t i = 0; i < text.length; i++)
        if (memchr("/?#", text.data[i], 3) != NULL)
            text.length = i;
    for (size_t i = text.length; i > 0; i--)
        if (text.data[i - 1] == '@') {
            text.data += i;
            text.length -= i;
            break;
        }
    return text;
}

static void refuse_url(struct gw_slice entry, const char *shown, struct gw_error *err)
{
    struct gw_slice rest = authority_of(entry);
    size_t at;
    struct gw_cidr range;
    if (gw_cidr_parse(entry, &range))
        gw_error_set(err, GW_ERR_SYNTAX, "%s is a range of addresses, not a host", shown);
    else if (rest.length < entry.length && is_acceptable(rest))
        gw_error_set(err, GW_ERR_SYNTAX, "%s: an entry is a host, not a URL: write \"%.*s\"", shown,
                     (int)rest.length, rest.data);
    else
        gw_error_set(err, GW_ERR_SYNTAX, "%s: an entry has no %s", shown,
                     find(entry, "://", &at) ? "scheme"
                     : has_byte(entry, '@')  ? "user information"
                                             : "path");
}

static void refuse_star(struct gw_slice entry, const char *shown, struct gw_error *err)
{
    struct gw_slice behind = { entry.data + 1, entry.length - 1 };
    if (entry.length == 1)
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s is not a host; a policy of kind \"allow-all\" admits every one", shown);
    else if (entry.data[0] == '*' && behind.data[0] == '.' && is_acceptable(behind))
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s: there are no wildcards: write \"%.*s\", which covers the name itself and "
                     "every name below it",
                     shown, (int)behind.length, behind.data);
    else
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s: there are no wildcards: write \".example.com\" for a domain and every "
                     "name below it",
                     shown);
}

static void refuse_letters(struct gw_slice entry, const char *shown, struct gw_error *err)
{
    char name[GW_HOST_TEXT_MAX + 8];
    if (gw_punycode_name(entry, name, sizeof name) && is_acceptable(gw_slice_of(name)))
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s: clients send the ASCII form of such a name: write \"%s\"", shown, name);
    else
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s: a host is written in ASCII, internationalised names as xn-- labels",
                     shown);
}

static void refuse_suffix(struct gw_slice entry, const char *shown, struct gw_error *err)
{
    struct gw_slice behind = { entry.data + 1, entry.length - 1 };
    struct gw_host_pattern pattern;
    enum gw_reason why;
    if (entry.length == 1)
        gw_error_set(err, GW_ERR_SYNTAX, "%s: a lone dot names no host", shown);
    else if (!read_pattern(behind, &pattern, &why))
        gw_error_set(err, GW_ERR_SYNTAX, "%s: %s", shown,
                     why == GW_REASON_NUMERIC_HOST ? "an address has no suffixes"
                                                   : gw_reason_text(why));
    else if (pattern.host.class != GW_HOST_NAME)
        gw_error_set(err, GW_ERR_SYNTAX, "%s: an address has no names below it: write \"%.*s\"",
                     shown, (int)behind.length, behind.data);
    else
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s would cover a whole top-level domain; a suffix has at least two labels",
                     shown);
}

/* Why the entry was refused, and the remedy where one can be told. */
static void refuse(struct gw_slice entry, enum gw_reason why, struct gw_error *err)
{
    struct shown memory;
    const char *shown = show(entry, &memory);
    if (entry.length == 0)
        gw_error_set(err, GW_ERR_SYNTAX, "an empty entry names no host; take it out");
    else if (!is_ascii(entry))
        refuse_letters(entry, shown, err);
    else if (has_byte(entry, '/') || has_byte(entry, '@'))
        refuse_url(entry, shown, err);
    else if (has_byte(entry, '*'))
        refuse_star(entry, shown, err);
    else if (has_byte(entry, ' ') || has_byte(entry, '\t') || has_byte(entry, ','))
        gw_error_set(err, GW_ERR_SYNTAX, "%s: one entry is one host", shown);
    else if (why == GW_REASON_BAD_PORT)
        gw_error_set(err, GW_ERR_SYNTAX, "%s: %s", shown, gw_reason_text(why));
    else if (entry.data[0] == '.')
        refuse_suffix(entry, shown, err);
    else if (why == GW_REASON_NUMERIC_HOST)
        gw_error_set(err, GW_ERR_SYNTAX,
                     "%s: %s; an address has four decimal parts without leading zeros", shown,
                     gw_reason_text(why));
    else
        gw_error_set(err, GW_ERR_SYNTAX, "%s: %s", shown,
                     gw_reason_text(why == GW_REASON_NONE ? GW_REASON_BAD_HOST : why));
}

/* ---- the pattern itself ------------------------------------------------------------------ */

static bool has_two_labels(const struct gw_host *host)
{
    return memchr(host->text, '.', host->length) != NULL;
}

/* `why` is NONE when the text is a host, but not one that a pattern may name. */
static bool read_pattern(struct gw_slice text, struct gw_host_pattern *out, enum gw_reason *why)
{
    struct gw_authority authority;
    struct gw_ip_address bare;
    memset(out, 0, sizeof *out);
    *why = GW_REASON_NONE;
    /* Without brackets there is no telling a port from a last group, so there is no port. */
    if (gw_ip_address_parse(text, &bare) && bare.family == 6) {
        gw_host_of_address(&bare, &out->host);
        return true;
    }
    if (text.length > 0 && text.data[0] == '.') {
        out->suffix = true;
        text.data++;
        text.length--;
    }
    *why = gw_authority_parse(text, GW_PORT_OPTIONAL, &authority);
    if (*why != GW_REASON_NONE)
        return false;
    out->host = authority.host;
    out->port = authority.port;
    return !out->suffix || (out->host.class == GW_HOST_NAME && has_two_labels(&out->host));
}

bool gw_host_pattern_parse(struct gw_slice text, struct gw_host_pattern *out, struct gw_error *err)
{
    enum gw_reason why;
    text = gw_slice_trim(text);
    if (read_pattern(text, out, &why))
        return true;
    refuse(text, why, err);
    return false;
}

/* Is `name` the base, or a name below it? */
static bool is_at_or_below(const struct gw_host *name, const struct gw_host *base)
{
    if (name->class != GW_HOST_NAME || base->class != GW_HOST_NAME || name->length < base->length)
        return false;
    size_t before = name->length - base->length;
    return memcmp(name->text + before, base->text, base->length) == 0
           && (before == 0 || name->text[before - 1] == '.');
}

bool gw_host_pattern_matches(const struct gw_host_pattern *pattern, const struct gw_host *host)
{
    return pattern->suffix ? is_at_or_below(host, &pattern->host)
                           : gw_host_equal(host, &pattern->host);
}

bool gw_host_pattern_covers(const struct gw_host_pattern *wide,
                            const struct gw_host_pattern *narrow)
{
    if (wide->suffix)
        return is_at_or_below(&narrow->host, &wide->host);
    return !narrow->suffix && gw_host_equal(&wide->host, &narrow->host);
}

bool gw_host_pattern_overlaps(const struct gw_host_pattern *a, const struct gw_host_pattern *b)
{
    return gw_host_pattern_covers(a, b) || gw_host_pattern_covers(b, a);
}

size_t gw_host_pattern_print(const struct gw_host_pattern *pattern, char *out, size_t room)
{
    struct gw_authority authority = { .host = pattern->host, .port = pattern->port };
    char printed[GW_AUTHORITY_TEXT_MAX];
    struct gw_text text;
    size_t length = gw_authority_print(&authority, printed, sizeof printed);
    gw_text_init(&text, out, room);
    if (pattern->suffix)
        gw_text_add_char(&text, '.');
    gw_text_add(&text, (struct gw_slice){ printed, length });
    return text.length;
}
