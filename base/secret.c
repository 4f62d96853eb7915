/* base/secret.c */
#define _GNU_SOURCE /* explicit_bzero, MADV_*, syscall */
#include "base/secret.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A mapping that even the kernel's own copy routines do not reach (memfd_secret(2), Linux 5.14,
 * off on many systems). The descriptor is closed at once: the mapping alone keeps the pages. */
static void *map_secret(size_t size)
{
#ifdef SYS_memfd_secret
    int fd = (int)syscall(SYS_memfd_secret, O_CLOEXEC);
    if (fd >= 0) {
        void *at = MAP_FAILED;
        if (ftruncate(fd, (off_t)size) == 0)
            at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (at != MAP_FAILED)
            return at;
    }
#endif
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    (void)mlock(at, size);
    (void)madvise(at, size, MADV_DONTDUMP);
    return at;
}

bool gw_secret_init(struct gw_secret *secret, struct gw_slice value)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (value.length / page + 1) * page;
    *secret = (struct gw_secret){ 0 };
    char *data = map_secret(size);
    if (data == NULL)
        return false;
    (void)madvise(data, size, MADV_DONTFORK);
    if (value.length > 0)
        memcpy(data, value.data, value.length);
    *secret = (struct gw_secret){ .data = data, .length = value.length, .mapped = size };
    return true;
}

void gw_secret_fini(struct gw_secret *secret)
{
    if (secret->data != NULL) {
        gw_secret_wipe(secret->data, secret->mapped);
        munmap(secret->data, secret->mapped);
    }
    *secret = (struct gw_secret){ 0 };
}

void gw_secret_wipe(void *memory, size_t length)
{
    explicit_bzero(memory, length);
}

bool gw_secret_equal(struct gw_slice a, struct gw_slice b)
{
    unsigned char difference = a.length != b.length;
    size_t length = a.length < b.length ? a.length : b.length;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(a.data[i] ^ b.data[i]);
    return difference == 0;
}
