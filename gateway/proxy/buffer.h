/* gateway/proxy/buffer.h - bytes on their way: appended at the end, consumed at the start.
 * The memory comes with the first byte and goes with the last, so that a quiet connection holds
 * none. Who fills it sees to its bound. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

struct gw_buffer {
    char *memory; /* owned */
    size_t room;
    size_t start, end;
};

static inline size_t gw_buffer_length(const struct gw_buffer *buffer)
{
    return buffer->end - buffer->start;
}
static inline struct gw_slice gw_buffer_slice(const struct gw_buffer *buffer)
{
    if (buffer->memory == NULL) /* nothing may be added to a null pointer, not even 0 */
        return (struct gw_slice){ NULL, 0 };
    return (struct gw_slice){ buffer->memory + buffer->start, buffer->end - buffer->start };
}

/* Room for `more` bytes at the end (moving or growing what is there); NULL when out of memory. The
 * caller writes there and then calls gw_buffer_added(). */
char *gw_buffer_reserve(struct gw_buffer *buffer, size_t more);
static inline void gw_buffer_added(struct gw_buffer *buffer, size_t length)
{
    buffer->end += length;
}

bool gw_buffer_append(struct gw_buffer *buffer, struct gw_slice bytes);

/* Drops bytes from the start; frees the memory when none is left. */
void gw_buffer_consume(struct gw_buffer *buffer, size_t length);
void gw_buffer_fini(struct gw_buffer *buffer);
