/* gateway/proxy/buffer.c */
#include "gateway/proxy/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

enum { SMALLEST = 4096 };

char *gw_buffer_reserve(struct gw_buffer *buffer, size_t more)
{
    size_t length = gw_buffer_length(buffer);
    if (buffer->room - buffer->end >= more && buffer->memory != NULL)
        return buffer->memory + buffer->end;
    if (buffer->room - length >= more && buffer->memory != NULL) {
        memmove(buffer->memory, buffer->memory + buffer->start, length);
    } else {
        size_t room = buffer->room < SMALLEST ? SMALLEST : buffer->room;
        while (room - length < more)
            room *= 2;
        char *memory = malloc(room);
        if (memory == NULL)
            return NULL;
        if (buffer->memory != NULL)
            memcpy(memory, buffer->memory + buffer->start, length);
        free(buffer->memory);
        buffer->memory = memory;
        buffer->room = room;
    }
    buffer->start = 0;
    buffer->end = length;
    return buffer->memory + buffer->end;
}

bool gw_buffer_append(struct gw_buffer *buffer, struct gw_slice bytes)
{
    if (bytes.length == 0)
        return true;
    char *at = gw_buffer_reserve(buffer, bytes.length);
    if (at == NULL)
        return false;
    memcpy(at, bytes.data, bytes.length);
    gw_buffer_added(buffer, bytes.length);
    return true;
}

void gw_buffer_consume(struct gw_buffer *buffer, size_t length)
{
    gw_check(length <= gw_buffer_length(buffer));
    buffer->start += length;
    if (buffer->start == buffer->end)
        gw_buffer_fini(buffer);
}

void gw_buffer_fini(struct gw_buffer *buffer)
{
    free(buffer->memory);
    *buffer = (struct gw_buffer){ 0 };
}
