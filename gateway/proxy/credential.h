/* gateway/proxy/credential.h - a credential's value, as a proxy holds it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"

/* Shared by the bindings that may use it; wiped with the last of them. */
struct gw_credential {
    unsigned references;
    uint64_t id;            /* of the value: a rotated one is another credential */
    struct gw_secret value; /* the whole field value: "Bearer x" */
    struct gw_secret bare;  /* the part that is the secret: "x" */
};

/* NULL when out of memory. The caller wipes its own copies. */
struct gw_credential *gw_credential_new(uint64_t id, struct gw_slice value, struct gw_slice bare);
struct gw_credential *gw_credential_ref(struct gw_credential *credential);
void gw_credential_unref(struct gw_credential *credential); /* NULL is fine */

/* What is to be put on one request: which field, and from which credential. */
struct gw_stamp {
    struct gw_slice header;           /* lower case; borrowed from the image */
    struct gw_slice name;             /* for the log; borrowed from the image */
    struct gw_credential *credential; /* borrowed from the binding */
};

/* Do the two names reach an application as one? Servers that hand fields on as variables fold '-'
 * and '_' (and case) together, so a client's X_Api_Key would stand beside the stamped x-api-key. */
bool gw_header_is_twin(struct gw_slice a, struct gw_slice b);

/* Is a field of this name, or of a twin of it, among the stamps? */
bool gw_stamps_name(const struct gw_stamp *stamps, size_t count, struct gw_slice name);

/* Overwrites every occurrence of a stamped value in `text` with '*'. */
void gw_stamps_mask(const struct gw_stamp *stamps, size_t count, char *text, size_t length);
