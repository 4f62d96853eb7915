/* gateway/common/counters.h - memory that the supervisor and the proxies share.
 *
 * Made by the supervisor as one memfd. Each proxy has a page range of its own that only it writes:
 * counters, and its share of each network's admissions. The admission counts themselves are atomics
 * shared by all: a limit is exact across processes, and when a proxy dies the supervisor takes its
 * share back out of them. A network keeps its slot for as long as it exists. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum gw_counter {
#define GW_COUNTER(name, metric, help) GW_COUNT_##name,
#include "gateway/common/counter_table.h"
#undef GW_COUNTER
    GW_COUNTERS
};

#define GW_PROCESSES_MAX 64
#define GW_NETWORK_SLOTS 1024

struct gw_admission {
    _Atomic uint32_t connections, tunnels;
};

struct gw_process_page {
    _Alignas(4096) _Atomic uint64_t counters[GW_COUNTERS]; /* one writer: relaxed is enough */
    struct gw_admission share[GW_NETWORK_SLOTS];
};

struct gw_shared {
    struct gw_admission admission[GW_NETWORK_SLOTS];
    struct gw_process_page process[GW_PROCESSES_MAX];
};

/* Makes the memfd and maps it; `*fd` is the caller's. NULL on failure. */
struct gw_shared *gw_shared_new(int *fd, struct gw_error *err);
/* Maps what was inherited; NULL when its size is wrong. */
struct gw_shared *gw_shared_attach(int fd, struct gw_error *err);
void gw_shared_detach(struct gw_shared *shared);

static inline void gw_count_add(struct gw_process_page *page, enum gw_counter which, uint64_t by)
{
    atomic_store_explicit(&page->counters[which],
                          atomic_load_explicit(&page->counters[which], memory_order_relaxed) + by,
                          memory_order_relaxed);
}
static inline void gw_count_sub(struct gw_process_page *page, enum gw_counter which, uint64_t by)
{
    gw_count_add(page, which, (uint64_t)0 - by);
}

/* Takes one place below `limit` (0: unlimited, yet counted), in the shared count and in the own
 * share; false when there is none. `share` is the calling process's. */
bool gw_admit(_Atomic uint32_t *shared, _Atomic uint32_t *share, uint32_t limit);
void gw_discharge(_Atomic uint32_t *shared, _Atomic uint32_t *share);

/* The supervisor, after process `index` is gone: gives its share back and clears its gauges. */
void gw_shared_reclaim(struct gw_shared *shared, unsigned index);

const char *gw_counter_metric(enum gw_counter which);
const char *gw_counter_help(enum gw_counter which);
