/* gateway/common/sealed.h - bytes in a sealed memfd: made once, mapped by many, changed by none.
 * The maker unmaps before it seals (SHRINK, GROW, WRITE, SEAL); readers check the seals and map
 * MAP_PRIVATE read-only (older kernels refuse shared maps of sealed memory). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"

/* The descriptor (close-on-exec), or -1. */
int gw_sealed_make(const char *name, struct gw_slice bytes, struct gw_error *err);

struct gw_sealed_map {
    const void *data; /* owned mapping; NULL when empty or not mapped */
    size_t length;
};

/* Does not take the descriptor. Refuses one that is not sealed against writing and resizing. */
bool gw_sealed_map(int fd, struct gw_sealed_map *out, struct gw_error *err);
void gw_sealed_unmap(struct gw_sealed_map *map);
