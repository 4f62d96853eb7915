/* gateway/proxy/proxy_main.c - a proxy process, from exec to exit.
 * Confined first; then it waits for what the supervisor sends, and serves. When the supervisor is
 * gone it drains and ends, as it does when it is told to. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "base/macros.h"
#include "base/number.h"
#include "gateway/common/channel.h"
#include "gateway/common/confinement.h"
#include "gateway/common/role.h"
#include "gateway/common/wire.h"
#include "gateway/proxy/client.h"
#include "gateway/proxy/door.h"
#include "gateway/proxy/relay.h"
#include "gateway/proxy/sweep.h"

enum { HEARTBEAT_MS = 1000, DESCRIPTORS_RESERVED = 100 };

/* The process: the data plane and its way to the supervisor. */
struct process {
    struct gw_proxy proxy;
    uv_poll_t channel;
    uv_timer_t heartbeat;
    struct gw_channel_buffer buffer;
    struct gw_stash *stash;
    struct gw_doors *doors;
    struct gw_timer deadline;    /* of draining */
    struct gw_ip_address *local; /* owned; proxy.own borrows */
    size_t local_count;
    struct gw_own_listener *listeners; /* owned; proxy.own borrows */
    bool connected;                    /* to the supervisor */
    bool ended;
    int status;
};

static void stop_if_done(struct process *process);

static void on_one_gone(struct gw_proxy *proxy)
{
    struct process *process = gw_container_of(proxy, struct process, proxy);
    gw_doors_reconsider(process->doors);
    if (proxy->draining)
        stop_if_done(process);
}

/* Small and rare: a channel that cannot take one is a supervisor that has stopped reading. */
static void report(struct process *process, enum gw_message_type type,
                   const struct gw_wire_writer *payload)
{
    struct gw_error err = GW_ERROR_NONE;
    if (process->connected)
        (void)gw_channel_send(GW_FD_CHANNEL, type, gw_wire_written(payload), NULL, 0, &err);
}

static void report_numbers(struct process *process, enum gw_message_type type, uint64_t first,
                           const unsigned *more, size_t more_count)
{
    struct gw_wire_writer writer;
    gw_wire_writer_init(&writer);
    if (type == GW_MSG_READY || type == GW_MSG_DRAINED)
        gw_wire_put_u32(&writer, (uint32_t)first);
    else
        gw_wire_put_u64(&writer, first);
    for (size_t i = 0; i < more_count; i++)
        gw_wire_put_u32(&writer, more[i]);
    report(process, type, &writer);
    gw_wire_writer_fini(&writer);
}

/* ---- what the supervisor sends ----------------------------------------------------------- */

static void set_client_most(struct gw_proxy *proxy)
{
    struct rlimit files = { 0 };
    uint64_t wanted = gw_limit(gw_proxy_limits(proxy), CONNECTIONS);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    uint64_t reserved =
        files.rlim_cur / 2 < DESCRIPTORS_RESERVED ? files.rlim_cur / 2 : DESCRIPTORS_RESERVED;
    uint64_t fits = (files.rlim_cur - reserved) / 2; /* a client and its upstream */
    proxy->client_most = wanted != 0 && wanted < fits ? wanted : fits;
}

/* Own listeners and other own ports, for the loop check. False when out of memory. */
static bool set_own(struct process *process)
{
    const struct gw_snapshot *snapshot = process->proxy.config->snapshot;
    size_t count = (size_t)snapshot->listener_count + snapshot->own_port_count;
    struct gw_own_listener *listeners = calloc(count + 1, sizeof *listeners);
    if (listeners == NULL)
        return false;
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        listeners[i] = (struct gw_own_listener){ .address = snapshot->listeners[i].address,
                                                 .wildcard = snapshot->listeners[i].wildcard,
                                                 .port = snapshot->listeners[i].port };
    for (uint32_t i = 0; i < snapshot->own_port_count; i++)
        listeners[snapshot->listener_count + i] =
            (struct gw_own_listener){ .address = snapshot->own_ports[i].address,
                                      .wildcard = snapshot->own_ports[i].wildcard,
                                      .port = snapshot->own_ports[i].port };
    free(process->listeners);
    process->listeners = listeners;
    process->proxy.own.listeners = listeners;
    process->proxy.own.listener_count = count;
    return true;
}

static struct gw_config *read_config(struct process *process, int fd, struct gw_error *err)
{
    struct gw_sealed_map map = { 0 };
    if (!gw_sealed_map(fd, &map, err))
        return NULL;
    struct gw_snapshot *snapshot =
        gw_snapshot_decode((struct gw_slice){ map.data, map.length }, err);
    gw_sealed_unmap(&map);
    return snapshot == NULL ? NULL : gw_config_make(process->stash, snapshot, err);
}

static void install_failed(struct process *process, uint64_t generation, const struct gw_error *err)
{
    struct gw_wire_writer writer;
    gw_wire_writer_init(&writer);
    gw_wire_put_u64(&writer, generation);
    gw_wire_put_bytes(&writer, gw_slice_of(err->text));
    report(process, GW_MSG_INSTALL_FAILED, &writer);
    gw_wire_writer_fini(&writer);
    gw_log(GW_LOG_ERROR, "configuration %llu was not taken: %s", (unsigned long long)generation,
           err->text);
}

/* Everything is made before anything is changed; then the swap, then the sweep, then the answer:
 * once it is given, nothing is admitted under the old policy, and nothing lives that the new one
 * refuses. */
static void install(struct process *process, struct gw_message *message)
{
    struct gw_proxy *proxy = &process->proxy;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    uint64_t generation = gw_wire_u64(&reader);
    struct gw_config *config = NULL, *old = proxy->config;
    if (!gw_wire_done(&reader) || message->fd_count != 1)
        gw_error_set(&err, GW_ERR_PEER, "malformed INSTALL message");
    else
        config = read_config(process, message->fds[0], &err);
    if (config == NULL || !gw_resolver_configure(proxy->resolver, config->snapshot, &err)) {
        gw_config_unref(config);
        install_failed(process, generation, &err);
        return;
    }
    proxy->config = config;
    if (!set_own(process)) {
        proxy->config = old;
        gw_config_unref(config);
        gw_error_set(&err, GW_ERR_MEMORY, "out of memory");
        install_failed(process, generation, &err);
        return;
    }
    gw_log_set_level(config->snapshot->log_level);
    set_client_most(proxy);
    gw_doors_apply(process->doors);
    struct gw_swept swept = gw_sweep(proxy);
    gw_stash_trim(process->stash, config);
    gw_config_unref(old);
    const unsigned counts[] = { swept.tunnels, swept.exchanges, swept.pooled };
    report_numbers(process, GW_MSG_INSTALLED, generation, counts, GW_COUNT(counts));
}

static bool take_local_addresses(struct process *process, const struct gw_message *message)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    uint32_t count = gw_wire_count(&reader, 21); /* a family, and 16 bytes with their length */
    struct gw_ip_address *local = calloc((size_t)count + 1, sizeof *local);
    if (local == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        local[i].family = gw_wire_u8(&reader);
        struct gw_slice bytes = gw_wire_bytes(&reader);
        if (bytes.length == sizeof local[i].bytes)
            memcpy(local[i].bytes, bytes.data, bytes.length);
    }
    if (!gw_wire_done(&reader)) {
        free(local);
        return false;
    }
    free(process->local);
    process->local = local;
    process->local_count = count;
    process->proxy.own.addresses = local;
    process->proxy.own.address_count = count;
    return true;
}

static bool take_listener(struct process *process, struct gw_message *message)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    uint32_t id = gw_wire_u32(&reader);
    int fd = gw_message_take_fd(message, 0);
    if (!gw_wire_done(&reader) || fd < 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    return gw_doors_take(process->doors, id, fd);
}

static void on_deadline(struct gw_timer *timer);

static void drain(struct process *process, uint64_t milliseconds)
{
    struct gw_proxy *proxy = &process->proxy;
    if (proxy->draining)
        return;
    gw_log(GW_LOG_INFO, "draining: %llu connections, at most %llu ms",
           (unsigned long long)proxy->client_count, (unsigned long long)milliseconds);
    proxy->draining = true;
    gw_doors_close(process->doors);
    gw_timer_start(proxy->timers, &process->deadline, milliseconds);
    gw_clients_drain(proxy);
    stop_if_done(process);
}

static void drain_by_message(struct process *process, const struct gw_message *message)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    drain(process, gw_wire_u32(&reader));
}

static void act_on(struct process *process, struct gw_message *message)
{
    struct gw_error err = GW_ERROR_NONE;
    bool taken = true;
    switch (message->type) {
    case GW_MSG_IMAGE:
    case GW_MSG_CA_BUNDLE:
    case GW_MSG_CREDENTIAL:
        taken = gw_stash_take(process->stash, message, &err);
        break;
    case GW_MSG_LISTENER:
        taken = take_listener(process, message);
        break;
    case GW_MSG_INSTALL:
        install(process, message);
        break;
    case GW_MSG_LOCAL_ADDRESSES:
        taken = take_local_addresses(process, message);
        break;
    case GW_MSG_DRAIN:
        drain_by_message(process, message);
        break;
    case GW_MSG_START:
    case GW_MSG_STARTED:
    case GW_MSG_START_FAILED:
    case GW_MSG_EXITED:
    case GW_MSG_LOG_TARGETS:
    case GW_MSG_LOG_SOURCE:
    case GW_MSG_READY:
    case GW_MSG_INSTALLED:
    case GW_MSG_INSTALL_FAILED:
    case GW_MSG_HEARTBEAT:
    case GW_MSG_DRAINED:
    case GW_MESSAGE_TYPES:
        taken = false;
        break;
    }
    if (!taken) /* what an install refers to will be missed there, and said there again */
        gw_log(GW_LOG_ERROR, "message %d was not taken: %s", (int)message->type, err.text);
}

static void lost_supervisor(struct process *process)
{
    process->connected = false;
    uv_poll_stop(&process->channel);
    gw_log(GW_LOG_ERROR, "the supervisor is gone");
    if (process->proxy.config == NULL)
        drain(process, 0);
    else
        drain(process, 1000 * gw_limit(gw_proxy_limits(&process->proxy), DRAIN_S));
}

static void on_channel(uv_poll_t *poll, int status, int events)
{
    struct process *process = poll->data;
    (void)status;
    (void)events;
    while (process->connected) {
        struct gw_message message;
        struct gw_error err = GW_ERROR_NONE;
        enum gw_channel_result result =
            gw_channel_receive(GW_FD_CHANNEL, &process->buffer, &message, &err);
        if (result == GW_CHANNEL_WOULD_BLOCK)
            return;
        if (result != GW_CHANNEL_OK) {
            lost_supervisor(process);
            return;
        }
        act_on(process, &message);
        gw_message_fini(&message);
    }
}

static void on_heartbeat(uv_timer_t *timer)
{
    struct process *process = timer->data;
    uv_metrics_t metrics;
    uv_metrics_info(&process->proxy.loop, &metrics);
    atomic_store_explicit(&process->proxy.page->counters[GW_COUNT_LOOP_TURNS], metrics.loop_count,
                          memory_order_relaxed);
    report_numbers(process, GW_MSG_HEARTBEAT, metrics.loop_count, NULL, 0);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void on_part_closed(void *context)
{
    (void)context;
}

static void on_handle_closed(uv_handle_t *handle)
{
    (void)handle;
}

/* Closes every handle; the loop then runs out by itself. */
static void end(struct process *process, unsigned cut)
{
    struct gw_proxy *proxy = &process->proxy;
    if (process->ended)
        return;
    process->ended = true;
    report_numbers(process, GW_MSG_DRAINED, cut, NULL, 0);
    gw_timer_stop(&process->deadline);
    gw_doors_free(process->doors);
    process->doors = NULL;
    gw_pool_free(proxy->pool);
    gw_resolver_close(proxy->resolver, on_part_closed, NULL);
    gw_audit_free(proxy->audit);
    uv_close((uv_handle_t *)&process->channel, on_handle_closed);
    uv_close((uv_handle_t *)&process->heartbeat, on_handle_closed);
    gw_reactor_close(proxy->reactor, on_part_closed, NULL);
    gw_timers_close(proxy->timers, on_part_closed, NULL);
}

static void stop_if_done(struct process *process)
{
    struct gw_proxy *proxy = &process->proxy;
    /* Not by the lists: a connection on its way from the one to the other is in neither. */
    if (!process->ended && proxy->client_count == 0)
        gw_timer_start(proxy->timers, &process->deadline, 0); /* not from within a callback */
}

static void on_deadline(struct gw_timer *timer)
{
    struct process *process = gw_container_of(timer, struct process, deadline);
    unsigned cut = gw_relays_close(&process->proxy) + gw_clients_close(&process->proxy);
    end(process, cut);
}

/* ---- the beginning ----------------------------------------------------------------------- */

static bool start_data_plane(struct gw_proxy *proxy, struct gw_error *err)
{
    proxy->reactor = gw_reactor_new(&proxy->loop, err);
    proxy->timers = proxy->reactor == NULL ? NULL : gw_timers_new(&proxy->loop, err);
    proxy->resolver =
        proxy->timers == NULL ? NULL : gw_resolver_new(&proxy->loop, proxy->page, err);
    proxy->pool = gw_pool_new(proxy);
    proxy->audit = gw_audit_new(proxy);
    gw_list_init(&proxy->clients);
    gw_list_init(&proxy->relays);
    proxy->one_gone = on_one_gone;
    if (proxy->pool == NULL || proxy->audit == NULL)
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
    return proxy->resolver != NULL && proxy->pool != NULL && proxy->audit != NULL
           && gw_tls_start(err);
}

static bool start(struct process *process, const char *name, struct gw_error *err)
{
    struct gw_proxy *proxy = &process->proxy;
    const struct gw_confinement confinement = gw_role_confinement();
    uint64_t index;
    gw_close_other_descriptors(GW_FD_CHANNEL, 3);
    for (int fd = GW_FD_CHANNEL; fd <= GW_FD_SHARED; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)signal(SIGPIPE, SIG_IGN);
    gw_log_start(name, GW_FD_LOG, GW_LOG_INFO);
    (void)gw_raise_descriptor_limit();
    if (!gw_confine(&confinement, err))
        return false;
    struct gw_slice text = gw_slice_of(name);
    if (text.length <= 6
        || !gw_number_parse((struct gw_slice){ text.data + 6, text.length - 6 }, 0,
                            GW_PROCESSES_MAX - 1, &index)) {
        gw_error_set(err, GW_ERR_PEER, "a proxy is called proxy-N");
        return false;
    }
    proxy->name = name;
    proxy->index = (unsigned)index;
    proxy->shared = gw_shared_attach(GW_FD_SHARED, err);
    if (proxy->shared == NULL)
        return false;
    proxy->page = &proxy->shared->process[index];
    uv_loop_init(&proxy->loop);
    process->stash = gw_stash_new();
    process->doors = gw_doors_new(proxy);
    if (!start_data_plane(proxy, err) || process->stash == NULL || process->doors == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return false;
    }
    gw_timer_init(&process->deadline, on_deadline);
    uv_poll_init(&proxy->loop, &process->channel, GW_FD_CHANNEL);
    uv_timer_init(&proxy->loop, &process->heartbeat);
    process->channel.data = process->heartbeat.data = process;
    uv_poll_start(&process->channel, UV_READABLE, on_channel);
    uv_timer_start(&process->heartbeat, on_heartbeat, HEARTBEAT_MS, HEARTBEAT_MS);
    process->connected = true;
    report_numbers(process, GW_MSG_READY, (uint64_t)getpid(), NULL, 0);
    return true;
}

int gw_proxy_main(const char *name)
{
    struct gw_error err = GW_ERROR_NONE;
    struct process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return EXIT_FAILURE;
    if (!start(process, name, &err)) {
        gw_log(GW_LOG_ERROR, "cannot start: %s", err.text);
        _exit(EXIT_FAILURE); /* half-made: nothing to put in order */
    }
    uv_run(&process->proxy.loop, UV_RUN_DEFAULT);
    gw_check(uv_loop_close(&process->proxy.loop) == 0);
    gw_stash_free(process->stash);
    gw_config_unref(process->proxy.config);
    gw_tls_stop();
    free(process->local);
    free(process->listeners);
    gw_shared_detach(process->proxy.shared);
    free(process);
    return EXIT_SUCCESS;
}
