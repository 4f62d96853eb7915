/* gateway/supervisor/proxy_user.c */
#define _GNU_SOURCE /* SOCK_CLOEXEC under -std=c11 */
#include "gateway/supervisor/proxy_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

#define FIRST_UID 61184
#define LAST_UID 65519
#define OVERFLOW_UID 65534 /* nobody, and every uid that a namespace does not know */

/* Processes of another gateway that drains have its uid still. (The folder of a process has its
 * uid, other than what is in it, even when the process is not dumpable: proc(5).) */
static void mark_used(bool *used)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    struct stat status;
    if (processes == NULL)
        return;
    while ((entry = readdir(processes)) != NULL)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9'
            && fstatat(dirfd(processes), entry->d_name, &status, 0) == 0
            && status.st_uid >= FIRST_UID && status.st_uid <= LAST_UID)
            used[status.st_uid - FIRST_UID] = true;
    closedir(processes);
}

/* A name in the abstract namespace: two gateways that start at the same moment cannot both have
 * it, and it is gone when its holder is. -1 when it is taken. */
static int lock_uid(uid_t uid)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct gw_text name;
    gw_text_init(&name, address.sun_path + 1, sizeof address.sun_path - 1);
    gw_text_addf(&name, "namzu-gw/uid/%u", (unsigned)uid);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name.length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool choose(struct gw_proxy_user *out, struct gw_error *err)
{
    static bool used[LAST_UID - FIRST_UID + 1];
    memset(used, 0, sizeof used);
    mark_used(used);
    for (uid_t uid = FIRST_UID; uid <= LAST_UID; uid++) {
        if (used[uid - FIRST_UID] || getpwuid(uid) != NULL || getgrgid((gid_t)uid) != NULL)
            continue;
        out->lock = lock_uid(uid);
        if (out->lock < 0)
            continue;
        out->confine =
            (struct gw_confinement){ .change_user = true, .uid = uid, .gid = (gid_t)uid };
        return true;
    }
    gw_error_set(err, GW_ERR_CONFIG,
                 "gateway.user: auto finds no free uid from %d to %d; name a user instead",
                 FIRST_UID, LAST_UID);
    return false;
}

static bool look_up(const char *user, struct gw_proxy_user *out, struct gw_error *err)
{
    errno = 0;
    const struct passwd *entry = getpwnam(user);
    if (entry == NULL)
        gw_error_set(err, GW_ERR_CONFIG, "gateway.user: there is no user %s%s%s", user,
                     errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    else if (entry->pw_uid == 0)
        gw_error_set(err, GW_ERR_CONFIG, "gateway.user: %s is root, which the proxies must not be",
                     user);
    else if (strcmp(user, "nobody") == 0 || entry->pw_uid == OVERFLOW_UID)
        gw_error_set(err, GW_ERR_CONFIG,
                     "gateway.user: nobody is shared by whoever has no user of his own; make a "
                     "user for the gateway, or write auto");
    else if (geteuid() != 0 && entry->pw_uid != geteuid())
        gw_error_set(err, GW_ERR_CONFIG,
                     "gateway.user: only root can run the proxies as %s; start the gateway as "
                     "root, or as that user, or write auto",
                     user);
    else {
        out->confine = (struct gw_confinement){ .change_user = geteuid() == 0,
                                                .uid = entry->pw_uid,
                                                .gid = entry->pw_gid };
        return true;
    }
    return false;
}

bool gw_proxy_user_resolve(const char *user, struct gw_proxy_user *out, struct gw_error *err)
{
    *out = (struct gw_proxy_user){ .lock = -1 };
    if (user != NULL)
        return look_up(user, out, err);
    return geteuid() != 0 || choose(out, err);
}

void gw_proxy_user_fini(struct gw_proxy_user *user)
{
    if (user->lock >= 0)
        close(user->lock);
    user->lock = -1;
}
