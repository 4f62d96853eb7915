/* gateway/proxy/audit.c */
#include "gateway/proxy/audit.h"

#include <stdlib.h>
#include <time.h>

#include "base/macros.h"
#include "base/text.h"
#include "gateway/common/log.h"
#include "gateway/proxy/proxy.h"

enum { RECORD_MAX = 8192, HOST_SHOWN = 255, METHOD_SHOWN = 32, RETRY_MS = 50, FIRST_SLOTS = 16 };

/* The records of one network that wait for the log writer. */
struct queue {
    struct gw_buffer lines;
    uint64_t dropped; /* since the last record that was kept */
};

struct gw_audit {
    struct gw_proxy *proxy;
    uv_prepare_t prepare; /* once a loop turn, while something waits */
    struct gw_timer retry;
    struct queue *queues; /* by slot */
    uint32_t queue_count;
    uint32_t next; /* whose turn it is to be sent first */
    bool blocked;  /* the log writer is behind: wait for `retry` */
    bool scheduled;
};

static const char *const closings[] = {
#define GW_CLOSING(name, text) text,
    GW_CLOSINGS(GW_CLOSING)
#undef GW_CLOSING
};

const char *gw_closing_text(enum gw_closing closing)
{
    return closings[closing];
}

static void on_retry(struct gw_timer *timer)
{
    struct gw_audit *audit = gw_container_of(timer, struct gw_audit, retry);
    audit->blocked = false;
    gw_audit_flush(audit);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct gw_audit *audit = prepare->data;
    uv_prepare_stop(prepare);
    audit->scheduled = false;
    if (!audit->blocked)
        gw_audit_flush(audit);
}

struct gw_audit *gw_audit_new(struct gw_proxy *proxy)
{
    struct gw_audit *audit = calloc(1, sizeof *audit);
    if (audit == NULL)
        return NULL;
    audit->proxy = proxy;
    uv_prepare_init(&proxy->loop, &audit->prepare);
    audit->prepare.data = audit;
    gw_timer_init(&audit->retry, on_retry);
    return audit;
}

static void on_prepare_closed(uv_handle_t *handle)
{
    struct gw_audit *audit = handle->data;
    for (uint32_t i = 0; i < audit->queue_count; i++)
        gw_buffer_fini(&audit->queues[i].lines);
    free(audit->queues);
    free(audit);
}

void gw_audit_free(struct gw_audit *audit)
{
    gw_audit_flush(audit);
    gw_timer_stop(&audit->retry);
    uv_close((uv_handle_t *)&audit->prepare, on_prepare_closed);
}

static struct queue *queue_of(struct gw_audit *audit, uint32_t slot)
{
    if (slot >= audit->queue_count) {
        uint32_t count = audit->queue_count < FIRST_SLOTS ? FIRST_SLOTS : audit->queue_count;
        while (count <= slot)
            count *= 2;
        struct queue *queues = realloc(audit->queues, count * sizeof *queues);
        if (queues == NULL)
            return NULL;
        for (uint32_t i = audit->queue_count; i < count; i++)
            queues[i] = (struct queue){ 0 };
        audit->queues = queues;
        audit->queue_count = count;
    }
    return &audit->queues[slot];
}

/* The equal share of one network; never so small that one loop turn would overrun it. */
static uint64_t share(const struct gw_audit *audit)
{
    const struct gw_config *config = audit->proxy->config;
    uint64_t networks = config->snapshot->network_count;
    uint64_t all = gw_limit(&config->snapshot->limits, AUDIT_QUEUE_BYTES);
    uint64_t part = all / (networks == 0 ? 1 : networks);
    return part < 65536 ? 65536 : part;
}

static void add_string(struct gw_text *line, const char *key, struct gw_slice value, size_t limit)
{
    gw_text_addf(line, ",\"%s\":\"", key);
    gw_text_add_json(line, value, limit);
    gw_text_add_char(line, '"');
}

static void add_number(struct gw_text *line, const char *key, uint64_t value)
{
    gw_text_addf(line, ",\"%s\":", key);
    gw_text_add_number(line, value);
}

static void add_milliseconds(struct gw_text *line, const char *key, int64_t microseconds)
{
    if (microseconds >= 0)
        gw_text_addf(line, ",\"%s\":%lld.%03lld", key, (long long)(microseconds / 1000),
                     (long long)(microseconds % 1000));
}

static void add_address(struct gw_text *line, const char *key, const struct gw_ip_address *address)
{
    char text[GW_IP_ADDRESS_TEXT_MAX];
    if (address == NULL || address->family == 0)
        return;
    gw_ip_address_print(address, text, sizeof text);
    add_string(line, key, gw_slice_of(text), sizeof text);
}

static void add_reason(struct gw_text *line, struct gw_refusal refusal)
{
    char code[GW_REASON_CODE_MAX];
    if (refusal.reason == GW_REASON_NONE)
        return;
    gw_refusal_print(refusal, code, sizeof code);
    add_string(line, "reason", gw_slice_of(code), sizeof code);
}

static void begin(struct gw_audit *audit, struct gw_text *line, const char *event, uint64_t id,
                  const struct gw_binding *binding, struct queue *queue)
{
    struct timespec now;
    char time[25];
    clock_gettime(CLOCK_REALTIME, &now);
    gw_log_time((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, time);
    gw_text_addf(line, "{\"v\":1,\"time\":\"%s\",\"event\":\"%s\",\"id\":\"%s-%llu\"", time, event,
                 audit->proxy->name, (unsigned long long)id);
    if (binding != NULL) {
        add_string(line, "network", gw_slice_of(binding->network->name), 128);
        add_string(line, "policy", gw_slice_of(binding->network->policy), 128);
        add_string(line, "digest", gw_slice_of(binding->policy->digest_text), GW_DIGEST_TEXT);
    }
    if (queue->dropped > 0)
        add_number(line, "dropped_before", queue->dropped);
}

static void finish(struct gw_audit *audit, struct queue *queue, struct gw_text *line)
{
    struct gw_process_page *page = audit->proxy->page;
    gw_text_add_string(line, "}\n");
    if (line->truncated || gw_buffer_length(&queue->lines) + line->length > share(audit)
        || !gw_buffer_append(&queue->lines, gw_text_slice(line))) {
        queue->dropped++;
        gw_count_add(page, GW_COUNT_AUDIT_DROPPED, 1);
        return;
    }
    queue->dropped = 0;
    gw_count_add(page, GW_COUNT_AUDIT_RECORDS, 1);
    if (!audit->scheduled && !audit->blocked) {
        audit->scheduled = true;
        uv_prepare_start(&audit->prepare, on_prepare);
    }
}

static const char *verdict(const struct gw_decision_record *record)
{
    if (record->refusal.reason == GW_REASON_NONE)
        return "allow";
    int status = gw_reason_status(record->refusal.reason);
    return status >= 500 && status != 505 ? "fail" : "refuse";
}

void gw_audit_decision(struct gw_audit *audit, uint32_t slot, const struct gw_binding *binding,
                       const struct gw_decision_record *record)
{
    char memory[RECORD_MAX];
    struct gw_text line;
    struct queue *queue = queue_of(audit, slot);
    if (queue == NULL)
        return;
    gw_text_init(&line, memory, sizeof memory);
    begin(audit, &line, "decision", record->id, binding, queue);
    add_address(&line, "client", record->client);
    add_string(&line, "kind", record->connect ? GW_SLICE("connect") : GW_SLICE("request"), 16);
    if (record->method.length > 0)
        add_string(&line, "method", record->method, METHOD_SHOWN);
    if (record->host.length > 0)
        add_string(&line, "host", record->host, HOST_SHOWN);
    if (record->port != 0)
        add_number(&line, "port", record->port);
    if (record->dial_port != 0)
        add_number(&line, "dial_port", record->dial_port);
    add_string(&line, "verdict", gw_slice_of(verdict(record)), 16);
    add_reason(&line, record->refusal);
    if (record->status != 0)
        add_number(&line, "status", (uint64_t)record->status);
    add_address(&line, "address", record->address);
    if (record->record_count > 0) {
        gw_text_add_string(&line, ",\"records\":[");
        for (size_t i = 0; i < record->record_count; i++) {
            char text[GW_IP_ADDRESS_TEXT_MAX];
            gw_ip_address_print(&record->records[i], text, sizeof text);
            gw_text_addf(&line, "%s\"%s\"", i == 0 ? "" : ",", text);
        }
        gw_text_add_char(&line, ']');
    }
    if (record->stamp_count > 0) {
        gw_text_add_string(&line, ",\"credentials\":[");
        for (size_t i = 0; i < record->stamp_count; i++) {
            gw_text_add_string(&line, i == 0 ? "\"" : ",\"");
            gw_text_add_json(&line, record->stamps[i].name, 128);
            gw_text_add_char(&line, '"');
        }
        gw_text_add_char(&line, ']');
    }
    if (record->detail != NULL)
        add_string(&line, "detail", gw_slice_of(record->detail), 256);
    finish(audit, queue, &line);
}

void gw_audit_end(struct gw_audit *audit, uint32_t slot, const struct gw_binding *binding,
                  const struct gw_end_record *record)
{
    char memory[RECORD_MAX];
    struct gw_text line;
    struct queue *queue = queue_of(audit, slot);
    if (queue == NULL)
        return;
    gw_text_init(&line, memory, sizeof memory);
    begin(audit, &line, "end", record->id, binding, queue);
    add_string(&line, "kind", record->connect ? GW_SLICE("connect") : GW_SLICE("request"), 16);
    add_string(&line, "host", gw_slice_of(record->host), HOST_SHOWN);
    add_number(&line, "port", record->port);
    add_address(&line, "address", record->address);
    add_string(&line, "closed", gw_slice_of(gw_closing_text(record->closing)), 32);
    add_reason(&line, record->refusal);
    if (record->status != 0)
        add_number(&line, "status", (uint64_t)record->status);
    if (record->sni.length > 0)
        add_string(&line, "sni", record->sni, HOST_SHOWN);
    add_number(&line, "bytes_up", record->bytes_up);
    add_number(&line, "bytes_down", record->bytes_down);
    add_milliseconds(&line, "dns_ms", record->durations.dns);
    add_milliseconds(&line, "connect_ms", record->durations.connect);
    add_milliseconds(&line, "tls_ms", record->durations.tls);
    add_milliseconds(&line, "first_byte_ms", record->durations.first_byte);
    add_milliseconds(&line, "duration_ms", (int64_t)record->duration_us);
    finish(audit, queue, &line);
}

/* As many whole lines as fit into one datagram; 0 when the first alone does not (it always does).
 */
static size_t whole_lines(struct gw_slice lines)
{
    if (lines.length <= GW_LOG_DATAGRAM_MAX - 1)
        return lines.length;
    const char *last = memrchr(lines.data, '\n', GW_LOG_DATAGRAM_MAX - 1);
    return last == NULL ? 0 : (size_t)(last - lines.data) + 1;
}

static bool flush_queue(struct queue *queue)
{
    while (gw_buffer_length(&queue->lines) > 0) {
        struct gw_slice lines = gw_buffer_slice(&queue->lines);
        lines.length = whole_lines(lines);
        if (!gw_log_send(GW_STREAM_ACCESS, lines))
            return false;
        gw_buffer_consume(&queue->lines, lines.length);
    }
    return true;
}

bool gw_audit_flush(struct gw_audit *audit)
{
    for (uint32_t i = 0; i < audit->queue_count; i++) {
        uint32_t slot = (audit->next + i) % audit->queue_count;
        if (flush_queue(&audit->queues[slot]))
            continue;
        audit->next = (slot + 1) % audit->queue_count; /* the others first, next time */
        audit->blocked = true;
        gw_timer_start(audit->proxy->timers, &audit->retry, RETRY_MS);
        return false;
    }
    return true;
}
