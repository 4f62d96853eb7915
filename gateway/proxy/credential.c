/* gateway/proxy/credential.c */
#define _GNU_SOURCE /* memmem */
#include "gateway/proxy/credential.h"

#include <stdlib.h>
#include <string.h>

struct gw_credential *gw_credential_new(uint64_t id, struct gw_slice value, struct gw_slice bare)
{
    struct gw_credential *credential = calloc(1, sizeof *credential);
    if (credential == NULL)
        return NULL;
    credential->references = 1;
    credential->id = id;
    if (!gw_secret_init(&credential->value, value) || !gw_secret_init(&credential->bare, bare)) {
        gw_credential_unref(credential);
        return NULL;
    }
    return credential;
}

struct gw_credential *gw_credential_ref(struct gw_credential *credential)
{
    credential->references++;
    return credential;
}

void gw_credential_unref(struct gw_credential *credential)
{
    if (credential == NULL || --credential->references > 0)
        return;
    gw_secret_fini(&credential->value);
    gw_secret_fini(&credential->bare);
    free(credential);
}

static char fold(char byte)
{
    return byte == '_' ? '-' : gw_lower(byte);
}

bool gw_header_is_twin(struct gw_slice a, struct gw_slice b)
{
    if (a.length != b.length)
        return false;
    for (size_t i = 0; i < a.length; i++)
        if (fold(a.data[i]) != fold(b.data[i]))
            return false;
    return true;
}

bool gw_stamps_name(const struct gw_stamp *stamps, size_t count, struct gw_slice name)
{
    for (size_t i = 0; i < count; i++)
        if (gw_header_is_twin(name, stamps[i].header))
            return true;
    return false;
}

/* Shorter ones would hit the text of the head itself. */
enum { MASKED_MIN = 6 };

static void mask(struct gw_slice secret, char *text, size_t length)
{
    char *end = text + length;
    if (secret.length < MASKED_MIN)
        return;
    for (char *at = text; (at = memmem(at, (size_t)(end - at), secret.data, secret.length)) != NULL;
         at += secret.length)
        memset(at, '*', secret.length);
}

void gw_stamps_mask(const struct gw_stamp *stamps, size_t count, char *text, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        struct gw_slice value = gw_secret_reveal(&stamps[i].credential->value), scheme;
        mask(value, text, length);
        if (gw_slice_next(&value, ' ', &scheme)) /* "Basic x": also the x alone */
            mask(value, text, length);
        mask(gw_secret_reveal(&stamps[i].credential->bare), text, length);
    }
}
