/* gateway/common/confinement.h - giving up everything that a process does not need, right after
 * exec and before the first byte from outside. Each step is checked, none is best effort. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct gw_confinement {
    bool change_user; /* started as root: become uid:gid, no supplementary groups */
    uid_t uid;
    gid_t gid;
};

/* no_new_privs; no io_uring (it answers ENOSYS; call this before a loop is made, which would open
 * a ring that no later filter sees into); no core dumps (RLIMIT_CORE 0 and not dumpable, so that
 * /proc/PID is root's too); user and groups changed and verified to be irreversible; every
 * capability set empty, the bounding set included where we may. Sanitizer builds stay dumpable
 * (LeakSanitizer needs ptrace). */
bool gw_confine(const struct gw_confinement *how, struct gw_error *err);

/* Closes every descriptor but 0, 1, 2 and [first, first + count). */
void gw_close_other_descriptors(int first, int count);

/* Raises RLIMIT_NOFILE to its hard limit; returns the limit in force. */
unsigned long gw_raise_descriptor_limit(void);
