#define _GNU_SOURCE /* O_CLOEXEC */
#include "gateway/config/file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(int file, const char *path, size_t most, char **text, size_t *length,
                     struct gw_error *err)
{
    size_t room = 65536, used = 0;
    char *data = malloc(room + 1);
    while (data != NULL) {
        ssize_t got = read(file, data + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            gw_error_set(err, GW_ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
            break;
        }
        used += (size_t)got;
        if (used > most) {
            gw_error_set(err, GW_ERR_LIMIT, "%s is larger than %zu MiB", path, most >> 20);
            break;
        }
        if (got == 0) {
            data[used] = '\0';
            *text = data;
            *length = used;
            return true;
        }
        if (used == room) {
            char *grown = realloc(data, (room *= 2) + 1);
            if (grown == NULL)
                free(data);
            data = grown;
        }
    }
    if (data == NULL)
        gw_error_set(err, GW_ERR_MEMORY, "out of memory while reading %s", path);
    free(data);
    return false;
}

bool gw_file_text_read(const char *path, size_t most, char **text, size_t *length,
                       struct gw_error *err)
{
    struct stat state;
    bool fine = false;
    /* Without waiting: opening a pipe would, for a writer that never comes. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &state) != 0)
        gw_error_set(err, GW_ERR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    else if (!S_ISREG(state.st_mode))
        gw_error_set(err, GW_ERR_CONFIG, "%s is not a regular file", path);
    else
        fine = read_all(file, path, most, text, length, err);
    if (file >= 0)
        close(file);
    return fine;
}
