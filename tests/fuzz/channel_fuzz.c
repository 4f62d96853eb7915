/* tests/fuzz/channel_fuzz.c - one datagram: it is refused with a reason, or it is exactly a header
 * and its payload; and the readers of payloads never leave the block, whatever is in it. */
#include <stdint.h>

#include "base/check.h"
#include "gateway/common/channel.h"
#include "gateway/common/wire.h"

#define HEADER_BYTES 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The order of the calls comes from the input too: any block may meet any reader. */
static void read_payload(struct gw_slice payload)
{
    struct gw_wire_reader r;
    gw_wire_reader_init(&r, payload);
    while (!r.failed && r.left > 0) {
        size_t before = r.left;
        struct gw_slice bytes = { NULL, 0 };
        switch (gw_wire_u8(&r) % 6) {
        case 0:
            (void)gw_wire_u16(&r);
            break;
        case 1:
            (void)gw_wire_u32(&r);
            break;
        case 2:
            (void)gw_wire_u64(&r);
            break;
        case 3:
            gw_check(gw_wire_count(&r, 4) <= payload.length / 4);
            break;
        default:
            bytes = gw_wire_bytes(&r);
            gw_check(bytes.length == 0
                     || (bytes.data >= payload.data
                         && bytes.data + bytes.length <= payload.data + payload.length));
            break;
        }
        gw_check(r.left < before);
    }
    gw_check(gw_wire_done(&r) == !r.failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_message message = { 0 };
    struct gw_error err = GW_ERROR_NONE;
    struct gw_slice datagram = { (const char *)data, size };
    if (!gw_channel_parse(datagram, &message, &err)) {
        gw_check(err.text[0] != '\0');
        return 0;
    }
    gw_check(message.type >= GW_MSG_START && message.type < GW_MESSAGE_TYPES);
    gw_check(message.payload.length == size - HEADER_BYTES);
    gw_check(message.payload.data == datagram.data + HEADER_BYTES);
    gw_check(message.payload.length <= GW_CHANNEL_PAYLOAD_MAX);
    read_payload(message.payload);
    return 0;
}
