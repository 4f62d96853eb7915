/* gateway/proxy/body.h - where a message's body ends, and what is in it.
 * One reader for requests and responses: by length, chunked (llhttp), or to the end of the
 * connection. The data comes out decoded, piece by piece, in the caller's memory; nothing is kept
 * but trailer fields. RFC 9112 6 and 7. */
#pragma once
#include "gateway/proxy/buffer.h"
#include "gateway/proxy/credential.h"
#include "gateway/proxy/http_head.h"
#include "gateway/proxy/request.h"

struct gw_body {
    enum gw_body_kind kind;
    uint64_t left;  /* by length */
    uint64_t total; /* data so far */
    bool complete;
    /* chunked */
    uint64_t overhead;             /* bytes that were not data */
    struct gw_buffer trailers;     /* "name: value" CRLF, those that may go on */
    const struct gw_stamp *stamps; /* borrowed, set after init: fields of these names may not */
    size_t stamp_count;
    struct gw_buffer
        named; /* names in Connection, comma after each: such fields may not (handed over) */
    /* private */
    struct gw_http_head *head; /* borrowed: its parser goes on where the head ended */
    const char *start;         /* of the present call: where its text begins, */
    uint64_t total_before;     /* and the data before it */
    struct gw_slice *pieces;
    size_t piece_count;
    struct gw_buffer name, value; /* of the trailer field at hand */
    uint64_t trailer_bytes;       /* of all fields, dropped ones included */
};

/* `head` must outlive the body when it is chunked. */
void gw_body_init(struct gw_body *body, enum gw_body_kind kind, uint64_t length,
                  struct gw_http_head *head);
void gw_body_fini(struct gw_body *body);

#define GW_BODY_PIECES_MAX 64

enum gw_body_result { GW_BODY_OK, GW_BODY_BAD };

/* Reads from `text` at most as much as yields GW_BODY_PIECES_MAX pieces; `*used` bytes of it are
 * done with, `pieces` are slices of it. Stops at the end of the body (`complete`): what follows
 * belongs to the next message. BAD: malformed, a chunk of 2^50 bytes or more, too much
 * overhead (limit chunk_overhead_bytes plus 16 times the data before it), or trailers larger than a
 * head may be. Like a head, a body gets one verdict however it was cut; what was read before a BAD
 * may differ. */
enum gw_body_result gw_body_read(struct gw_body *body, struct gw_slice text, size_t *used,
                                 struct gw_slice pieces[GW_BODY_PIECES_MAX], size_t *piece_count);
