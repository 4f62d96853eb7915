#include "gateway/config/scalars.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/text.h"
#include "gateway/config/near_miss.h"

void gw_read_text(struct gw_reader *reader, const struct gw_key *key,
                  const struct gw_yaml_node *node, void *into)
{
    char **out = into;
    if (!gw_reader_text(reader, key->name, node))
        return;
    free(*out);
    *out = gw_reader_copy(reader, node, node->text);
}

/* ---- paths ---------------------------------------------------------------------------------- */

bool gw_scalar_path(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node)
{
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, what, node))
        return false;
    for (size_t i = 0; i < node->length; i++)
        if ((unsigned char)node->text[i] < 0x20) {
            gw_complain(reader, node, "\"%s\": a control character in a path", what);
            return false;
        }
    if (node->text[0] != '/') {
        gw_complain(reader, node,
                    "\"%s\": expected a path that begins with \"/\", not \"%s\"; where a relative "
                    "one leads depends on who starts the gateway",
                    what, gw_reader_show(node, shown));
        return false;
    }
    return true;
}

void gw_read_path(struct gw_reader *reader, const struct gw_key *key,
                  const struct gw_yaml_node *node, void *into)
{
    char **out = into;
    if (!gw_scalar_path(reader, key->name, node))
        return;
    free(*out);
    *out = gw_reader_copy(reader, node, node->text);
}

/* ---- numbers and flags ---------------------------------------------------------------------- */

static bool is_word(const struct gw_word *words, const char *text, int *value)
{
    for (; words != NULL && words->text != NULL; words++)
        if (strcmp(words->text, text) == 0) {
            *value = words->value;
            return true;
        }
    return false;
}

bool gw_scalar_number(struct gw_reader *reader, const char *what, const struct gw_shape *shape,
                      const struct gw_yaml_node *node, uint64_t *out)
{
    char shown[GW_SHOWN];
    int value;
    if (node->kind == GW_YAML_TEXT && is_word(shape->words, node->text, &value)) {
        *out = (uint64_t)value;
        return true;
    }
    if (node->kind == GW_YAML_TEXT && node->plain
        && gw_number_parse(gw_yaml_tree_text(node), shape->min, shape->max, out))
        return true;
    const char *word = shape->words == NULL ? "" : shape->words->text;
    const char * or = shape->words == NULL ? "" : ", or ";
    if (node->kind != GW_YAML_TEXT || gw_yaml_tree_is_null(node))
        gw_complain(reader, node, "\"%s\": expected %s%sa whole number from %llu to %llu", what,
                    word, or, (unsigned long long)shape->min, (unsigned long long)shape->max);
    else
        gw_complain(reader, node,
                    "\"%s\": expected %s%sa whole number from %llu to %llu in decimal digits%s, "
                    "not \"%s\"",
                    what, word, or, (unsigned long long)shape->min, (unsigned long long)shape->max,
                    node->plain ? "" : " without quotes", gw_reader_show(node, shown));
    return false;
}

void gw_read_number32(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    uint64_t number;
    if (gw_scalar_number(reader, key->name, key->shape, node, &number))
        *(uint32_t *)into = (uint32_t)number;
}

void gw_read_number64(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    gw_scalar_number(reader, key->name, key->shape, node, into);
}

void gw_read_flag(struct gw_reader *reader, const struct gw_key *key,
                  const struct gw_yaml_node *node, void *into)
{
    bool plain = node->kind == GW_YAML_TEXT && node->plain;
    if (plain && strcmp(node->text, "true") == 0)
        *(bool *)into = true;
    else if (plain && strcmp(node->text, "false") == 0)
        *(bool *)into = false;
    else
        gw_complain(reader, node, "\"%s\": expected true or false", key->name);
}

/* ---- words ---------------------------------------------------------------------------------- */

bool gw_scalar_word(struct gw_reader *reader, const char *what, const struct gw_shape *shape,
                    const struct gw_yaml_node *node, int *out)
{
    int value;
    if (!gw_reader_text(reader, what, node))
        return false;
    if (is_word(shape->words, node->text, &value)) {
        if (value != GW_WORD_LATER) {
            *out = value;
            return true;
        }
        gw_complain(reader, node, "\"%s: %s\": not in this version", what, node->text);
        return false;
    }
    struct gw_near_miss miss;
    char list[160], shown[GW_SHOWN], hint[GW_NEAR_MISS_TEXT];
    struct gw_text text;
    gw_text_init(&text, list, sizeof list);
    gw_near_miss_init(&miss, gw_yaml_tree_text(node));
    for (const struct gw_word *word = shape->words; word->text != NULL; word++) {
        if (word->value == GW_WORD_LATER)
            continue;
        gw_text_addf(&text, "%s%s", text.length == 0 ? "" : ", ", word->text);
        gw_near_miss_offer(&miss, word->text);
    }
    gw_complain(reader, node, "\"%s\": \"%s\" is not one of %s%s", what,
                gw_reader_show(node, shown), list, gw_near_miss_print(&miss, hint));
    return false;
}

void gw_read_word(struct gw_reader *reader, const struct gw_key *key,
                  const struct gw_yaml_node *node, void *into)
{
    int value;
    if (gw_scalar_word(reader, key->name, key->shape, node, &value))
        memcpy(into, &value, sizeof value);
}

/* ---- addresses and hosts -------------------------------------------------------------------- */

bool gw_scalar_cidr(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                    struct gw_cidr *out)
{
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, what, node))
        return false;
    if (gw_cidr_parse(gw_yaml_tree_text(node), out))
        return true;
    gw_complain(reader, node,
                "\"%s\": \"%s\" is not an address range such as 10.0.0.0/8 or fd00::/8 (bits "
                "behind the prefix must be 0)",
                what, gw_reader_show(node, shown));
    return false;
}

bool gw_scalar_host(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                    struct gw_host_pattern *out)
{
    struct gw_error err = GW_ERROR_NONE;
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, what, node))
        return false;
    if (!gw_host_pattern_parse(gw_yaml_tree_text(node), out, &err)) {
        gw_complain(reader, node, "\"%s\": %s", what, err.text);
        return false;
    }
    if (out->port != 0) {
        gw_complain(reader, node, "\"%s\": \"%s\": a port has no meaning here; leave it out", what,
                    gw_reader_show(node, shown));
        return false;
    }
    return true;
}

/* Address and port apart; false if it is no IP address with a port or, where `port` has one,
 * without. */
static bool split_endpoint(struct gw_slice text, uint16_t port, struct gw_endpoint *out)
{
    struct gw_slice address = text, digits = { NULL, 0 };
    uint64_t number = port;
    if (text.length > 0 && text.data[0] == '[') {
        const char *end = memchr(text.data, ']', text.length);
        if (end == NULL)
            return false;
        size_t inside = (size_t)(end - text.data) - 1, left = text.length - inside - 2;
        address = (struct gw_slice){ text.data + 1, inside };
        if (memchr(address.data, ':', inside) == NULL || (left > 0 && end[1] != ':'))
            return false;
        if (left > 0)
            digits = (struct gw_slice){ end + 2, left - 1 };
    } else if (!gw_ip_address_parse(text, &out->address)) {
        const char *colon = memchr(text.data, ':', text.length);
        if (colon == NULL)
            return false;
        address.length = (size_t)(colon - text.data);
        digits = (struct gw_slice){ colon + 1, text.length - address.length - 1 };
    }
    if (digits.data != NULL && !gw_number_parse(digits, 1, UINT16_MAX, &number))
        return false;
    out->port = (uint16_t)number;
    return number != 0 && gw_ip_address_parse(address, &out->address);
}

bool gw_scalar_endpoint(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                        uint16_t port, struct gw_endpoint *out)
{
    struct gw_endpoint endpoint;
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, what, node))
        return false;
    if (!split_endpoint(gw_yaml_tree_text(node), port, &endpoint)) {
        gw_complain(reader, node,
                    "\"%s\": expected an IP address %sa port, such as 127.0.0.1:%u or "
                    "\"[::1]:%u\", not \"%s\"",
                    what, port == 0 ? "and " : "with or without ", port == 0 ? 3128 : port,
                    port == 0 ? 3128 : port, gw_reader_show(node, shown));
        return false;
    }
    endpoint.address = gw_ip_address_unmap(&endpoint.address);
    *out = endpoint;
    return true;
}
