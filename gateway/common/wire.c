/* gateway/common/wire.c */
#include "gateway/common/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

void gw_wire_writer_init(struct gw_wire_writer *writer)
{
    *writer = (struct gw_wire_writer){ 0 };
}

void gw_wire_writer_fini(struct gw_wire_writer *writer)
{
    if (writer->data != NULL)
        gw_secret_wipe(writer->data, writer->room);
    free(writer->data);
    *writer = (struct gw_wire_writer){ 0 };
}

/* Not realloc(): it would leave an unwiped copy of what may be a credential behind. */
static bool make_room(struct gw_wire_writer *writer, size_t more)
{
    if (writer->failed)
        return false;
    if (more <= writer->room - writer->length)
        return true;
    size_t room = writer->room < 256 ? 256 : writer->room * 2;
    if (room - writer->length < more)
        room = writer->length + more;
    unsigned char *data = room < more ? NULL : malloc(room);
    if (data == NULL) {
        writer->failed = true;
        return false;
    }
    if (writer->data != NULL) {
        memcpy(data, writer->data, writer->length);
        gw_secret_wipe(writer->data, writer->room);
        free(writer->data);
    }
    writer->data = data;
    writer->room = room;
    return true;
}

static void put_number(struct gw_wire_writer *writer, uint64_t value, size_t bytes)
{
    if (!make_room(writer, bytes))
        return;
    for (size_t i = 0; i < bytes; i++)
        writer->data[writer->length++] = (unsigned char)(value >> (8 * i));
}

void gw_wire_put_u8(struct gw_wire_writer *writer, uint8_t value)
{
    put_number(writer, value, 1);
}

void gw_wire_put_u16(struct gw_wire_writer *writer, uint16_t value)
{
    put_number(writer, value, 2);
}

void gw_wire_put_u32(struct gw_wire_writer *writer, uint32_t value)
{
    put_number(writer, value, 4);
}

void gw_wire_put_u64(struct gw_wire_writer *writer, uint64_t value)
{
    put_number(writer, value, 8);
}

void gw_wire_put_bytes(struct gw_wire_writer *writer, struct gw_slice bytes)
{
    if (bytes.length > UINT32_MAX) {
        writer->failed = true;
        return;
    }
    put_number(writer, bytes.length, 4);
    if (bytes.length == 0 || !make_room(writer, bytes.length))
        return;
    memcpy(writer->data + writer->length, bytes.data, bytes.length);
    writer->length += bytes.length;
}

struct gw_slice gw_wire_written(const struct gw_wire_writer *writer)
{
    return (struct gw_slice){ (const char *)writer->data, writer->length };
}

void gw_wire_reader_init(struct gw_wire_reader *reader, struct gw_slice block)
{
    *reader =
        (struct gw_wire_reader){ .at = (const unsigned char *)block.data, .left = block.length };
}

/* NULL when `length` bytes are not there; then nothing else is either. */
static const unsigned char *take(struct gw_wire_reader *reader, size_t length)
{
    if (reader->failed || reader->left < length) {
        reader->failed = true;
        return NULL;
    }
    const unsigned char *at = reader->at;
    if (length > 0)
        reader->at += length;
    reader->left -= length;
    return at;
}

static uint64_t number(struct gw_wire_reader *reader, size_t bytes)
{
    const unsigned char *at = take(reader, bytes);
    uint64_t value = 0;
    if (at == NULL)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t gw_wire_u8(struct gw_wire_reader *reader)
{
    return (uint8_t)number(reader, 1);
}

uint16_t gw_wire_u16(struct gw_wire_reader *reader)
{
    return (uint16_t)number(reader, 2);
}

uint32_t gw_wire_u32(struct gw_wire_reader *reader)
{
    return (uint32_t)number(reader, 4);
}

uint64_t gw_wire_u64(struct gw_wire_reader *reader)
{
    return number(reader, 8);
}

struct gw_slice gw_wire_bytes(struct gw_wire_reader *reader)
{
    size_t length = gw_wire_u32(reader);
    const unsigned char *at = take(reader, length);
    if (reader->failed)
        return (struct gw_slice){ NULL, 0 };
    return (struct gw_slice){ (const char *)at, length };
}

uint32_t gw_wire_count(struct gw_wire_reader *reader, size_t each)
{
    uint32_t count = gw_wire_u32(reader);
    if (each > 0 && count > reader->left / each)
        reader->failed = true;
    return reader->failed ? 0 : count;
}

bool gw_wire_done(const struct gw_wire_reader *reader)
{
    return !reader->failed && reader->left == 0;
}
