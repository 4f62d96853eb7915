#include "dns_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/macros.h"

#define MESSAGE_MAX 65535

struct dns_server {
    uv_udp_t udp;
    uv_tcp_t tcp;
    struct dns_rule *script;
    unsigned asked_a, asked_aaaa, asked_tcp, unexpected, open;
    uint16_t port;
    bool stopped;
    unsigned char received[MESSAGE_MAX];
};

struct connection {
    uv_tcp_t tcp;
    struct dns_server *server;
    size_t length;
    unsigned char received[4096];
    bool closing;
};

/* One answer on its way. */
struct reply {
    uv_timer_t timer;
    uv_udp_send_t send;
    uv_write_t write;
    struct dns_server *server;
    struct connection *connection; /* NULL: UDP */
    struct sockaddr_storage to;
    size_t length;
    unsigned char bytes[2 + MESSAGE_MAX]; /* behind the length that TCP wants */
};

/* --- writing a message --- */

static void put16(struct reply *reply, unsigned value)
{
    gw_check(reply->length + 2 <= sizeof reply->bytes);
    reply->bytes[reply->length++] = (unsigned char)(value >> 8);
    reply->bytes[reply->length++] = (unsigned char)value;
}

static void put_bytes(struct reply *reply, const void *bytes, size_t length)
{
    gw_check(reply->length + length <= sizeof reply->bytes);
    memcpy(reply->bytes + reply->length, bytes, length);
    reply->length += length;
}

static void put_name(struct reply *reply, const char *name)
{
    while (*name != '\0') {
        size_t label = strcspn(name, ".");
        unsigned char length = (unsigned char)label;
        put_bytes(reply, &length, 1);
        put_bytes(reply, name, label);
        name += label + (name[label] == '.');
    }
    put_bytes(reply, "", 1);
}

static void put_record(struct reply *reply, const struct dns_record *record, const char *question,
                       unsigned copy)
{
    unsigned char address[16];
    put_name(reply, record->owner != NULL ? record->owner : question);
    put16(reply, record->type);
    put16(reply, 1);
    put16(reply, record->ttl_s >> 16);
    put16(reply, record->ttl_s & 0xffff);
    if (record->type == TYPE_CNAME) {
        size_t at = reply->length;
        put16(reply, 0);
        put_name(reply, record->value);
        size_t length = reply->length - at - 2;
        reply->bytes[at] = (unsigned char)(length >> 8);
        reply->bytes[at + 1] = (unsigned char)length;
        return;
    }
    size_t length = record->type == TYPE_A ? 4 : 16;
    gw_check(inet_pton(record->type == TYPE_A ? AF_INET : AF_INET6, record->value, address) == 1);
    address[length - 1] = (unsigned char)(address[length - 1] + copy);
    put16(reply, (unsigned)length);
    put_bytes(reply, address, length);
}

static void write_message(struct reply *reply, const struct dns_rule *rule,
                          const unsigned char *query, size_t question_end, const char *name,
                          uint16_t type)
{
    unsigned records = 0, tcp = reply->connection != NULL;
    unsigned truncated = tcp ? rule->truncate_tcp : rule->truncate_udp;
    reply->length = 2;
    put_bytes(reply, query, 2);
    put16(reply, 0x8180 | truncated << 9 | rule->rcode);
    put16(reply, 1);
    put16(reply, 0);
    put16(reply, 0);
    put16(reply, 0);
    put_bytes(reply, query + 12, question_end - 12);
    if (rule->raw != NULL) {
        put_bytes(reply, rule->raw, rule->raw_length);
        records = 1;
    }
    for (size_t i = 0; i < GW_COUNT(rule->records) && rule->records[i].value != NULL; i++) {
        const struct dns_record *record = &rule->records[i];
        if (rule->type == 0 && record->type != type && record->type != TYPE_CNAME)
            continue;
        for (unsigned copy = 0; copy < (record->copies > 0 ? record->copies : 1); copy++) {
            put_record(reply, record, name, copy);
            records++;
        }
    }
    if (!tcp && reply->length - 2 > 512) { /* nobody said that more would be taken */
        reply->bytes[2 + 2] |= 2;
        reply->length = 2 + question_end;
        records = 0;
    }
    reply->bytes[2 + 6] = (unsigned char)(records >> 8);
    reply->bytes[2 + 7] = (unsigned char)records;
    reply->bytes[0] = (unsigned char)((reply->length - 2) >> 8);
    reply->bytes[1] = (unsigned char)(reply->length - 2);
}

/* --- sending it --- */

static void part_closed(struct dns_server *server)
{
    if (--server->open == 0)
        free(server);
}

static void on_reply_closed(uv_handle_t *handle)
{
    struct reply *reply = gw_container_of((uv_timer_t *)handle, struct reply, timer);
    struct dns_server *server = reply->server;
    free(reply);
    part_closed(server);
}

static void on_sent(uv_udp_send_t *request, int status)
{
    (void)status;
    uv_close((uv_handle_t *)&gw_container_of(request, struct reply, send)->timer, on_reply_closed);
}

static void on_written(uv_write_t *request, int status)
{
    (void)status;
    uv_close((uv_handle_t *)&gw_container_of(request, struct reply, write)->timer, on_reply_closed);
}

static void on_reply_due(uv_timer_t *timer)
{
    struct reply *reply = gw_container_of(timer, struct reply, timer);
    struct dns_server *server = reply->server;
    uv_buf_t buffer = uv_buf_init((char *)reply->bytes, (unsigned)reply->length);
    int status = UV_ECANCELED;
    if (reply->connection != NULL && !reply->connection->closing)
        status =
            uv_write(&reply->write, (uv_stream_t *)&reply->connection->tcp, &buffer, 1, on_written);
    if (reply->connection == NULL && !server->stopped) {
        buffer = uv_buf_init((char *)reply->bytes + 2, (unsigned)reply->length - 2);
        status = uv_udp_send(&reply->send, &server->udp, &buffer, 1,
                             (const struct sockaddr *)&reply->to, on_sent);
    }
    if (status != 0)
        uv_close((uv_handle_t *)&reply->timer, on_reply_closed);
}

/* --- reading questions --- */

static struct dns_rule *find_rule(struct dns_server *server, const char *name, uint16_t type)
{
    static struct dns_rule unexpected = { .rcode = NOTIMP };
    for (struct dns_rule *rule = server->script; rule->name != NULL; rule++)
        if ((strcasecmp(rule->name, name) == 0 || strcmp(rule->name, "*") == 0)
            && (rule->type == 0 || rule->type == type)
            && (rule->times == 0 || rule->used < rule->times)) {
            rule->used++;
            return rule;
        }
    server->unexpected++;
    return &unexpected;
}

static size_t read_name(const unsigned char *query, size_t length, char name[256])
{
    size_t at = 12, used = 0;
    while (at < length && query[at] != 0) {
        size_t label = query[at++];
        gw_check(label < 64 && at + label < length && used + label + 1 < 256);
        if (used > 0)
            name[used++] = '.';
        memcpy(name + used, query + at, label);
        used += label;
        at += label;
    }
    name[used] = '\0';
    return at + 1;
}

static void on_question(struct dns_server *server, struct connection *connection,
                        const struct sockaddr *from, const unsigned char *query, size_t length)
{
    char name[256];
    size_t at = read_name(query, length, name);
    gw_check(at + 4 <= length);
    uint16_t type = (uint16_t)(query[at] << 8 | query[at + 1]);
    server->asked_a += type == TYPE_A;
    server->asked_aaaa += type == TYPE_AAAA;
    server->asked_tcp += connection != NULL;
    struct dns_rule *rule = find_rule(server, name, type);
    if (rule->silent)
        return;
    struct reply *reply = calloc(1, sizeof *reply);
    gw_check(reply != NULL);
    reply->server = server;
    reply->connection = connection;
    if (from != NULL)
        memcpy(&reply->to, from, sizeof(struct sockaddr_in));
    write_message(reply, rule, query, at + 4, name, type);
    uv_timer_init(server->udp.loop, &reply->timer);
    server->open++;
    if (rule->delay_ms == 0)
        on_reply_due(&reply->timer);
    else
        uv_timer_start(&reply->timer, on_reply_due, rule->delay_ms, 0);
}

static void on_udp_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct dns_server *server = handle->data;
    (void)wanted;
    *out = uv_buf_init((char *)server->received, sizeof server->received);
}

static void on_udp(uv_udp_t *udp, ssize_t length, const uv_buf_t *buffer,
                   const struct sockaddr *from, unsigned flags)
{
    (void)flags;
    if (length > 0 && from != NULL)
        on_question(udp->data, NULL, from, (unsigned char *)buffer->base, (size_t)length);
}

static void on_tcp_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct connection *connection = handle->data;
    (void)wanted;
    *out = uv_buf_init((char *)connection->received + connection->length,
                       (unsigned)(sizeof connection->received - connection->length));
}

static void on_connection_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct dns_server *server = connection->server;
    free(connection);
    part_closed(server);
}

static void on_tcp(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    (void)buffer;
    if (length <= 0) {
        connection->closing = true;
        uv_close((uv_handle_t *)stream, on_connection_closed);
        return;
    }
    connection->length += (size_t)length;
    for (;;) {
        size_t message = (size_t)connection->received[0] << 8 | connection->received[1];
        if (connection->length < 2 || connection->length < 2 + message)
            return;
        on_question(connection->server, connection, NULL, connection->received + 2, message);
        connection->length -= 2 + message;
        memmove(connection->received, connection->received + 2 + message, connection->length);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct connection *connection = calloc(1, sizeof *connection);
    gw_check(connection != NULL && status == 0);
    connection->server = listener->data;
    connection->tcp.data = connection;
    uv_tcp_init(listener->loop, &connection->tcp);
    connection->server->open++;
    gw_check(uv_accept(listener, (uv_stream_t *)&connection->tcp) == 0);
    uv_read_start((uv_stream_t *)&connection->tcp, on_tcp_room, on_tcp);
}

/* --- life --- */

/* One port for both; other tests may hold the datagram half of what the kernel chose. */
static uint16_t bind_both(int *tcp, int *udp)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        struct sockaddr_in at = { .sin_family = AF_INET };
        socklen_t length = sizeof at;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        *udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        gw_check(*tcp >= 0 && *udp >= 0);
        gw_check(bind(*tcp, (struct sockaddr *)&at, length) == 0);
        gw_check(getsockname(*tcp, (struct sockaddr *)&at, &length) == 0);
        if (bind(*udp, (struct sockaddr *)&at, length) == 0)
            return ntohs(at.sin_port);
        close(*tcp);
        close(*udp);
    }
    gw_check(!"a free port");
    return 0;
}

struct dns_server *dns_server_start(uv_loop_t *loop, struct dns_rule *script)
{
    int tcp, udp;
    struct dns_server *server = calloc(1, sizeof *server);
    gw_check(server != NULL);
    signal(SIGPIPE, SIG_IGN); /* libuv writes to connections that the resolver has closed */
    server->script = script;
    server->udp.data = server->tcp.data = server;
    server->port = bind_both(&tcp, &udp);
    uv_udp_init(loop, &server->udp);
    uv_tcp_init(loop, &server->tcp);
    server->open = 2;
    gw_check(uv_tcp_open(&server->tcp, tcp) == 0 && uv_udp_open(&server->udp, udp) == 0);
    gw_check(uv_listen((uv_stream_t *)&server->tcp, 16, on_connection) == 0);
    gw_check(uv_udp_recv_start(&server->udp, on_udp_room, on_udp) == 0);
    return server;
}

static void on_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

void dns_server_stop(struct dns_server *server)
{
    server->stopped = true;
    uv_close((uv_handle_t *)&server->udp, on_closed);
    uv_close((uv_handle_t *)&server->tcp, on_closed);
}

uint16_t dns_server_port(const struct dns_server *server)
{
    return server->port;
}

unsigned dns_server_asked(const struct dns_server *server, uint16_t type)
{
    return (type != TYPE_AAAA ? server->asked_a : 0) + (type != TYPE_A ? server->asked_aaaa : 0);
}

unsigned dns_server_asked_tcp(const struct dns_server *server)
{
    return server->asked_tcp;
}

unsigned dns_server_unexpected(const struct dns_server *server)
{
    return server->unexpected;
}
