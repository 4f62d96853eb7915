#include "gateway/config/arena.h"

#include <stdlib.h>

#define CHUNK_BYTES 65536

struct gw_arena_chunk {
    struct gw_arena_chunk *next;
    size_t used, room;
    max_align_t memory[];
};

void *gw_arena_take(struct gw_arena *arena, size_t length)
{
    struct gw_arena_chunk *chunk = arena->chunks;
    length = (length + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (chunk == NULL || chunk->room - chunk->used < length) {
        size_t room = length > CHUNK_BYTES ? length : CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (struct gw_arena_chunk){ .next = arena->chunks, .room = room };
        arena->chunks = chunk;
    }
    void *memory = (char *)chunk->memory + chunk->used;
    chunk->used += length;
    return memory;
}

void gw_arena_fini(struct gw_arena *arena)
{
    for (struct gw_arena_chunk *chunk = arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    arena->chunks = NULL;
}
