/* gateway/supervisor/process.h - the processes that the supervisor keeps alive, and its own state.
 *
 * A slot is a place that is to be filled for as long as the gateway runs ("proxy-0"); a child is
 * one process in it. A slot outlives its children: it knows when they died, and so when the next
 * one may start. A child is freed when its last handle has closed, which may be after its successor
 * has begun. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "gateway/common/counters.h"
#include "gateway/common/role.h"
#include "gateway/supervisor/link.h"
#include "gateway/supervisor/local_addresses.h"
#include "gateway/supervisor/proxy_user.h"
#include "gateway/supervisor/running.h"

struct gw_supervisor;

/* What is awaited. */
enum gw_child_state {
    GW_CHILD_STARTING,   /* its first word: READY, or a heartbeat of the log writer */
    GW_CHILD_INSTALLING, /* proxies: INSTALLED */
    GW_CHILD_RUNNING,    /* heartbeats */
    GW_CHILD_STOPPING,   /* its end, which it was asked for */
    GW_CHILD_ENDING,     /* its end, after SIGKILL */
    GW_CHILD_GONE,       /* its handles to close; not in its slot any more */
};

struct gw_child {
    struct gw_slot *slot;
    enum gw_child_state state;
    uint64_t deadline_ms; /* of the state; 0: none */
    uint64_t heard_ms;    /* the last heartbeat */
    uint64_t started_ms;
    uint32_t ticket; /* of its START */
    pid_t pid;       /* 0: not known yet */
    int pidfd;       /* -1: not known yet */
    uv_poll_t pidfd_poll;
    bool pidfd_polled;
    bool ended; /* seen by its pidfd; its parent will tell the wait status */
    struct gw_link link;
    unsigned open_handles;
    int log_source; /* reading end of its log socket, kept for the next log writer; or -1 */
    struct gw_running *told; /* proxies: the configuration it was sent; a reference */
    bool in_install;         /* the install that is under way waits for it */
};

struct gw_slot {
    struct gw_supervisor *supervisor;
    enum gw_role role;
    unsigned index;
    char name[20];
    struct gw_child *child; /* NULL: none */
    bool wanted;            /* to be filled again when it is empty */
    uint64_t start_at_ms;   /* not before */
    uint64_t backoff_ms;
    uint64_t deaths_ms[3]; /* the last ones, oldest first; 0: none */
    unsigned deaths;       /* since the start */
};

enum gw_phase {
    GW_PHASE_STARTING, /* the first install of every proxy */
    GW_PHASE_SERVING,
    GW_PHASE_DRAINING, /* the end of the proxies */
    GW_PHASE_FLUSHING, /* the end of the log writer, and of the launcher after it */
    GW_PHASE_LEFT,     /* the loop's: nothing is left in it */
};

struct gw_supervisor {
    uv_loop_t loop;
    uv_prepare_t prepare; /* before each wait: when is the next deadline? */
    uv_timer_t timer;
    uv_signal_t hangup, terminate, interrupt;
    uv_poll_t netlink;
    int netlink_fd;
    enum gw_phase phase;
    int exit_status;
    const char *config_path;
    struct gw_slot launcher, log_writer, proxies[GW_PROCESSES_MAX];
    unsigned proxy_count;
    uint32_t last_ticket;
    int own_log_source; /* reading end of our own log socket */
    int own_log_socket; /* writing end, until the log writer is there; then log.h has it */
    struct gw_shared *shared;
    int shared_fd;
    struct gw_proxy_user user;
    unsigned long descriptor_limit;
    struct { /* what the gateway was started with, and cannot change while it runs */
        unsigned processes;
        char *user, *state_dir; /* owned; may be NULL */
    } fixed;
    char via_token[33];
    struct gw_environment_values *environment;
    struct gw_running *current;
    struct gw_local_addresses local;
    uint64_t local_at_ms; /* when to look again */
    bool local_failed;    /* said once */
    struct {
        bool active;
        uint64_t started_ms, tunnels, exchanges, pooled;
        unsigned installed, replaced;
    } install;
    bool reload_wanted;
};

/* ---- slot.c: which processes there are to be ----------------------------------------------- */

void gw_slot_init(struct gw_slot *slot, struct gw_supervisor *supervisor, enum gw_role role,
                  unsigned index);
/* Starts a child now; says so, and tries again later, when it cannot. */
void gw_slot_fill(struct gw_slot *slot);
/* The earliest moment at which gw_slot_on_time() has something to do; UINT64_MAX: none. */
uint64_t gw_slot_next_ms(const struct gw_slot *slot);
void gw_slot_on_time(struct gw_slot *slot);
/* The child has left the slot. `what` says how it ended. */
void gw_slot_lost(struct gw_slot *slot, const struct gw_child *child, const char *what);

/* ---- child.c: one process, from its start to its end --------------------------------------- */

/* NULL and `err` when it could not even be asked for. */
struct gw_child *gw_child_new(struct gw_slot *slot, struct gw_error *err);
/* For gw_link_close() of its link alone, while it lives on without a channel. */
void gw_child_on_closed(uv_handle_t *handle);
/* SIGKILL, as soon as its pid is known, for this reason; its end will be reported to the slot. */
void gw_child_kill(struct gw_child *child, const char *why);
/* It has ended: leaves its slot, closes everything, frees itself when that is done. */
void gw_child_ended(struct gw_child *child, bool status_known, int wait_status);
void gw_child_on_time(struct gw_child *child);
/* Is this process one that a slot has? */
bool gw_child_is_known(struct gw_supervisor *s, pid_t pid);
uint64_t gw_child_next_ms(const struct gw_child *child);

/* ---- install.c: what proxies and the log writer are told ----------------------------------- */

void gw_install_targets(struct gw_supervisor *s); /* log files to the log writer */
void gw_install_log_source(struct gw_child *log_writer, const char *name, int source);
void gw_install_log_writer(struct gw_child *log_writer); /* everything, to a new one */
void gw_install_proxy(struct gw_child *proxy);           /* s->current, what it lacks of it */
void gw_install_local_addresses(struct gw_child *proxy);
void gw_install_on_installed(struct gw_child *proxy, struct gw_message *message);
void gw_install_begin(struct gw_supervisor *s); /* s->current is new: tell all */
void gw_install_check(struct gw_supervisor *s); /* is it finished? */

/* ---- reload.c ------------------------------------------------------------------------------ */

void gw_reload(struct gw_supervisor *s); /* now, or after what is under way */
/* Once a configuration is in force: what cannot change while we run, and what was warned about. */
void gw_reload_warnings(const struct gw_running *running);

/* ---- shutdown.c ---------------------------------------------------------------------------- */

/* Drain, flush, leave, with this exit status. A second call kills what is left. */
void gw_shutdown(struct gw_supervisor *s, int exit_status);
void gw_shutdown_check(struct gw_supervisor *s); /* may the next phase begin? */

/* ---- supervisor.c -------------------------------------------------------------------------- */

/* A child has become RUNNING, or has left. */
void gw_supervisor_changed(struct gw_supervisor *s);

#define gw_each_proxy(slot, s) \
    for (struct gw_slot *slot = (s)->proxies; slot < (s)->proxies + (s)->proxy_count; slot++)
