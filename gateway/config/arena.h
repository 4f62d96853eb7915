/* gateway/config/arena.h - many small pieces of memory that all go at once. */
#pragma once
#include <stddef.h>

struct gw_arena {
    struct gw_arena_chunk *chunks; /* NULL at first; owned */
};

/* Aligned for anything, not zeroed; NULL when there is no memory. */
void *gw_arena_take(struct gw_arena *arena, size_t length);
void gw_arena_fini(struct gw_arena *arena);
