/* gateway/common/start.h - one process of ours: fork, place its descriptors, exec ourselves. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/slice.h"
#include "gateway/common/confinement.h"
#include "gateway/common/role.h"

struct gw_start {
    enum gw_role role;
    struct gw_slice process;       /* "proxy-0" */
    struct gw_confinement confine; /* told on its command line; it does it itself */
    const int *fds;                /* borrowed; become 3, 4, 5, … */
    size_t fd_count;
};

/* The environment of every process but the supervisor: nothing, but for what a sanitizer needs in
 * the builds that have one. In static memory; made once from our own environment. */
char **gw_start_environment(void);

/* Only the child's: moves `fds` to 3, 4, 5, … whatever numbers they have now, and lets exec close
 * every other descriptor from 3 on. False with errno. Safe between fork and exec. */
bool gw_start_place(const int *fds, size_t count);

/* True once the new program runs; `*pid` is then a child of ours and `*pidfd` (close-on-exec)
 * names it. A program that could not be exec'd is reaped, and `err` says why. */
bool gw_start(const struct gw_start *start, pid_t *pid, int *pidfd, struct gw_error *err);
