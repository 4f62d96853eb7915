/* gateway/supervisor/log_files.c */
#define _GNU_SOURCE /* O_CLOEXEC under -std=c11 */
#include "gateway/supervisor/log_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* O_NONBLOCK: a named pipe without a reader is refused, where open() would wait for one for ever.
 * It has no effect on files, and the log writer polls whatever else it is given. */
static int open_log(const char *path, int standard, const char *key, struct gw_error *err)
{
    int fd =
        strcmp(path, "-") == 0
            ? fcntl(standard, F_DUPFD_CLOEXEC, 3)
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (fd < 0)
        gw_error_set(err, GW_ERR_CONFIG, "gateway.log.%s: cannot open %s: %s", key, path,
                     strerror(errno));
    return fd;
}

bool gw_log_files_open(const struct gw_settings *settings, struct gw_log_files *out,
                       struct gw_error *err)
{
    const char *running = settings->log.running == NULL ? "-" : settings->log.running;
    *out = (struct gw_log_files){ .access = -1, .running = -1 };
    if (settings->log.access != NULL)
        out->access = open_log(settings->log.access, STDOUT_FILENO, "access", err);
    if (settings->log.access == NULL || out->access >= 0)
        out->running = open_log(running, STDERR_FILENO, "running", err);
    if (out->running >= 0)
        return true;
    gw_log_files_close(out);
    return false;
}

void gw_log_files_close(struct gw_log_files *files)
{
    if (files->access >= 0)
        close(files->access);
    if (files->running >= 0)
        close(files->running);
    *files = (struct gw_log_files){ .access = -1, .running = -1 };
}
