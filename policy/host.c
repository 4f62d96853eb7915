/* policy/host.c */
#include "policy/host.h"

#include <string.h>

#include "base/text.h"

#define LABEL_MAX 63 /* RFC 1035 2.3.4 */

enum gw_reason gw_host_check_bytes(struct gw_slice text)
{
    bool userinfo = false;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x21 || byte > 0x7e)
            return GW_REASON_BAD_HOST;
        userinfo |= byte == '@';
    }
    return userinfo ? GW_REASON_USERINFO : GW_REASON_NONE;
}

/* RFC 3986 3.2.2: brackets hold an IPv6 address. Not a name, not IPv4, not IPvFuture: whoever
 * strips brackets later than we do would see another host. */
static enum gw_reason parse_bracketed(struct gw_slice text, struct gw_host *out)
{
    if (text.length < 2 || text.data[text.length - 1] != ']')
        return GW_REASON_BAD_HOST;
    struct gw_slice inside = { text.data + 1, text.length - 2 };
    struct gw_ip_address address;
    if (inside.length > 0 && memchr(inside.data, '%', inside.length) != NULL)
        return GW_REASON_ZONE_ID;
    if (!gw_ip_address_parse(inside, &address) || address.family != 6)
        return GW_REASON_BAD_HOST;
    gw_host_of_address(&address, out);
    return GW_REASON_NONE;
}

/* A resolver of the C library reads such a last label as (part of) an IPv4 address, and so does a
 * WHATWG URL parser, for which even a bare "0x" is the number 0. */
static bool looks_numeric(struct gw_slice label)
{
    size_t at = 0;
    bool hex = label.length >= 2 && label.data[0] == '0' && label.data[1] == 'x';
    for (at = hex ? 2 : 0; at < label.length; at++) {
        char byte = label.data[at];
        if (!(byte >= '0' && byte <= '9') && !(hex && byte >= 'a' && byte <= 'f'))
            return false;
    }
    return true;
}

static bool is_label_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-'
           || byte == '_';
}

static bool is_label(struct gw_slice label)
{
    if (label.length == 0 || label.length > LABEL_MAX || label.data[0] == '-'
        || label.data[label.length - 1] == '-')
        return false;
    for (size_t i = 0; i < label.length; i++)
        if (!is_label_byte(label.data[i]))
            return false;
    return true;
}

/* A lower-cased host without its root dot, label by label, from the last to the first: it is the
 * last one that tells a name from an address. `address` is whole for class V4. */
static enum gw_reason classify(struct gw_slice text, enum gw_host_class *class,
                               struct gw_ip_address *address)
{
    bool last = true;
    for (size_t end = text.length;;) {
        size_t start = end;
        while (start > 0 && text.data[start - 1] != '.')
            start--;
        struct gw_slice label = { text.data + start, end - start };
        if (last && label.length > 0 && looks_numeric(label)) {
            *class = GW_HOST_V4;
            return gw_ip_address_parse(text, address) ? GW_REASON_NONE : GW_REASON_NUMERIC_HOST;
        }
        if (!is_label(label))
            return GW_REASON_BAD_HOST;
        last = false;
        if (start == 0)
            break;
        end = start - 1;
    }
    *class = GW_HOST_NAME;
    return GW_REASON_NONE;
}

enum gw_reason gw_host_parse(struct gw_slice text, struct gw_host *out)
{
    /* One root dot may follow the 253 bytes of a name. */
    if (text.length == 0 || text.length > GW_HOST_TEXT_MAX)
        return GW_REASON_BAD_HOST;
    enum gw_reason reason = gw_host_check_bytes(text);
    if (reason != GW_REASON_NONE)
        return reason;
    if (text.data[0] == '[')
        return parse_bracketed(text, out);
    if (text.data[text.length - 1] == '.') /* the root dot; another one is an empty label */
        text.length--;
    if (text.length == 0 || text.length >= GW_HOST_TEXT_MAX)
        return GW_REASON_BAD_HOST;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < text.length; i++) {
        /* An escape is never decoded, and a colon is a port's or an unbracketed IPv6 address's:
         * neither is told as a number that is written oddly. */
        if (text.data[i] == '%' || text.data[i] == ':')
            return GW_REASON_BAD_HOST;
        out->text[i] = gw_lower(text.data[i]);
    }
    out->length = (uint8_t)text.length;
    return classify(gw_host_slice(out), &out->class, &out->address);
}

bool gw_host_is_canonical(struct gw_slice text, enum gw_host_class *class)
{
    struct gw_ip_address address;
    struct gw_host host;
    if (text.length == 0 || text.length >= GW_HOST_TEXT_MAX)
        return false;
    if (memchr(text.data, ':', text.length) == NULL)
        return classify(text, class, &address) == GW_REASON_NONE;
    if (!gw_ip_address_parse(text, &address))
        return false;
    gw_host_of_address(&address, &host);
    *class = host.class;
    return gw_slice_equal(gw_host_slice(&host), text);
}

void gw_host_of_address(const struct gw_ip_address *address, struct gw_host *out)
{
    struct gw_ip_address reached = gw_ip_address_unmap(address);
    memset(out, 0, sizeof *out);
    out->address = reached;
    out->class = reached.family == 4 ? GW_HOST_V4 : GW_HOST_V6;
    out->length = (uint8_t)gw_ip_address_print(&reached, out->text, sizeof out->text);
}

bool gw_host_equal(const struct gw_host *a, const struct gw_host *b)
{
    return a->class == b->class && gw_slice_equal(gw_host_slice(a), gw_host_slice(b));
}

bool gw_host_is_localhost(const struct gw_host *host)
{
    static const char name[] = "localhost";
    size_t length = sizeof name - 1;
    if (host->class != GW_HOST_NAME || host->length < length)
        return false;
    size_t before = host->length - length;
    return memcmp(host->text + before, name, length) == 0
           && (before == 0 || host->text[before - 1] == '.');
}

size_t gw_host_print(const struct gw_host *host, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    if (host->class == GW_HOST_V6)
        gw_text_add_char(&text, '[');
    gw_text_add(&text, gw_host_slice(host));
    if (host->class == GW_HOST_V6)
        gw_text_add_char(&text, ']');
    return text.length;
}
