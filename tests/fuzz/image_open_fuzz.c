/* tests/fuzz/image_open_fuzz.c - a policy image with changed bytes is refused, or every lookup in
 * it stays inside. The first byte chooses: the rest is an image, or changes to a good one. */
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/macros.h"
#include "policy/decision.h"
#include "policy/dialable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const hosts[] = {
    "api.acme.test",     "x.pkgs.acme.test", "pkgs.acme.test",
    "db.acme.test:5432", "203.0.113.9:80",   "[2001:db8::1]",
    "absent.test",       "localhost",        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.acme.test"
};

static void must(bool done)
{
    gw_check(done);
}

static void add_readable(struct gw_image_builder *b, struct gw_error *err)
{
    static const char *const methods[] = { "GET", "POST" }, *const paths[] = { "/v1", "/a%2fb" };
    const struct gw_rule_source rule = { methods, 2, paths, 2, true };
    const struct gw_credential_source credential = { "token", "authorization", false };
    must(gw_image_builder_rule(b, GW_SLICE("api.acme.test"), &rule, err));
    must(gw_image_builder_credential(b, GW_SLICE(".pkgs.acme.test"), &credential, err));
}

static void *make_image(size_t *length)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image_builder *b = gw_image_builder_new(GW_POLICY_STATIC);
    const struct gw_cidr range = { { 4, { 10 } }, 8 };
    static const char *const entries[] = { "api.acme.test",     ".pkgs.acme.test",
                                           "db.acme.test:5432", "203.0.113.9",
                                           "[2001:db8::1]:443", ".acme.test:8443",
                                           "localhost" };
    void *bytes;
    must(b != NULL);
    for (size_t i = 0; i < GW_COUNT(entries); i++)
        must(gw_image_builder_allow(b, gw_slice_of(entries[i]), GW_SNI_DEFAULT, &err));
    must(gw_image_builder_inward(b, GW_SLICE(".acme.test"), &range, 1, &err));
    must(gw_image_builder_inward(b, GW_SLICE("api.acme.test"), NULL, 0, &err));
    must(gw_image_builder_plaintext(b, GW_SLICE("db.acme.test"), &err));
    must(gw_image_builder_upstream_tls(b, GW_SLICE("api.acme.test"), "ca", &err));
    must(gw_image_builder_deny_cidr(b, &range, &err));
    add_readable(b, &err);
    must(gw_image_builder_finish(b, &bytes, length, &err));
    gw_image_builder_free(b);
    return bytes;
}

static void look_up(const struct gw_image *image, const char *host, int kind)
{
    struct gw_ask ask = { .kind = kind & 1 ? GW_ASK_TUNNEL : GW_ASK_REQUEST,
                          .https = kind & 2,
                          .method = GW_SLICE("GET"),
                          .path_and_query = GW_SLICE("/v1/x") };
    const struct gw_ip_address answer[] = { { 4, { 10, 1, 2, 3 } }, { 6, { 0x26, 0x06 } } };
    struct gw_verdict verdict;
    gw_check(gw_authority_parse(gw_slice_of(host), GW_PORT_OPTIONAL, &ask.authority)
             == GW_REASON_NONE);
    if (ask.authority.port == 0)
        ask.authority.port = 443;
    gw_decide(image, NULL, &ask, NULL, &verdict);
    gw_check(verdict.credential_count <= GW_VERDICT_CREDENTIALS_MAX);
    for (uint32_t i = 0; i < verdict.credential_count; i++)
        gw_check(gw_image_credential(image, verdict.credentials[i]).name.length > 0);
    gw_check(verdict.ca < 0 || gw_image_ca(image, (size_t)verdict.ca).length > 0);
    (void)gw_dialable_set_make(image, NULL, &ask.authority.host, 443, answer, GW_COUNT(answer),
                               NULL, NULL, NULL);
}

/* `bytes` is of the exact size, on the heap: the sanitizer sees one byte too far. */
static void open_and_look(const unsigned char *bytes, size_t length)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_image image;
    if (!gw_image_open(bytes, length, &image, &err)) {
        gw_check(err.code == GW_ERR_CORRUPT);
        return;
    }
    for (size_t i = 0; i < GW_COUNT(hosts); i++)
        for (int kind = 0; kind < 4; kind++)
            look_up(&image, hosts[i], kind);
}

/* Each change: two bytes where, one byte how, one byte what. */
static size_t apply_changes(unsigned char *bytes, size_t length, const uint8_t *data, size_t size)
{
    for (; size >= 4; data += 4, size -= 4) {
        size_t at = ((size_t)data[0] << 8 | data[1]) % length;
        switch (data[2] % 4) {
        case 0:
            bytes[at] ^= data[3];
            break;
        case 1:
            bytes[at] = data[3];
            break;
        case 2:
            bytes[at] = (unsigned char)(bytes[at] + 1);
            break;
        default: /* the same number as somewhere else */
            for (size_t i = 0; i < 4 && at + i < length; i++)
                bytes[at + i] = bytes[((size_t)data[3] * 4 + i) % length];
        }
    }
    return size > 0 ? length - data[0] % 8 : length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t length = size - 1;
    unsigned char *bytes;
    if (data[0] & 1) {
        bytes = malloc(length == 0 ? 1 : length);
        gw_check(bytes != NULL);
        memcpy(bytes, data + 1, length);
    } else {
        void *good = make_image(&length);
        length = apply_changes(good, length, data + 1, size - 1);
        bytes = realloc(good, length);
        gw_check(bytes != NULL);
    }
    open_and_look(bytes, length);
    free(bytes);
    return 0;
}
