/* tests/unit/policy/fixture.h - short ways to the values that these tests are about. Each fails the
 * test at once when the text is not what it should be. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "policy/decision.h"
#include "policy/dialable.h"

GW_UNUSED static struct gw_ip_address address(const char *text)
{
    struct gw_ip_address result;
    if (!gw_ip_address_parse(gw_slice_of(text), &result))
        fail_msg("%s is no address", text);
    return result;
}

GW_UNUSED static struct gw_cidr range(const char *text)
{
    struct gw_cidr result;
    if (!gw_cidr_parse(gw_slice_of(text), &result))
        fail_msg("%s is no range", text);
    return result;
}

GW_UNUSED static struct gw_authority authority(const char *text)
{
    struct gw_authority result;
    if (gw_authority_parse(gw_slice_of(text), GW_PORT_OPTIONAL, &result) != GW_REASON_NONE)
        fail_msg("%s is no authority", text);
    return result;
}

/* A slice in a static table, which a compound literal cannot initialise. */
#define BYTES(literal)                  \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }

/* Calls of the builder in a test succeed, and say why if they do not. */
#define MUST(call)                               \
    do {                                         \
        struct gw_error err = GW_ERROR_NONE;     \
        if (!(call))                             \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

#define ALLOW(builder, entry) \
    MUST(gw_image_builder_allow(builder, gw_slice_of(entry), GW_SNI_DEFAULT, &err))

/* A built and opened image. Frees the builder; `bytes` is free()d by the caller. */
struct built {
    void *bytes;
    size_t length;
    struct gw_image image;
};

GW_UNUSED static struct built build(struct gw_image_builder *builder)
{
    struct built built;
    MUST(gw_image_builder_finish(builder, &built.bytes, &built.length, &err));
    MUST(gw_image_open(built.bytes, built.length, &built.image, &err));
    gw_image_builder_free(builder);
    return built;
}
