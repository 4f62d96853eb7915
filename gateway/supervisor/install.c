/* gateway/supervisor/install.c - what the children are told, and when all proxies have it.
 * A proxy keeps what it was sent for as long as a snapshot refers to it, so only the difference
 * between what it was last told and what is in force has to be sent. */
#define _GNU_SOURCE /* libuv's header needs it under -std=c11 */
#include "gateway/supervisor/process.h"

#include <string.h>

#include "gateway/common/log.h"
#include "gateway/common/wire.h"

/* A new process has more to do, and nobody waits for its answer. */
#define FIRST_INSTALL_MS 15000

static void send_block(struct gw_child *child, enum gw_message_type type, struct gw_wire_writer *w,
                       const int *fd)
{
    if (w->failed)
        child->link.failed = true;
    else
        gw_link_send(&child->link, type, gw_wire_written(w), fd, fd != NULL);
    gw_wire_writer_fini(w); /* wipes: it may have been a credential */
}

/* ---- the log writer ------------------------------------------------------------------------ */

static void send_targets(struct gw_child *log_writer, const struct gw_log_files *files)
{
    struct gw_wire_writer w;
    int fds[2];
    size_t count = 0;
    gw_wire_writer_init(&w);
    gw_wire_put_u8(&w, files->access >= 0);
    gw_wire_put_u8(&w, files->running >= 0);
    if (files->access >= 0)
        fds[count++] = files->access;
    if (files->running >= 0)
        fds[count++] = files->running;
    if (w.failed)
        log_writer->link.failed = true;
    else
        gw_link_send(&log_writer->link, GW_MSG_LOG_TARGETS, gw_wire_written(&w), fds, count);
    gw_wire_writer_fini(&w);
}

void gw_install_targets(struct gw_supervisor *s)
{
    if (s->log_writer.child != NULL)
        send_targets(s->log_writer.child, &s->current->logs);
}

void gw_install_log_source(struct gw_child *log_writer, const char *name, int source)
{
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_wire_put_bytes(&w, gw_slice_of(name));
    send_block(log_writer, GW_MSG_LOG_SOURCE, &w, &source);
}

/* A new one takes over the very sockets of the last: whoever writes to them notices nothing, and
 * what waits in them is not lost. */
void gw_install_log_writer(struct gw_child *log_writer)
{
    struct gw_supervisor *s = log_writer->slot->supervisor;
    send_targets(log_writer, &s->current->logs);
    gw_install_log_source(log_writer, "supervisor", s->own_log_source);
    if (s->launcher.child != NULL)
        gw_install_log_source(log_writer, s->launcher.name, s->launcher.child->log_source);
    gw_each_proxy (slot, s)
        if (slot->child != NULL)
            gw_install_log_source(log_writer, slot->name, slot->child->log_source);
}

/* ---- a proxy ------------------------------------------------------------------------------- */

void gw_install_local_addresses(struct gw_child *proxy)
{
    struct gw_wire_writer w;
    gw_wire_writer_init(&w);
    gw_local_addresses_put(&proxy->slot->supervisor->local, &w);
    send_block(proxy, GW_MSG_LOCAL_ADDRESSES, &w, NULL);
}

static bool has_image(const struct gw_running *told, const struct gw_running_image *image)
{
    for (size_t i = 0; told != NULL && i < told->image_count; i++)
        if (gw_digest_equal(&told->images[i].digest, &image->digest))
            return true;
    return false;
}

static void send_images(struct gw_child *proxy, const struct gw_running *now)
{
    for (size_t i = 0; i < now->image_count; i++) {
        const struct gw_running_image *image = &now->images[i];
        struct gw_wire_writer w;
        if (has_image(proxy->told, image))
            continue;
        gw_wire_writer_init(&w);
        gw_wire_put_bytes(
            &w, (struct gw_slice){ (const char *)image->digest.bytes, sizeof image->digest.bytes });
        send_block(proxy, GW_MSG_IMAGE, &w, &image->fd);
    }
}

static bool has_ca(const struct gw_running *told, const struct gw_running_ca *ca)
{
    for (size_t i = 0; told != NULL && i < told->settings->ca_count; i++)
        if (strcmp(told->cas[i].id, ca->id) == 0)
            return true;
    return false;
}

static void send_cas(struct gw_child *proxy, const struct gw_running *now)
{
    for (size_t i = 0; i < now->settings->ca_count; i++) {
        struct gw_wire_writer w;
        if (has_ca(proxy->told, &now->cas[i]))
            continue;
        gw_wire_writer_init(&w);
        gw_wire_put_bytes(&w, gw_slice_of(now->cas[i].id));
        send_block(proxy, GW_MSG_CA_BUNDLE, &w, &now->cas[i].fd);
    }
}

static bool has_credential(const struct gw_running *told, uint64_t id)
{
    for (size_t i = 0; told != NULL && i < told->settings->credential_count; i++)
        if (told->credentials[i].id == id)
            return true;
    return false;
}

static void send_credentials(struct gw_child *proxy, const struct gw_running *now)
{
    for (size_t i = 0; i < now->settings->credential_count; i++) {
        const struct gw_running_credential *credential = &now->credentials[i];
        struct gw_wire_writer w;
        if (has_credential(proxy->told, credential->id))
            continue;
        gw_wire_writer_init(&w);
        gw_wire_put_u64(&w, credential->id);
        gw_wire_put_bytes(&w, gw_secret_reveal(&credential->value.field));
        gw_wire_put_bytes(&w, gw_secret_reveal(&credential->value.secret));
        send_block(proxy, GW_MSG_CREDENTIAL, &w, NULL);
    }
}

static bool has_listener(const struct gw_running *told, uint32_t id)
{
    for (size_t i = 0; told != NULL && i < told->settings->network_count; i++)
        if (told->networks[i].listener->id == id)
            return true;
    return false;
}

static void send_listeners(struct gw_child *proxy, const struct gw_running *now)
{
    for (size_t i = 0; i < now->settings->network_count; i++) {
        const struct gw_listener *listener = now->networks[i].listener;
        struct gw_wire_writer w;
        if (has_listener(proxy->told, listener->id))
            continue;
        gw_wire_writer_init(&w);
        gw_wire_put_u32(&w, listener->id);
        send_block(proxy, GW_MSG_LISTENER, &w, &listener->fd);
    }
}

void gw_install_proxy(struct gw_child *proxy)
{
    struct gw_supervisor *s = proxy->slot->supervisor;
    struct gw_running *now = s->current;
    struct gw_wire_writer w;
    uint64_t first = proxy->told == NULL ? FIRST_INSTALL_MS : 0;
    if (s->phase > GW_PHASE_SERVING) { /* its listeners are closed: it has come too late */
        gw_child_kill(proxy, NULL);
        return;
    }
    send_images(proxy, now);
    send_cas(proxy, now);
    send_credentials(proxy, now);
    send_listeners(proxy, now);
    gw_wire_writer_init(&w);
    gw_wire_put_u64(&w, now->generation);
    send_block(proxy, GW_MSG_INSTALL, &w, &now->snapshot);
    gw_running_unref(proxy->told);
    proxy->told = gw_running_ref(now);
    proxy->state = GW_CHILD_INSTALLING;
    proxy->deadline_ms =
        uv_now(&s->loop)
        + (first != 0 ? first : gw_limit(&now->settings->limits, INSTALL_DEADLINE_MS));
}

/* ---- all of them --------------------------------------------------------------------------- */

static void take_installed(struct gw_child *proxy, struct gw_wire_reader *r)
{
    struct gw_supervisor *s = proxy->slot->supervisor;
    uint32_t tunnels = gw_wire_u32(r), exchanges = gw_wire_u32(r), pooled = gw_wire_u32(r);
    if (!gw_wire_done(r)) {
        gw_child_kill(proxy, "it sent a message that cannot be read");
        return;
    }
    proxy->state = GW_CHILD_RUNNING;
    proxy->deadline_ms = 0;
    if (proxy->in_install) {
        proxy->in_install = false;
        s->install.installed++;
        s->install.tunnels += tunnels;
        s->install.exchanges += exchanges;
        s->install.pooled += pooled;
    }
    gw_supervisor_changed(s);
}

void gw_install_on_installed(struct gw_child *proxy, struct gw_message *message)
{
    struct gw_wire_reader r;
    gw_wire_reader_init(&r, message->payload);
    uint64_t generation = gw_wire_u64(&r);
    /* An answer to an install that a newer one has overtaken, or from one that is to stop. */
    if (proxy->state != GW_CHILD_INSTALLING || generation != proxy->told->generation)
        return;
    if (message->type == GW_MSG_INSTALLED) {
        take_installed(proxy, &r);
        return;
    }
    struct gw_slice why = gw_wire_bytes(&r);
    gw_log(GW_LOG_ERROR, "%s could not install generation %llu: %.*s", proxy->slot->name,
           (unsigned long long)generation, (int)why.length, why.length == 0 ? "" : why.data);
    gw_child_kill(proxy, "it could not install its configuration");
}

void gw_install_begin(struct gw_supervisor *s)
{
    memset(&s->install, 0, sizeof s->install);
    s->install.active = true;
    s->install.started_ms = uv_now(&s->loop);
    gw_log_set_level(s->current->settings->log.level);
    gw_install_targets(s);
    gw_each_proxy (slot, s) {
        struct gw_child *child = slot->child;
        if (child == NULL
            || (child->state != GW_CHILD_INSTALLING && child->state != GW_CHILD_RUNNING))
            continue; /* a new one gets it when it is ready, and admits nothing before */
        child->in_install = true;
        gw_install_proxy(child);
    }
    gw_install_check(s);
}

void gw_install_check(struct gw_supervisor *s)
{
    char what[3072];
    if (!s->install.active || s->phase != GW_PHASE_SERVING)
        return;
    gw_each_proxy (slot, s)
        if (slot->child != NULL && slot->child->in_install)
            return;
    s->install.active = false;
    gw_running_describe(s->current, what, sizeof what);
    gw_log(GW_LOG_INFO,
           "reloaded: generation %llu in %llu ms; %u proxies took it, %u were replaced; cut %llu "
           "tunnels, %llu exchanges, %llu kept upstream connections; %s",
           (unsigned long long)s->current->generation,
           (unsigned long long)(uv_now(&s->loop) - s->install.started_ms), s->install.installed,
           s->install.replaced, (unsigned long long)s->install.tunnels,
           (unsigned long long)s->install.exchanges, (unsigned long long)s->install.pooled, what);
    if (s->reload_wanted)
        gw_reload(s);
}
