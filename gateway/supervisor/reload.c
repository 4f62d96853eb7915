/* gateway/supervisor/reload.c - SIGHUP: everything is read first, then taken whole or not at all.
 */
#define _GNU_SOURCE /* libuv's header needs it under -std=c11 */
#include "gateway/supervisor/process.h"

#include <string.h>

#include "gateway/common/log.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void warn_of_fixed(const struct gw_supervisor *s, const struct gw_settings *settings)
{
    static const char text[] = "reload: %s has changed, which takes a restart; the old one stays";
    if (settings->processes != s->fixed.processes)
        gw_log(GW_LOG_WARNING, text, "gateway.processes");
    if (!same_text(settings->user, s->fixed.user))
        gw_log(GW_LOG_WARNING, text, "gateway.user");
    if (!same_text(settings->state_dir, s->fixed.state_dir))
        gw_log(GW_LOG_WARNING, text, "gateway.state_dir");
}

void gw_reload_warnings(const struct gw_running *running)
{
    const struct gw_settings *settings = running->settings;
    for (size_t i = 0; i < settings->warning_count; i++)
        gw_log(GW_LOG_WARNING, "%s", settings->warnings[i]);
    for (size_t i = 0; i < settings->credential_count; i++)
        if (gw_credential_file_is_open(&settings->credentials[i]))
            gw_log(GW_LOG_WARNING, "credential %s: everybody may read %s",
                   settings->credentials[i].name, settings->credentials[i].source_name);
}

void gw_reload(struct gw_supervisor *s)
{
    struct gw_complaints complaints = { .reload = true };
    const struct gw_running_load load = {
        .path = s->config_path,
        .previous = s->current,
        .environment = s->environment,
        .shared = s->shared,
        .via_token = s->via_token,
        .descriptor_limit = s->descriptor_limit,
    };
    if (s->phase > GW_PHASE_SERVING) {
        gw_log(GW_LOG_WARNING, "reload: not now, the gateway is stopping");
        return;
    }
    if (s->phase == GW_PHASE_STARTING || s->install.active) {
        s->reload_wanted = true; /* once, however often it is asked for meanwhile */
        return;
    }
    s->reload_wanted = false;
    struct gw_running *next = gw_running_load(&load, &complaints);
    if (next == NULL) {
        gw_log(GW_LOG_ERROR, "reload refused: %u mistake%s; generation %llu stays in force",
               complaints.count, complaints.count == 1 ? "" : "s",
               (unsigned long long)s->current->generation);
        return;
    }
    struct gw_running *last = s->current;
    s->current = next;
    warn_of_fixed(s, next->settings);
    gw_reload_warnings(next);
    gw_install_begin(s);
    gw_running_unref(last); /* children that were told of it keep it until they answer */
}
