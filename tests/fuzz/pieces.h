/* tests/fuzz/pieces.h - for the targets that read HTTP: heads in pieces, and what is true of every
 * head that we write. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gateway/proxy/buffer.h"
#include "gateway/proxy/http_head.h"

#define CUT_NOWHERE ((size_t)0)
#define CUT_EVERYWHERE SIZE_MAX

/* Feeds `bytes` out of memory of the exact size that moves with every piece, as a buffer that grows
 * does. `*text` is the last one, to be freed: what the offsets of `head` refer to. */
static inline enum gw_head_result feed_in_pieces(struct gw_http_head *head, struct gw_slice bytes,
                                                 size_t cut, char **text)
{
    enum gw_head_result result = GW_HEAD_MORE;
    size_t fed = 0;
    *text = NULL;
    while (result == GW_HEAD_MORE && fed < bytes.length) {
        fed = cut == CUT_EVERYWHERE ? fed + 1 : fed < cut ? cut : bytes.length;
        char *copy = malloc(fed);
        gw_check(copy != NULL);
        memcpy(copy, bytes.data, fed);
        result = gw_http_head_feed(head, (struct gw_slice){ copy, fed });
        free(*text);
        *text = copy;
    }
    return result;
}

/* The same verdict, and on DONE the same head. */
static inline void check_same_head(const struct gw_http_head *a, enum gw_head_result a_result,
                                   const struct gw_http_head *b, enum gw_head_result b_result)
{
    gw_check(a_result == b_result && a->reason == b->reason);
    gw_check((a_result == GW_HEAD_BAD) == (a->reason != GW_REASON_NONE));
    if (a_result != GW_HEAD_DONE)
        return;
    gw_check(a->length == b->length && a->minor0 == b->minor0 && a->status == b->status);
    gw_check(a->method == b->method && a->method_length == b->method_length);
    gw_check(a->target == b->target && a->target_length == b->target_length);
    gw_check(a->phrase_length == b->phrase_length && a->field_count == b->field_count);
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct gw_http_field *x = &a->fields[i], *y = &b->fields[i];
        gw_check(x->name == y->name && x->name_length == y->name_length && x->id == y->id);
        gw_check(x->value_length == y->value_length && x->connection == y->connection);
        gw_check(x->value_length == 0 || x->value == y->value);
        gw_check(x->name_length > 0 && x->name + x->name_length <= a->length);
        gw_check(x->value + x->value_length <= a->length);
    }
}

/* CRLF or neither, no NUL, an empty line at the end and nowhere else. */
static inline void check_lines(struct gw_slice head)
{
    gw_check(head.length >= 4 && memcmp(head.data + head.length - 4, "\r\n\r\n", 4) == 0);
    for (size_t i = 0; i < head.length; i++) {
        gw_check(head.data[i] != '\0');
        if (head.data[i] == '\r')
            gw_check(head.data[i + 1] == '\n');
        if (head.data[i] == '\n')
            gw_check(i > 0 && head.data[i - 1] == '\r');
    }
    const char *first = memmem(head.data, head.length, "\r\n\r\n", 4);
    gw_check(first == head.data + head.length - 4);
}

static inline unsigned count_fields(const struct gw_http_head *head, enum gw_field_id id)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < head->field_count; i++)
        count += head->fields[i].id == id;
    return count;
}

/* What only lived between two neighbours. Connection and Upgrade are for the caller to judge. */
static inline void check_no_hop_by_hop(const struct gw_http_head *head)
{
    for (uint32_t i = 0; i < head->field_count; i++) {
        enum gw_field_id id = (enum gw_field_id)head->fields[i].id;
        gw_check(!gw_field_is_hop_by_hop(id) || id == GW_FIELD_CONNECTION || id == GW_FIELD_UPGRADE
                 || id == GW_FIELD_TRANSFER_ENCODING);
    }
    gw_check(count_fields(head, GW_FIELD_CONNECTION) <= 1);
    gw_check(count_fields(head, GW_FIELD_UPGRADE) <= 1);
    gw_check(count_fields(head, GW_FIELD_CONTENT_LENGTH)
                 + count_fields(head, GW_FIELD_TRANSFER_ENCODING)
             <= 1);
}

/* Room for what a rewritten head has in addition. */
static inline struct gw_limits wide_limits(void)
{
    struct gw_limits limits;
    gw_limits_init(&limits);
    gw_limit(&limits, REQUEST_LINE_BYTES) = 65536;
    gw_limit(&limits, HEAD_BYTES) = 262144;
    gw_limit(&limits, HEAD_FIELDS) = 1000;
    gw_limit(&limits, RESPONSE_HEAD_BYTES) = 1048576;
    gw_limit(&limits, RESPONSE_FIELDS) = 2000;
    return limits;
}
