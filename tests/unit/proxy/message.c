#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *copy_of(struct gw_slice bytes)
{
    char *copy = malloc(bytes.length == 0 ? 1 : bytes.length);
    assert_non_null(copy);
    if (bytes.length > 0)
        memcpy(copy, bytes.data, bytes.length);
    return copy;
}

void message_read(struct message *message, bool response, struct gw_slice bytes, size_t cut,
                  const struct gw_limits *limits)
{
    if (limits != NULL)
        message->limits = *limits;
    else
        gw_limits_init(&message->limits);
    gw_http_head_init(&message->head, response, &message->limits);
    message->result = GW_HEAD_MORE;
    message->text = NULL;
    message->needed = 0;
    while (message->result == GW_HEAD_MORE && message->needed < bytes.length) {
        size_t end = cut == CUT_EVERYWHERE   ? message->needed + 1
                     : message->needed < cut ? cut
                                             : bytes.length;
        char *text = copy_of((struct gw_slice){ bytes.data, end });
        message->result = gw_http_head_feed(&message->head, (struct gw_slice){ text, end });
        free(message->text);
        message->text = text;
        message->needed = end;
    }
}

void message_free(struct message *message)
{
    gw_http_head_fini(&message->head);
    free(message->text);
}

static void print_bytes(FILE *to, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte >= 0x20 && byte < 0x7f)
            fputc(byte, to);
        else
            fprintf(to, "\\x%02x", byte);
    }
}

char *message_print(const struct message *message)
{
    const struct gw_http_head *head = &message->head;
    char *printed;
    size_t length;
    FILE *to = open_memstream(&printed, &length);
    assert_non_null(to);
    if (message->result == GW_HEAD_MORE) {
        fprintf(to, "more");
    } else if (message->result == GW_HEAD_BAD) {
        fprintf(to, "bad: %s", gw_reason_code(head->reason));
    } else {
        const char *text = message->text;
        if (head->response) {
            fprintf(to, "%u '", head->status);
            print_bytes(to, text + head->phrase, head->phrase_length);
            fprintf(to, "'");
        } else {
            print_bytes(to, text + head->method, head->method_length);
            fprintf(to, " ");
            print_bytes(to, text + head->target, head->target_length);
        }
        fprintf(to, " 1.%d, %u bytes\n", head->minor0 ? 0 : 1, head->length);
        for (uint32_t i = 0; i < head->field_count; i++) {
            const struct gw_http_field *field = &head->fields[i];
            print_bytes(to, text + field->name, field->name_length);
            fprintf(to, "=");
            print_bytes(to, text + field->value, field->value_length);
            fprintf(to, "\n");
        }
    }
    fclose(to);
    return printed;
}

void asked_read(struct asked *asked, struct gw_slice bytes, size_t cut)
{
    memset(&asked->request, 0, sizeof asked->request);
    message_read(&asked->message, false, bytes, cut, NULL);
    if (asked->message.result == GW_HEAD_MORE)
        fail_msg("the head does not end: %.*s", (int)bytes.length, bytes.data);
    asked->reason =
        asked->message.result == GW_HEAD_BAD
            ? asked->message.head.reason
            : gw_request_read(&asked->message.head, asked->message.text, OWN_VIA, &asked->request);
}

void asked_free(struct asked *asked)
{
    message_free(&asked->message);
}

char *buffer_text(const struct gw_buffer *buffer)
{
    size_t length = gw_buffer_length(buffer);
    char *text = malloc(length + 1);
    assert_non_null(text);
    if (length > 0)
        memcpy(text, buffer->memory + buffer->start, length);
    text[length] = '\0';
    assert_int_equal(strlen(text), length); /* no NUL is ever written */
    return text;
}

static void tell(const char *label, const char *text)
{
    fprintf(stderr, "---- %s\n", label);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '\n')
            fprintf(stderr, "\\n\n");
        else if (byte == '\r')
            fprintf(stderr, "\\r");
        else if (byte >= 0x20 && byte < 0x7f)
            fputc(byte, stderr);
        else
            fprintf(stderr, "\\x%02x", byte);
    }
    fprintf(stderr, "\n");
}

void expect_text(const char *got, const char *expected, const char *why)
{
    if (strcmp(got, expected) == 0)
        return;
    tell("got", got);
    tell("expected", expected);

    fail_msg("%s", why);
}
