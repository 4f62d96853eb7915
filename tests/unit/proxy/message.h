/* tests/unit/proxy/message.h - heads of HTTP messages for the tests of the data plane.
 * Each piece is read out of memory of its own and of the exact size, which is freed when the next
 * one is there: ASan sees a byte read too far and a pointer kept from the last call. */
#pragma once
#include <stdint.h>

#include "gateway/proxy/buffer.h"
#include "gateway/proxy/request.h"

#define OWN_VIA "gw-7f3a"

/* Where the bytes are cut in two; or not at all; or everywhere. */
#define CUT_NOWHERE ((size_t)0)
#define CUT_EVERYWHERE SIZE_MAX

struct message {
    struct gw_limits limits;
    struct gw_http_head head;
    enum gw_head_result result; /* MORE: the bytes were used up */
    size_t needed;              /* bytes fed when the result was known */
    char *text;                 /* owned: what the offsets of `head` refer to */
};

/* `limits` NULL: the defaults. */
void message_read(struct message *message, bool response, struct gw_slice bytes, size_t cut,
                  const struct gw_limits *limits);
void message_free(struct message *message);

/* "more", "bad: <code>", or everything that was read, a line each; to be freed. */
char *message_print(const struct message *message);

struct asked {
    struct message message;
    enum gw_reason reason; /* of the head, else of gw_request_read() */
    struct gw_request request;
};

void asked_read(struct asked *asked, struct gw_slice bytes, size_t cut);
void asked_free(struct asked *asked);

/* The bytes of a buffer as a NUL-terminated text; to be freed. */
char *buffer_text(const struct gw_buffer *buffer);

/* Fails the test with both texts, escaped, when they differ. */
void expect_text(const char *got, const char *expected, const char *why);
