/* gateway/supervisor/running.c */
#include "gateway/supervisor/running.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "gateway/common/sealed.h"
#include "gateway/config/config.h"
#include "gateway/supervisor/running_snapshot.h"
#include "gateway/supervisor/via_token.h"

/* A client and an upstream connection; a process needs some descriptors for itself too. */
#define DESCRIPTORS_A_CONNECTION 2
#define DESCRIPTORS_RESERVED 100

static void tell(struct gw_complaints *complaints, const struct gw_error *err)
{
    char text[sizeof err->text + sizeof err->file + 32];
    gw_error_print(err, text, sizeof text);
    gw_complaints_add(complaints, "%s", text);
}

static struct gw_settings *read_settings(const char *path, struct gw_complaints *complaints)
{
    struct gw_config_errors errors = { 0 };
    struct gw_settings *settings = gw_config_load(path, &errors);
    for (size_t i = 0; settings == NULL && i < errors.count; i++) {
        const struct gw_config_error *at = &errors.list[i];
        if (at->line != 0)
            gw_complaints_add(complaints, "%s:%u:%u: %s", path, at->line, at->column, at->text);
        else
            gw_complaints_add(complaints, "%s: %s", path, at->text);
    }
    if (settings == NULL && errors.left_out > 0)
        gw_complaints_add(complaints, "%s: and %zu more", path, errors.left_out);
    gw_config_errors_fini(&errors);
    return settings;
}

/* The same value keeps its id: proxies have it already. */
static void give_id(struct gw_running_credential *credential, const struct gw_running *previous)
{
    static uint64_t last_id;
    if (previous != NULL)
        for (size_t i = 0; i < previous->settings->credential_count; i++) {
            const struct gw_running_credential *old = &previous->credentials[i];
            if (strcmp(old->name, credential->name) == 0
                && gw_credential_value_equal(&old->value, &credential->value)) {
                credential->id = old->id;
                return;
            }
        }
    credential->id = ++last_id;
}

static void read_credentials(struct gw_running *running, const struct gw_running_load *load,
                             struct gw_complaints *complaints)
{
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < settings->credential_count; i++) {
        struct gw_error err = GW_ERROR_NONE;
        const struct gw_settings_credential *source = &settings->credentials[i];
        struct gw_running_credential *credential = &running->credentials[i];
        credential->name = source->name;
        if (gw_credential_read(load->environment, source, &credential->value, &err))
            give_id(credential, load->previous);
        else {
            gw_error_at(&err, settings->path, source->line, source->column);
            tell(complaints, &err);
        }
    }
}

static void add_image(struct gw_running *running, const struct gw_settings_policy *policy,
                      struct gw_complaints *complaints)
{
    struct gw_error err = GW_ERROR_NONE;
    for (size_t i = 0; i < running->image_count; i++)
        if (gw_digest_equal(&running->images[i].digest, &policy->digest))
            return;
    struct gw_slice bytes = { policy->image, policy->image_length };
    int fd = gw_sealed_make("namzu-gw-policy", bytes, &err);
    if (fd < 0)
        tell(complaints, &err);
    else
        running->images[running->image_count++] =
            (struct gw_running_image){ .digest = policy->digest, .fd = fd };
}

static void seal_files(struct gw_running *running, struct gw_complaints *complaints)
{
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < settings->network_count; i++)
        add_image(running, &settings->policies[settings->networks[i].policy], complaints);
    for (size_t i = 0; i < settings->ca_count; i++) {
        struct gw_error err = GW_ERROR_NONE;
        struct gw_slice pem = { settings->cas[i].pem, settings->cas[i].length };
        running->cas[i].id = settings->cas[i].id;
        running->cas[i].fd = gw_sealed_make("namzu-gw-ca", pem, &err);
        if (running->cas[i].fd < 0)
            tell(complaints, &err);
    }
}

static struct gw_listener *find_listener(const struct gw_running *in, size_t count,
                                         const struct gw_endpoint *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (in->networks[i].listener != NULL
            && gw_endpoint_equal(&in->networks[i].listener->wanted, wanted))
            return in->networks[i].listener;
    return NULL;
}

/* The kernel has no way to move a port between the wildcard and one address without a gap. */
static void hint(const struct gw_running *previous, uint16_t port, struct gw_error *err)
{
    char other[GW_ENDPOINT_TEXT_MAX];
    for (size_t i = 0; previous != NULL && i < previous->settings->network_count; i++) {
        const struct gw_listener *listener = previous->networks[i].listener;
        if (listener->port != port)
            continue;
        gw_endpoint_print(&listener->wanted, port, other);
        gw_error_prefix(err,
                        "this gateway itself listens on %s; to change that takes two reloads, "
                        "or a restart",
                        other);
        return;
    }
}

static void bind_listeners(struct gw_running *running, const struct gw_running *previous,
                           struct gw_complaints *complaints)
{
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < settings->network_count; i++) {
        struct gw_error err = GW_ERROR_NONE;
        const struct gw_settings_network *network = &settings->networks[i];
        struct gw_listener *kept =
            previous == NULL
                ? NULL
                : find_listener(previous, previous->settings->network_count, &network->listen);
        running->networks[i].listener =
            kept != NULL ? gw_listener_ref(kept) : gw_listener_new(&network->listen, &err);
        if (running->networks[i].listener == NULL) {
            hint(previous, network->listen.port, &err);
            gw_error_prefix(&err, "network %s", network->name);
            gw_error_at(&err, settings->path, network->line, network->column);
            tell(complaints, &err);
        }
    }
}

/* A network that was there keeps its slot. A new one gets a slot that nobody has and, if it can
 * be helped, in which connections of a network that is gone are not counted any more. */
static void assign_slots(struct gw_running *running, const struct gw_running_load *load,
                         struct gw_complaints *complaints)
{
    const struct gw_settings *settings = running->settings;
    const struct gw_running *previous = load->previous;
    bool used[GW_NETWORK_SLOTS] = { false }, given[GW_NETWORK_SLOTS] = { false };
    if (settings->network_count > GW_NETWORK_SLOTS) {
        gw_complaints_add(complaints, "%s: more than %d networks", settings->path,
                          GW_NETWORK_SLOTS);
        return;
    }
    for (size_t i = 0; i < settings->network_count; i++) {
        running->networks[i].slot = UINT32_MAX;
        for (size_t k = 0; previous != NULL && k < previous->settings->network_count; k++)
            if (strcmp(previous->settings->networks[k].name, settings->networks[i].name) == 0)
                used[running->networks[i].slot = previous->networks[k].slot] = true;
    }
    memcpy(given, used, sizeof given);
    for (size_t k = 0; previous != NULL && k < previous->settings->network_count; k++)
        used[previous->networks[k].slot] = true;
    for (uint32_t k = 0; load->shared != NULL && k < GW_NETWORK_SLOTS; k++)
        if (load->shared->admission[k].connections != 0 || load->shared->admission[k].tunnels != 0)
            used[k] = true;
    for (size_t i = 0; i < settings->network_count; i++) {
        uint32_t k = 0, second = 0;
        if (running->networks[i].slot != UINT32_MAX)
            continue;
        while (k < GW_NETWORK_SLOTS && used[k])
            k++;
        while (given[second])
            second++; /* fewer networks than slots: there is one */
        running->networks[i].slot = k < GW_NETWORK_SLOTS ? k : second;
        used[running->networks[i].slot] = given[running->networks[i].slot] = true;
    }
}

static void check_descriptors(const struct gw_running *running, unsigned long limit,
                              struct gw_complaints *complaints)
{
    uint64_t wanted = gw_limit(&running->settings->limits, CONNECTIONS);
    uint64_t needed = wanted * DESCRIPTORS_A_CONNECTION + DESCRIPTORS_RESERVED;
    if (wanted != 0 && needed > limit)
        gw_complaints_add(
            complaints,
            "%s: gateway.limits.connections: %llu connections need %llu descriptors, and "
            "the limit is %lu (ulimit -Hn, LimitNOFILE=)",
            running->settings->path, (unsigned long long)wanted, (unsigned long long)needed, limit);
}

/* More would be accepted and not applied. */
static void check_processes(const struct gw_running *running, struct gw_complaints *complaints)
{
    if (running->settings->processes > GW_PROCESSES_MAX)
        gw_complaints_add(complaints, "%s: gateway.processes: at most %d", running->settings->path,
                          GW_PROCESSES_MAX);
}

static bool get_via_token(const struct gw_running *running, const struct gw_running_load *load,
                          struct gw_complaints *complaints)
{
    struct gw_error err = GW_ERROR_NONE;
    if (load->via_token != NULL
        || gw_via_token_get(running->settings->state_dir, load->new_via_token, &err))
        return true;
    tell(complaints, &err);
    return false;
}

static bool allocate(struct gw_running *running)
{
    const struct gw_settings *settings = running->settings;
    running->images = calloc(settings->network_count + 1, sizeof *running->images);
    running->cas = calloc(settings->ca_count + 1, sizeof *running->cas);
    running->credentials = calloc(settings->credential_count + 1, sizeof *running->credentials);
    running->networks = calloc(settings->network_count + 1, sizeof *running->networks);
    for (size_t i = 0; running->cas != NULL && i < settings->ca_count; i++)
        running->cas[i].fd = -1;
    return running->images != NULL && running->cas != NULL && running->credentials != NULL
           && running->networks != NULL;
}

static void make_snapshot(struct gw_running *running, const struct gw_running_load *load,
                          struct gw_complaints *complaints)
{
    struct gw_error err = GW_ERROR_NONE;
    const char *token = load->via_token != NULL ? load->via_token : load->new_via_token;
    running->snapshot = gw_running_snapshot(running, token, &err);
    if (running->snapshot < 0)
        tell(complaints, &err);
}

struct gw_running *gw_running_load(const struct gw_running_load *load,
                                   struct gw_complaints *complaints)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_settings *settings = read_settings(load->path, complaints);
    struct gw_running *running = settings == NULL ? NULL : calloc(1, sizeof *running);
    if (running == NULL) {
        if (settings != NULL)
            gw_complaints_add(complaints, "no memory for the configuration");
        gw_settings_free(settings);
        return NULL;
    }
    running->references = 1;
    running->settings = settings;
    running->snapshot = -1;
    running->logs = (struct gw_log_files){ .access = -1, .running = -1 };
    running->generation = load->previous == NULL ? 1 : load->previous->generation + 1;
    if (!allocate(running))
        gw_complaints_add(complaints, "no memory for the configuration");
    else {
        read_credentials(running, load, complaints);
        check_processes(running, complaints);
        check_descriptors(running, load->descriptor_limit, complaints);
        if (!gw_log_files_open(settings, &running->logs, &err))
            tell(complaints, &err);
        seal_files(running, complaints);
        assign_slots(running, load, complaints);
        bind_listeners(running, load->previous, complaints);
        if (complaints->count == 0 && get_via_token(running, load, complaints))
            make_snapshot(running, load, complaints);
    }
    if (complaints->count == 0)
        return running;
    gw_running_unref(running);
    return NULL;
}

struct gw_running *gw_running_ref(struct gw_running *running)
{
    running->references++;
    return running;
}

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

void gw_running_unref(struct gw_running *running)
{
    if (running == NULL || --running->references > 0)
        return;
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < running->image_count; i++)
        close_descriptor(running->images[i].fd);
    for (size_t i = 0; running->cas != NULL && i < settings->ca_count; i++)
        close_descriptor(running->cas[i].fd);
    for (size_t i = 0; running->credentials != NULL && i < settings->credential_count; i++)
        gw_credential_value_fini(&running->credentials[i].value);
    for (size_t i = 0; running->networks != NULL && i < settings->network_count; i++)
        gw_listener_unref(running->networks[i].listener);
    gw_log_files_close(&running->logs);
    close_descriptor(running->snapshot);
    free(running->images);
    free(running->cas);
    free(running->credentials);
    free(running->networks);
    gw_settings_free(running->settings);
    free(running);
}

void gw_running_describe(const struct gw_running *running, char *out, size_t room)
{
    const struct gw_settings *settings = running->settings;
    struct gw_text text;
    gw_text_init(&text, out, room);
    for (size_t i = 0; i < settings->network_count; i++) {
        char endpoint[GW_ENDPOINT_TEXT_MAX], digest[GW_DIGEST_TEXT];
        const struct gw_settings_policy *policy = &settings->policies[settings->networks[i].policy];
        const struct gw_listener *listener = running->networks[i].listener;
        gw_endpoint_print(&listener->wanted, listener->port, endpoint);
        gw_digest_print(&policy->digest, digest);
        gw_text_addf(&text, "%snetwork %s on %s: policy %s sha256:%s", i == 0 ? "" : "; ",
                     settings->networks[i].name, endpoint, policy->name, digest);
    }
}
