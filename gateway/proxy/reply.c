/* gateway/proxy/reply.c */
#include "gateway/proxy/reply.h"

#include "base/text.h"

/* A host of which each byte is escaped (six for one, in JSON) leaves room for the rest. */
enum { BODY_MAX = 2048, HEAD_MAX = 1024, HOST_SHOWN = 255 };

static const char *phrase(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 405:
        return "Method Not Allowed";
    case 407:
        return "Proxy Authentication Required";
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 417:
        return "Expectation Failed";
    case 421:
        return "Misdirected Request";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 502:
        return "Bad Gateway";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Refused";
    }
}

static void add_target(struct gw_text *body, const struct gw_reply *reply)
{
    bool v6 = memchr(reply->host.data, ':', reply->host.length) != NULL;
    gw_text_add_string(body, v6 ? "[" : "");
    gw_text_add_visible(body, reply->host, HOST_SHOWN);
    gw_text_add_string(body, v6 ? "]" : "");
    if (reply->port != 0)
        gw_text_addf(body, ":%u", reply->port);
}

static void write_text(struct gw_text *body, const struct gw_reply *reply, const char *code)
{
    gw_text_add_string(body, "namzu-gw: ");
    if (reply->host.length > 0) {
        add_target(body, reply);
        gw_text_add_string(body, ": ");
    }
    gw_text_addf(body, "%s (%s)\n", gw_reason_text(reply->refusal.reason), code);
}

static void write_json(struct gw_text *body, const struct gw_reply *reply, const char *code)
{
    gw_text_addf(body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"", code,
                 gw_reason_text(reply->refusal.reason));
    if (reply->host.length > 0) {
        gw_text_add_string(body, ",\"host\":\"");
        gw_text_add_json(body, reply->host, HOST_SHOWN);
        gw_text_add_char(body, '"');
    }
    if (reply->port != 0)
        gw_text_addf(body, ",\"port\":%u", reply->port);
    gw_text_add_string(body, "}}\n");
}

static void add_status_fields(struct gw_text *head, int status)
{
    if (status == 405) /* RFC 9110 15.5.6 */
        gw_text_add_string(head,
                           "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT\r\n");
    if (status == 407)
        gw_text_add_string(head, "Proxy-Authenticate: Basic realm=\"namzu-gw\"\r\n");
    if (status == 429 || status == 503)
        gw_text_add_string(head, "Retry-After: 1\r\n");
}

bool gw_reply_write(const struct gw_reply *reply, struct gw_buffer *out)
{
    char head_text[HEAD_MAX], body_text[BODY_MAX], code[GW_REASON_CODE_MAX];
    struct gw_text head, body;
    int status = gw_reason_status(reply->refusal.reason);
    const char *type = gw_reason_proxy_status(reply->refusal.reason);
    gw_refusal_print(reply->refusal, code, sizeof code);
    gw_text_init(&head, head_text, sizeof head_text);
    gw_text_init(&body, body_text, sizeof body_text);
    if (reply->json)
        write_json(&body, reply, code);
    else
        write_text(&body, reply, code);
    gw_text_addf(&head, "HTTP/1.1 %d %s\r\n", status, phrase(status));
    gw_text_addf(&head, "Content-Type: %s\r\n",
                 reply->json ? "application/json" : "text/plain; charset=utf-8");
    gw_text_addf(&head, "X-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n", body.length);
    gw_text_add_string(&head, "Cache-Control: no-store\r\n");
    gw_text_addf(&head, "X-Namzu-Reason: %s\r\n", code);
    gw_text_addf(&head, "Proxy-Status: namzu-gw; error=%s; details=\"%s\"\r\n",
                 type != NULL ? type : "proxy_internal_error", code);
    add_status_fields(&head, status);
    if (reply->close)
        gw_text_add_string(&head, "Connection: close\r\n");
    else if (reply->minor0)
        gw_text_add_string(&head, "Connection: keep-alive\r\n");
    gw_text_add_string(&head, "\r\n");
    return gw_buffer_append(out, gw_text_slice(&head))
           && (reply->head || gw_buffer_append(out, gw_text_slice(&body)));
}

bool gw_reply_write_options(bool close, struct gw_buffer *out)
{
    return gw_buffer_append(out, GW_SLICE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
                                          "Cache-Control: no-store\r\n"))
           && (!close || gw_buffer_append(out, GW_SLICE("Connection: close\r\n")))
           && gw_buffer_append(out, GW_SLICE("\r\n"));
}
