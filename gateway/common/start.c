/* gateway/common/start.c */
#define _GNU_SOURCE /* pipe2, pidfd_open, close_range */
#include "gateway/common/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "gateway/common/channel.h"

char **gw_start_environment(void)
{
    static char *kept[4];
#ifdef GW_SANITIZED
    static const char *const wanted[] = { "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS=" };
    size_t count = 0;
    for (size_t i = 0; i < GW_COUNT(wanted); i++)
        for (char **at = environ; *at != NULL; at++)
            if (strncmp(*at, wanted[i], strlen(wanted[i])) == 0) {
                kept[count++] = *at;
                break;
            }
    kept[count] = NULL;
#endif
    return kept;
}

/* First out of the way, then into place: a source may have the number of another's target. */
bool gw_start_place(const int *fds, size_t count)
{
    int away[GW_CHANNEL_FDS_MAX];
    for (size_t i = 0; i < count; i++) {
        away[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, GW_FD_CHANNEL + GW_CHANNEL_FDS_MAX + 8);
        if (away[i] < 0)
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (dup2(away[i], GW_FD_CHANNEL + (int)i) < 0)
            return false;
    /* Everything of ours is close-on-exec from birth; this is for what we do not know of. Kernels
     * before 5.11 lack the flag: they do without this second line. */
    (void)syscall(SYS_close_range, (unsigned)GW_FD_CHANNEL + (unsigned)count, ~0u,
                  CLOSE_RANGE_CLOEXEC);
    return true;
}

static void become(const struct gw_start *start, int failure_pipe)
{
    char role[64], user[64];
    struct gw_text text;
    gw_text_init(&text, role, sizeof role);
    gw_text_addf(&text, "--role=%s:", gw_role_text(start->role));
    gw_text_add(&text, start->process);
    gw_text_init(&text, user, sizeof user);
    gw_text_addf(&text, "--user=%u:%u", (unsigned)start->confine.uid, (unsigned)start->confine.gid);
    char name[] = "namzu-gw";
    char *const arguments[] = { name, role, start->confine.change_user ? user : NULL, NULL };
    if (gw_start_place(start->fds, start->fd_count))
        execve("/proc/self/exe", arguments, gw_start_environment());
    int why = errno;
    ssize_t told = write(failure_pipe, &why, sizeof why);
    _exit(told == sizeof why ? 127 : 126);
}

/* Nothing comes out of the pipe but an errno: exec closes it. */
static bool wait_for_exec(int failure_pipe, pid_t pid, struct gw_error *err)
{
    int why = 0;
    ssize_t got;
    do
        got = read(failure_pipe, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return true;
    gw_error_set(err, GW_ERR_SYSTEM, "cannot exec /proc/self/exe: %s",
                 strerror(got == sizeof why ? why : errno));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static bool open_pidfd(pid_t pid, int *pidfd, struct gw_error *err)
{
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (*pidfd >= 0)
        return true;
    gw_error_set(err, GW_ERR_SYSTEM, "pidfd_open: %s", strerror(errno));
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return false;
}

bool gw_start(const struct gw_start *start, pid_t *pid, int *pidfd, struct gw_error *err)
{
    int failure[2];
    gw_check(start->fd_count <= GW_CHANNEL_FDS_MAX);
    if (pipe2(failure, O_CLOEXEC) != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "pipe: %s", strerror(errno));
        return false;
    }
    /* The pipe's number must not be one that the child's descriptors are moved to. */
    int far = fcntl(failure[1], F_DUPFD_CLOEXEC, GW_FD_CHANNEL + GW_CHANNEL_FDS_MAX);
    int why = errno;
    close(failure[1]);
    *pid = far < 0 ? -1 : fork();
    if (*pid == 0)
        become(start, far);
    if (*pid < 0)
        gw_error_set(err, GW_ERR_SYSTEM, "fork: %s", strerror(far < 0 ? why : errno));
    if (far >= 0)
        close(far);
    bool started = *pid > 0 && wait_for_exec(failure[0], *pid, err) && open_pidfd(*pid, pidfd, err);
    close(failure[0]);
    return started;
}
