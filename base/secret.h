/* base/secret.h - bytes that must not leak: wiped before they are freed, kept out of core dumps
 * and swap, compared in constant time. Nothing that logs or formats takes a gw_secret. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

struct gw_secret {
    char *data; /* owned; a mapping of its own: memfd_secret where the kernel has it, else mlock'ed
                   and MADV_DONTDUMP, MADV_DONTFORK */
    size_t length;
    size_t mapped;
};

/* Copies `value`; the caller wipes its own copy. False when memory cannot be had. Whether the
 * pages could be locked is best effort: an unprivileged process may be over RLIMIT_MEMLOCK. */
bool gw_secret_init(struct gw_secret *secret, struct gw_slice value);

/* Wipes and unmaps; safe on a zeroed or already finished secret. */
void gw_secret_fini(struct gw_secret *secret);

static inline struct gw_slice gw_secret_reveal(const struct gw_secret *secret)
{
    return (struct gw_slice){ secret->data, secret->length };
}

/* Overwrites memory in a way that the compiler keeps. */
void gw_secret_wipe(void *memory, size_t length);

/* Takes a time that depends on the lengths alone. */
bool gw_secret_equal(struct gw_slice a, struct gw_slice b);
