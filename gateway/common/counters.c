/* gateway/common/counters.c */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "gateway/common/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

static const struct {
    const char *metric, *help;
} rows[GW_COUNTERS] = {
#define GW_COUNTER(name, metric, help) [GW_COUNT_##name] = { metric, help },
#include "gateway/common/counter_table.h"
#undef GW_COUNTER
};

const char *gw_counter_metric(enum gw_counter which)
{
    gw_check(which < GW_COUNTERS);
    return rows[which].metric;
}

const char *gw_counter_help(enum gw_counter which)
{
    gw_check(which < GW_COUNTERS);
    return rows[which].help;
}

static struct gw_shared *map(int fd, struct gw_error *err)
{
    void *at = mmap(NULL, sizeof(struct gw_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        gw_error_set(err, GW_ERR_SYSTEM, "cannot map the shared counters: %s", strerror(errno));
        return NULL;
    }
    return at;
}

/* Sealed against resizing: a proxy that could shrink it would crash the supervisor. */
struct gw_shared *gw_shared_new(int *fd, struct gw_error *err)
{
    struct gw_shared *shared = NULL;
    *fd = memfd_create("namzu-gw-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || ftruncate(*fd, sizeof(struct gw_shared)) != 0
        || fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        gw_error_set(err, GW_ERR_SYSTEM, "cannot make the shared counters: %s", strerror(errno));
    else
        shared = map(*fd, err);
    if (shared == NULL && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return shared;
}

struct gw_shared *gw_shared_attach(int fd, struct gw_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size != (off_t)sizeof(struct gw_shared)) {
        gw_error_set(err, GW_ERR_CORRUPT, "the shared counters have another size than ours");
        return NULL;
    }
    return map(fd, err);
}

void gw_shared_detach(struct gw_shared *shared)
{
    if (shared != NULL)
        munmap(shared, sizeof *shared);
}

/* Shared count first, own share second, and the other way round on the way out: a process that is
 * killed between the two leaves one place taken, never one too many given back. */
bool gw_admit(_Atomic uint32_t *shared, _Atomic uint32_t *share, uint32_t limit)
{
    uint32_t taken = atomic_load_explicit(shared, memory_order_relaxed);
    do {
        if ((limit != 0 && taken >= limit) || taken == UINT32_MAX)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(shared, &taken, taken + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(share, 1, memory_order_acq_rel);
    return true;
}

/* What a process that was killed (or went mad) left behind must not wrap the count around. */
static void give_back(_Atomic uint32_t *shared, uint32_t count)
{
    uint32_t taken = atomic_load_explicit(shared, memory_order_relaxed);
    uint32_t left;
    do {
        left = taken > count ? taken - count : 0;
    } while (!atomic_compare_exchange_weak_explicit(shared, &taken, left, memory_order_acq_rel,
                                                    memory_order_relaxed));
}

void gw_discharge(_Atomic uint32_t *shared, _Atomic uint32_t *share)
{
    give_back(share, 1);
    give_back(shared, 1);
}

static bool is_gauge(enum gw_counter which)
{
    size_t length = strlen(rows[which].metric);
    return length < 6 || strcmp(rows[which].metric + length - 6, "_total") != 0;
}

void gw_shared_reclaim(struct gw_shared *shared, unsigned index)
{
    gw_check(index < GW_PROCESSES_MAX);
    struct gw_process_page *page = &shared->process[index];
    for (size_t i = 0; i < GW_NETWORK_SLOTS; i++) {
        struct gw_admission *share = &page->share[i], *all = &shared->admission[i];
        give_back(&all->connections, atomic_exchange(&share->connections, 0));
        give_back(&all->tunnels, atomic_exchange(&share->tunnels, 0));
    }
    for (enum gw_counter i = 0; i < GW_COUNTERS; i++)
        if (is_gauge(i))
            atomic_store_explicit(&page->counters[i], 0, memory_order_relaxed);
}
