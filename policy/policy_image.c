/* policy/policy_image.c - what an opened image tells about itself. */
#include "policy/policy_image.h"

#include "policy/image_lookup.h"

enum gw_policy_kind gw_image_kind(const struct gw_image *image)
{
    return (enum gw_policy_kind)gw_image_head(image)->kind;
}

size_t gw_image_host_count(const struct gw_image *image)
{
    return gw_image_head(image)->host_count;
}

size_t gw_image_credential_count(const struct gw_image *image)
{
    size_t count;
    (void)gw_image_section(image, GW_IMAGE_CREDENTIALS, &count);
    return count;
}

struct gw_image_credential gw_image_credential(const struct gw_image *image, size_t index)
{
    size_t count;
    const struct gw_image_secret *secrets = gw_image_section(image, GW_IMAGE_CREDENTIALS, &count);
    if (index >= count)
        return (struct gw_image_credential){ .allow_plaintext = false };
    return (struct gw_image_credential){
        .name = gw_image_text(image, secrets[index].name),
        .header = gw_image_text(image, secrets[index].header),
        .allow_plaintext = secrets[index].allow_plaintext != 0,
    };
}

size_t gw_image_ca_count(const struct gw_image *image)
{
    size_t count;
    (void)gw_image_section(image, GW_IMAGE_CAS, &count);
    return count;
}

struct gw_slice gw_image_ca(const struct gw_image *image, size_t index)
{
    size_t count;
    const struct gw_image_span *cas = gw_image_section(image, GW_IMAGE_CAS, &count);
    return index < count ? gw_image_text(image, cas[index]) : (struct gw_slice){ NULL, 0 };
}
