#include "tests/support/policy_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/number.h"
#include "tests/support/table.h"

#define LIST_MAX 16

static _Noreturn void mistake(const char *what, struct gw_slice text)
{
    fail_msg("%s: \"%.*s\"", what, (int)text.length, text.data);
    abort(); /* fail_msg() does not return; not every cmocka says so */
}

/* A copy of a part as a string; borrowed until the pool is reused. */
struct pool {
    char bytes[2048];
    size_t used;
};

static const char *string_of(struct pool *pool, struct gw_slice part)
{
    if (part.length >= sizeof pool->bytes - pool->used)
        mistake("too long", part);
    char *copy = pool->bytes + pool->used;
    if (part.length > 0)
        memcpy(copy, part.data, part.length);
    copy[part.length] = '\0';
    pool->used += part.length + 1;
    return copy;
}

static size_t strings_of(struct pool *pool, struct gw_slice list, const char *out[LIST_MAX])
{
    size_t count = 0;
    struct gw_slice part;
    while (list.length > 0 && gw_table_split(&list, ',', &part)) {
        assert_true(count < LIST_MAX);
        out[count++] = string_of(pool, part);
    }
    return count;
}

static size_t ports_of(struct gw_slice list, uint16_t out[LIST_MAX])
{
    size_t count = 0;
    struct gw_slice part;
    while (list.length > 0 && gw_table_split(&list, ',', &part)) {
        uint64_t port = 0;
        assert_true(count < LIST_MAX);
        if (!gw_number_parse(part, 0, UINT16_MAX, &port))
            mistake("not a port", part);
        out[count++] = (uint16_t)port;
    }
    return count;
}

static enum gw_sni_mode sni_of(struct gw_slice text)
{
    if (gw_slice_equal(text, GW_SLICE("match")))
        return GW_SNI_MATCH;
    if (gw_slice_equal(text, GW_SLICE("log")))
        return GW_SNI_LOG;
    if (gw_slice_equal(text, GW_SLICE("off")))
        return GW_SNI_OFF;
    mistake("not an SNI mode", text);
}

static bool add_allow(struct gw_image_builder *builder, struct gw_slice part, struct gw_error *err)
{
    struct gw_slice entry;
    enum gw_sni_mode sni = GW_SNI_DEFAULT;
    (void)gw_table_split(&part, '~', &entry);
    if (part.data != NULL)
        sni = sni_of(part);
    return gw_image_builder_allow(builder, entry, sni, err);
}

static bool add_plaintext(struct gw_image_builder *builder, struct gw_slice part,
                          struct gw_error *err)
{
    return gw_image_builder_plaintext(builder, part, err);
}

static bool add_tls(struct gw_image_builder *builder, struct gw_slice part, struct gw_error *err)
{
    struct pool pool = { .used = 0 };
    struct gw_slice host;
    (void)gw_table_split(&part, '@', &host);
    return gw_image_builder_upstream_tls(builder, host, string_of(&pool, part), err);
}

static bool add_inward(struct gw_image_builder *builder, struct gw_slice part, struct gw_error *err)
{
    struct gw_cidr cidrs[LIST_MAX];
    struct gw_slice host, text;
    size_t count = 0;
    (void)gw_table_split(&part, '@', &host);
    while (gw_table_split(&part, '+', &text)) {
        assert_true(count < LIST_MAX);
        if (!gw_cidr_parse(text, &cidrs[count++]))
            mistake("not a range", text);
    }
    return gw_image_builder_inward(builder, host, cidrs, count, err);
}

static bool add_deny(struct gw_image_builder *builder, struct gw_slice part, struct gw_error *err)
{
    struct gw_cidr cidr;
    if (!gw_cidr_parse(part, &cidr))
        mistake("not a range", part);
    return gw_image_builder_deny_cidr(builder, &cidr, err);
}

static bool add_credential(struct gw_image_builder *builder, struct gw_slice part,
                           struct gw_error *err)
{
    struct pool pool = { .used = 0 };
    struct gw_slice name, host, header, plaintext = { NULL, 0 };
    if (!gw_table_split(&part, '@', &name) || !gw_table_split(&part, '@', &host)
        || !gw_table_split(&part, '@', &header))
        mistake("not a credential", part);
    (void)gw_table_split(&part, '@', &plaintext);
    const struct gw_credential_source source = {
        .name = string_of(&pool, name),
        .header = string_of(&pool, header),
        .allow_plaintext = gw_slice_equal(plaintext, GW_SLICE("plaintext")),
    };
    return gw_image_builder_credential(builder, host, &source, err);
}

static bool add_rule(struct gw_image_builder *builder, struct gw_slice text, struct gw_error *err)
{
    struct pool pool = { .used = 0 };
    const char *methods[LIST_MAX], *paths[LIST_MAX];
    struct gw_slice host, part, encoded = { NULL, 0 };
    struct gw_rule_source rule = { .methods = methods, .paths = paths };
    (void)gw_table_split(&text, '|', &host);
    if (!gw_table_split(&text, '|', &part))
        mistake("not a rule", host);
    rule.method_count = strings_of(&pool, part, methods);
    if (!gw_table_split(&text, '|', &part))
        mistake("not a rule", host);
    rule.path_count = strings_of(&pool, part, paths);
    (void)gw_table_split(&text, '|', &encoded);
    rule.allow_encoded_slash = gw_slice_equal(encoded, GW_SLICE("encoded"));
    return gw_image_builder_rule(builder, host, &rule, err);
}

/* Keys whose value is a list of items of the same sort. */
static const struct {
    const char *key;
    bool (*add)(struct gw_image_builder *, struct gw_slice, struct gw_error *);
} list_keys[] = {
    { "allow", add_allow },   { "plaintext", add_plaintext }, { "tls", add_tls },
    { "inward", add_inward }, { "deny", add_deny },           { "cred", add_credential },
};

static bool add_item(struct gw_image_builder *builder, struct gw_slice key, struct gw_slice value,
                     struct gw_error *err)
{
    uint16_t ports[LIST_MAX];
    if (gw_slice_equal(key, GW_SLICE("kind")))
        return true; /* was looked at before the builder was made */
    if (gw_slice_equal(key, GW_SLICE("ports")))
        return gw_image_builder_ports(builder, ports, ports_of(value, ports), err);
    if (gw_slice_equal(key, GW_SLICE("plain_ports")))
        return gw_image_builder_plain_ports(builder, ports, ports_of(value, ports), err);
    if (gw_slice_equal(key, GW_SLICE("rule")))
        return add_rule(builder, value, err);
    if (gw_slice_equal(key, GW_SLICE("sni"))) {
        gw_image_builder_sni(builder, sni_of(value));
        return true;
    }
    for (size_t i = 0; i < GW_COUNT(list_keys); i++) {
        if (!gw_slice_equal(key, gw_slice_of(list_keys[i].key)))
            continue;
        struct gw_slice part;
        while (gw_table_split(&value, ',', &part))
            if (!list_keys[i].add(builder, part, err))
                return false;
        return true;
    }
    mistake("unknown key", key);
}

static enum gw_policy_kind kind_of(struct gw_slice text)
{
    struct gw_slice first;
    (void)gw_table_split(&text, ';', &first);
    if (gw_slice_equal(first, GW_SLICE("kind=allow-all")))
        return GW_POLICY_ALLOW_ALL;
    if (gw_slice_equal(first, GW_SLICE("kind=deny-all")))
        return GW_POLICY_DENY_ALL;
    return GW_POLICY_STATIC;
}

bool gw_policy_text_build(struct gw_slice text, void **bytes, struct gw_image *image,
                          struct gw_error *err)
{
    struct gw_image_builder *builder = gw_image_builder_new(kind_of(text));
    struct gw_slice item, key;
    size_t length = 0;
    bool good = true;
    assert_non_null(builder);
    *bytes = NULL;
    while (good && text.length > 0 && gw_table_split(&text, ';', &item)) {
        (void)gw_table_split(&item, '=', &key);
        if (item.data == NULL)
            mistake("an item has a key and a value", key);
        good = add_item(builder, key, item, err);
    }
    good = good && gw_image_builder_finish(builder, bytes, &length, err);
    gw_image_builder_free(builder);
    if (good && !gw_image_open(*bytes, length, image, err))
        fail_msg("the builder made an image that cannot be opened: %s", err->text);
    return good;
}

static struct gw_ip_address address_of(struct gw_slice text)
{
    struct gw_ip_address address;
    if (!gw_ip_address_parse(text, &address))
        mistake("not an address", text);
    return address;
}

static struct gw_own_listener listener_of(struct gw_slice text)
{
    struct gw_own_listener listener = { .wildcard = false };
    size_t colon = text.length;
    uint64_t port = 0;
    while (colon > 0 && text.data[colon - 1] != ':')
        colon--;
    if (colon == 0
        || !gw_number_parse((struct gw_slice){ text.data + colon, text.length - colon }, 1,
                            UINT16_MAX, &port))
        mistake("not a listener", text);
    struct gw_slice host = { text.data, colon - 1 };
    listener.port = (uint16_t)port;
    listener.wildcard = gw_slice_equal(host, GW_SLICE("*"));
    if (listener.wildcard)
        host = GW_SLICE("0.0.0.0");
    else if (host.length > 2 && host.data[0] == '[')
        host = (struct gw_slice){ host.data + 1, host.length - 2 };
    listener.address = address_of(host);
    return listener;
}

void gw_own_text_parse(struct gw_slice text, struct gw_own_text *out)
{
    struct gw_slice item, key, part;
    memset(out, 0, sizeof *out);
    out->own.addresses = out->addresses;
    out->own.listeners = out->listeners;
    if (gw_slice_equal(text, GW_SLICE("-")))
        return;
    while (gw_table_split(&text, ';', &item)) {
        (void)gw_table_split(&item, '=', &key);
        bool is_address = gw_slice_equal(key, GW_SLICE("addr"));
        if (!is_address && !gw_slice_equal(key, GW_SLICE("listen")))
            mistake("unknown key", key);
        while (gw_table_split(&item, ',', &part)) {
            size_t *count = is_address ? &out->own.address_count : &out->own.listener_count;
            assert_true(*count < GW_OWN_TEXT_MAX);
            if (is_address)
                out->addresses[(*count)++] = address_of(part);
            else
                out->listeners[(*count)++] = listener_of(part);
        }
    }
}
