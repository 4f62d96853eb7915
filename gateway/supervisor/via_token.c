/* gateway/supervisor/via_token.c */
#define _GNU_SOURCE /* getrandom, O_CLOEXEC */
#include "gateway/supervisor/via_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "via-token"
#define NEW_NAME "via-token.new"

static bool is_token(const char *text)
{
    return strspn(text, "0123456789abcdef") == GW_VIA_TOKEN_LENGTH;
}

static bool read_token(int folder, char *out)
{
    char data[GW_VIA_TOKEN_LENGTH + 2] = { 0 };
    int fd = openat(folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, data, sizeof data - 1);
    close(fd);
    if (got < GW_VIA_TOKEN_LENGTH || !is_token(data)
        || (got > GW_VIA_TOKEN_LENGTH && data[GW_VIA_TOKEN_LENGTH] != '\n'))
        return false;
    memcpy(out, data, GW_VIA_TOKEN_LENGTH);
    out[GW_VIA_TOKEN_LENGTH] = '\0';
    return true;
}

static bool make_token(char *out, struct gw_error *err)
{
    unsigned char bytes[GW_VIA_TOKEN_LENGTH / 2];
    ssize_t got;
    do
        got = getrandom(bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof bytes) {
        gw_error_set(err, GW_ERR_SYSTEM, "getrandom: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Whole or not at all: a new file, flushed, takes the place of the old one. */
static bool write_token(int folder, const char *token)
{
    char line[GW_VIA_TOKEN_LENGTH + 1];
    memcpy(line, token, GW_VIA_TOKEN_LENGTH);
    line[GW_VIA_TOKEN_LENGTH] = '\n';
    (void)unlinkat(folder, NEW_NAME, 0);
    int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written = write(fd, line, sizeof line) == (ssize_t)sizeof line && fsync(fd) == 0;
    int why = errno;
    close(fd);
    errno = why;
    return written && renameat(folder, NEW_NAME, folder, FILE_NAME) == 0 && fsync(folder) == 0;
}

bool gw_via_token_get(const char *state_dir, char out[GW_VIA_TOKEN_LENGTH + 1],
                      struct gw_error *err)
{
    if (state_dir == NULL)
        return make_token(out, err);
    if (mkdir(state_dir, 0700) != 0 && errno != EEXIST) {
        gw_error_set(err, GW_ERR_SYSTEM, "gateway.state_dir: cannot make %s: %s", state_dir,
                     strerror(errno));
        return false;
    }
    int folder = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "gateway.state_dir: cannot open %s: %s", state_dir,
                     strerror(errno));
        return false;
    }
    bool got = read_token(folder, out);
    if (!got && make_token(out, err)) {
        got = write_token(folder, out);
        if (!got)
            gw_error_set(err, GW_ERR_SYSTEM, "gateway.state_dir: cannot write %s/%s: %s", state_dir,
                         FILE_NAME, strerror(errno));
    }
    close(folder);
    return got;
}
