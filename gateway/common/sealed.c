/* gateway/common/sealed.c */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "gateway/common/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static bool write_all(int fd, struct gw_slice bytes)
{
    while (bytes.length > 0) {
        ssize_t written = write(fd, bytes.data, bytes.length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes.data += written;
        bytes.length -= (size_t)written;
    }
    return true;
}

/* Written, not mapped: a writable mapping that is still there would make F_SEAL_WRITE fail. */
int gw_sealed_make(const char *name, struct gw_slice bytes, struct gw_error *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "memfd_create: %s", strerror(errno));
        return -1;
    }
    if (!write_all(fd, bytes)) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot fill a memfd with %zu bytes: %s", bytes.length,
                     strerror(errno));
        close(fd);
        return -1;
    }
    if (fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot seal a memfd: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

bool gw_sealed_map(int fd, struct gw_sealed_map *out, struct gw_error *err)
{
    struct stat status;
    *out = (struct gw_sealed_map){ 0 };
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) {
        gw_error_set(err, GW_ERR_CORRUPT, "the descriptor is not a sealed memfd");
        return false;
    }
    if (fstat(fd, &status) != 0 || status.st_size < 0 || (uint64_t)status.st_size > SIZE_MAX) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot tell the size of a sealed memfd");
        return false;
    }
    if (status.st_size == 0)
        return true;
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot map a sealed memfd: %s", strerror(errno));
        return false;
    }
    *out = (struct gw_sealed_map){ .data = data, .length = (size_t)status.st_size };
    return true;
}

void gw_sealed_unmap(struct gw_sealed_map *map)
{
    if (map->data != NULL)
        munmap((void *)(uintptr_t)map->data, map->length);
    *map = (struct gw_sealed_map){ 0 };
}
