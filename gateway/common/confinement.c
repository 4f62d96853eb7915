/* gateway/common/confinement.c */
#define _GNU_SOURCE /* setresuid, setgroups, close_range */
#include "gateway/common/confinement.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"

_Static_assert(SYS_io_uring_register == SYS_io_uring_setup + 2, "one range of numbers");

static bool failed(struct gw_error *err, const char *what)
{
    gw_error_set(err, GW_ERR_SYSTEM, "confinement: %s: %s", what, strerror(errno));
    return false;
}

static bool forbid_new_privileges(struct gw_error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed(err, "no_new_privs");
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || failed(err, "no_new_privs");
}

/* libuv opens a ring for its loop wherever it can, and what is asked through a ring passes no
 * seccomp filter. The numbers are the same on every architecture (io_uring came after the numbers
 * were unified); the bit that is masked is x32's. */
static bool forbid_io_uring(struct gw_error *err)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~0x40000000u),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { .len = GW_COUNT(steps), .filter = steps };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0
           || failed(err, "a filter against io_uring");
}

static bool forbid_core_dumps(struct gw_error *err)
{
    const struct rlimit none = { 0, 0 };
    return setrlimit(RLIMIT_CORE, &none) == 0 || failed(err, "RLIMIT_CORE");
}

/* While CAP_SETPCAP is still there. Without it the bounding set stays, and no_new_privs keeps it
 * from ever being used. */
static bool empty_bounding_set(struct gw_error *err)
{
    errno = 0;
    if (capng_get_caps_process() != 0)
        return failed(err, "reading capabilities");
    if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
        return true;
    capng_clear(CAPNG_SELECT_BOUNDS);
    if (capng_apply(CAPNG_SELECT_BOUNDS) != 0)
        return failed(err, "emptying the bounding set");
    if (capng_get_caps_process() != 0 || capng_have_capabilities(CAPNG_SELECT_BOUNDS) != CAPNG_NONE)
        return failed(err, "the bounding set did not become empty");
    return true;
}

static bool become(const struct gw_confinement *how, struct gw_error *err)
{
    uid_t real, effective, saved;
    gid_t group, effective_group, saved_group;
    if (setgroups(0, NULL) != 0)
        return failed(err, "setgroups");
    if (setresgid(how->gid, how->gid, how->gid) != 0)
        return failed(err, "setresgid");
    if (setresuid(how->uid, how->uid, how->uid) != 0)
        return failed(err, "setresuid");
    if (getresuid(&real, &effective, &saved) != 0
        || getresgid(&group, &effective_group, &saved_group) != 0 || real != how->uid
        || effective != how->uid || saved != how->uid || group != how->gid
        || effective_group != how->gid || saved_group != how->gid || getgroups(0, NULL) != 0) {
        errno = EPERM;
        return failed(err, "the user did not change");
    }
    return true;
}

static bool empty_capability_sets(struct gw_error *err)
{
    capng_clear(CAPNG_SELECT_CAPS);
    if (capng_apply(CAPNG_SELECT_CAPS) != 0)
        return failed(err, "emptying the capability sets");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
        return failed(err, "emptying the ambient set");
    if (capng_get_caps_process() != 0 || capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE)
        return failed(err, "the capability sets did not become empty");
    return true;
}

/* Only now: a change of user makes a process dumpable, or not, as the system is set up. */
static bool forbid_tracing(struct gw_error *err)
{
#ifdef GW_SANITIZED
    const int dumpable = 1;
#else
    const int dumpable = 0;
#endif
    return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0) == 0 || failed(err, "PR_SET_DUMPABLE");
}

static bool cannot_go_back(const struct gw_confinement *how, struct gw_error *err)
{
    if (how->uid != 0 && (setuid(0) == 0 || setgid(0) == 0 || setgroups(1, &how->gid) == 0)) {
        gw_error_set(err, GW_ERR_SYSTEM, "confinement: the change of user can be undone");
        return false;
    }
    return true;
}

bool gw_confine(const struct gw_confinement *how, struct gw_error *err)
{
    return forbid_new_privileges(err) && forbid_io_uring(err) && forbid_core_dumps(err)
           && empty_bounding_set(err) && (!how->change_user || become(how, err))
           && empty_capability_sets(err) && (!how->change_user || cannot_go_back(how, err))
           && forbid_tracing(err);
}

static void close_from_to(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_max = 1048576;
    for (unsigned fd = first; fd <= last && fd < limit.rlim_max; fd++)
        close((int)fd);
}

void gw_close_other_descriptors(int first, int count)
{
    close_from_to(3, (unsigned)first - 1);
    close_from_to((unsigned)(first + count), ~0u);
}

unsigned long gw_raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024;
    struct rlimit raised = { limit.rlim_max, limit.rlim_max };
    if (limit.rlim_cur != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return (unsigned long)limit.rlim_cur;
}
