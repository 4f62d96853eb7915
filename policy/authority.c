/* policy/authority.c */
#include "policy/authority.h"

#include "base/number.h"
#include "base/text.h"

/* `text` is what follows the host: nothing, or ':' and a number. */
static enum gw_reason parse_port(struct gw_slice text, enum gw_port_rule rule, uint16_t *out)
{
    uint64_t port;
    *out = 0;
    if (text.length == 0)
        return rule == GW_PORT_REQUIRED ? GW_REASON_BAD_PORT : GW_REASON_NONE;
    if (text.data[0] != ':')
        return GW_REASON_BAD_PORT;
    struct gw_slice digits = { text.data + 1, text.length - 1 };
    if (digits.length == 0 && rule == GW_PORT_EMPTY_OK)
        return GW_REASON_NONE;
    if (!gw_number_parse(digits, 1, UINT16_MAX, &port))
        return GW_REASON_BAD_PORT;
    *out = (uint16_t)port;
    return GW_REASON_NONE;
}

enum gw_reason gw_authority_parse(struct gw_slice text, enum gw_port_rule rule,
                                  struct gw_authority *out)
{
    /* First of all: a blank around the port is a malformed text, not a port out of range. */
    enum gw_reason reason = gw_host_check_bytes(text);
    if (reason != GW_REASON_NONE)
        return reason;
    size_t host_length = text.length;
    const char *found;
    if (text.length > 0 && text.data[0] == '[') {
        found = memchr(text.data, ']', text.length);
        if (found == NULL)
            return GW_REASON_BAD_HOST;
        /* "[[name]]" is one broken host, not a host with something behind it. */
        while (found + 1 < text.data + text.length && found[1] == ']')
            found++;
        host_length = (size_t)(found - text.data) + 1;
    } else if (text.length > 0 && (found = memchr(text.data, ':', text.length)) != NULL) {
        host_length = (size_t)(found - text.data);
        if (memchr(found + 1, ':', text.length - host_length - 1) != NULL)
            return GW_REASON_BAD_HOST;
    }
    reason = gw_host_parse((struct gw_slice){ text.data, host_length }, &out->host);
    if (reason != GW_REASON_NONE)
        return reason;
    struct gw_slice rest = { text.data + host_length, text.length - host_length };
    return parse_port(rest, rule, &out->port);
}

size_t gw_authority_print(const struct gw_authority *authority, char *out, size_t room)
{
    struct gw_text text;
    char host[GW_HOST_TEXT_MAX + 2];
    size_t length = gw_host_print(&authority->host, host, sizeof host);
    gw_text_init(&text, out, room);
    gw_text_add(&text, (struct gw_slice){ host, length });
    if (authority->port != 0) {
        gw_text_add_char(&text, ':');
        gw_text_add_number(&text, authority->port);
    }
    return text.length;
}

bool gw_authority_equal(const struct gw_authority *a, const struct gw_authority *b)
{
    return a->port == b->port && gw_host_equal(&a->host, &b->host);
}
