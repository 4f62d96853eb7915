/* gateway/supervisor/running.h - one loaded configuration and everything that it stands on:
 * settings, credential values, listening sockets, policy images, CA bundles, log files, snapshot.
 * Made whole or not at all, never changed afterwards, shared by counted references: the supervisor
 * has one to what is in force, and each child to what it was last told. */
#pragma once
#include <stdint.h>

#include "gateway/common/counters.h"
#include "gateway/config/settings.h"
#include "gateway/supervisor/complaint.h"
#include "gateway/supervisor/credential_source.h"
#include "gateway/supervisor/listener.h"
#include "gateway/supervisor/log_files.h"

struct gw_running_image { /* one a distinct policy that a network uses */
    struct gw_digest digest;
    int fd;
};

struct gw_running_ca {
    const char *id; /* borrowed from the settings */
    int fd;
};

struct gw_running_credential {
    uint64_t id;
    const char *name; /* borrowed from the settings */
    struct gw_credential_value value;
};

struct gw_running_network {
    struct gw_listener *listener; /* a reference */
    uint32_t slot;
};

struct gw_running {
    unsigned references;
    uint64_t generation;
    struct gw_settings *settings;
    struct gw_running_image *images;
    size_t image_count;
    struct gw_running_ca *cas;                 /* as many as the settings have */
    struct gw_running_credential *credentials; /* as many as the settings have */
    struct gw_running_network *networks;       /* as many as the settings have */
    struct gw_log_files logs;
    int snapshot; /* sealed */
};

struct gw_running_load {
    const char *path;
    const struct gw_running *previous; /* NULL at start; sockets, slots and ids live on from it */
    struct gw_environment_values *environment;
    struct gw_shared *shared; /* counts tell which slots are really free */
    const char *via_token;    /* NULL: taken from settings->state_dir, and kept here */
    char *new_via_token;
    unsigned long descriptor_limit; /* what an explicit limits.connections must fit into */
};

/* Everything is tried, and everything that is wrong is complained about; then NULL, and nothing
 * has changed. The generation is one more than the previous one's. */
struct gw_running *gw_running_load(const struct gw_running_load *load,
                                   struct gw_complaints *complaints);
struct gw_running *gw_running_ref(struct gw_running *running);
void gw_running_unref(struct gw_running *running); /* NULL is fine */

/* "build=sha256:… (local 127.0.0.1:3128)": what is in force, for one log line. */
void gw_running_describe(const struct gw_running *running, char *out, size_t room);
