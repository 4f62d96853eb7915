/* gateway/common/wire.h - numbers and byte strings in a bounded block: what the payloads of the
 * channel and the snapshot are made of. Little-endian, no padding. Both ends are ours, yet a reader
 * never trusts a length: running over the end makes `failed` true and every later read gives 0. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct gw_wire_writer {
    unsigned char *data; /* owned: grows on the heap; freed by gw_wire_writer_fini */
    size_t length, room;
    bool failed; /* out of memory */
};

void gw_wire_writer_init(struct gw_wire_writer *writer);
void gw_wire_writer_fini(struct gw_wire_writer *writer); /* wipes what it frees */
void gw_wire_put_u8(struct gw_wire_writer *writer, uint8_t value);
void gw_wire_put_u16(struct gw_wire_writer *writer, uint16_t value);
void gw_wire_put_u32(struct gw_wire_writer *writer, uint32_t value);
void gw_wire_put_u64(struct gw_wire_writer *writer, uint64_t value);
void gw_wire_put_bytes(struct gw_wire_writer *writer, struct gw_slice bytes); /* u32 length first */
struct gw_slice gw_wire_written(const struct gw_wire_writer *writer);

struct gw_wire_reader {
    const unsigned char *at;
    size_t left;
    bool failed;
};

void gw_wire_reader_init(struct gw_wire_reader *reader, struct gw_slice block);
uint8_t gw_wire_u8(struct gw_wire_reader *reader);
uint16_t gw_wire_u16(struct gw_wire_reader *reader);
uint32_t gw_wire_u32(struct gw_wire_reader *reader);
uint64_t gw_wire_u64(struct gw_wire_reader *reader);
struct gw_slice gw_wire_bytes(struct gw_wire_reader *reader); /* borrowed from the block */
/* A count of elements of at least `each` bytes: fails at once when they cannot all be there. */
uint32_t gw_wire_count(struct gw_wire_reader *reader, size_t each);
/* True when nothing failed and nothing is left over. */
bool gw_wire_done(const struct gw_wire_reader *reader);
