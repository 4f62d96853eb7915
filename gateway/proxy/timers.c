/* gateway/proxy/timers.c */
#include "gateway/proxy/timers.h"

#include <stdlib.h>

#include "base/macros.h"

enum { SLOT_MS = 16, SLOTS = 4096, WORDS = SLOTS / 64 };

struct gw_timers {
    uv_loop_t *loop;
    uv_timer_t tick;
    uint64_t done; /* number of the last slot that was worked off, counted from the loop's 0 */
    uint64_t next; /* number of the slot that `tick` is set to; UINT64_MAX: none */
    uint64_t used[WORDS]; /* bit set: the slot may hold something */
    struct gw_list slot[SLOTS];
    void (*closed)(void *context);
    void *context;
};

struct gw_timers *gw_timers_new(uv_loop_t *loop, struct gw_error *err)
{
    struct gw_timers *timers = calloc(1, sizeof *timers);
    if (timers == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return NULL;
    }
    timers->loop = loop;
    timers->done = uv_now(loop) / SLOT_MS;
    timers->next = UINT64_MAX;
    for (unsigned i = 0; i < SLOTS; i++)
        gw_list_init(&timers->slot[i]);
    uv_timer_init(loop, &timers->tick);
    timers->tick.data = timers;
    return timers;
}

uint64_t gw_timers_now(const struct gw_timers *timers)
{
    return uv_now(timers->loop);
}

/* The first used slot after `done`, as a slot number; UINT64_MAX when all are empty. */
static uint64_t find_next(const struct gw_timers *timers)
{
    for (uint64_t step = 1; step <= SLOTS;) {
        uint64_t index = (timers->done + step) % SLOTS;
        uint64_t word = timers->used[index / 64] >> (index % 64);
        if (word != 0) {
            uint64_t ahead = step + (uint64_t)__builtin_ctzll(word);
            return ahead <= SLOTS ? timers->done + ahead : UINT64_MAX;
        }
        step += 64 - index % 64;
    }
    return UINT64_MAX;
}

static void on_tick(uv_timer_t *tick);

static void set_tick(struct gw_timers *timers, uint64_t slot)
{
    timers->next = slot;
    if (slot == UINT64_MAX) {
        uv_timer_stop(&timers->tick);
        return;
    }
    uint64_t at = slot * SLOT_MS, now = uv_now(timers->loop);
    uv_timer_start(&timers->tick, on_tick, at > now ? at - now : 0, 0);
}

/* Everything due in one slot; what belongs to a later turn of the wheel goes back. */
static void work_off(struct gw_timers *timers, uint64_t number)
{
    uint64_t index = number % SLOTS;
    struct gw_list due;
    gw_list_init(&due);
    timers->used[index / 64] &= ~(1ull << (index % 64));
    while (!gw_list_empty(&timers->slot[index])) {
        struct gw_list *first = timers->slot[index].next;
        gw_list_remove(first);
        gw_list_append(&due, first);
    }
    while (!gw_list_empty(&due)) {
        struct gw_timer *timer = gw_container_of(due.next, struct gw_timer, link);
        gw_list_remove(&timer->link);
        if (timer->due > number * SLOT_MS) {
            gw_list_append(&timers->slot[index], &timer->link);
            timers->used[index / 64] |= 1ull << (index % 64);
        } else {
            timer->fired(timer);
        }
    }
}

static void on_tick(uv_timer_t *tick)
{
    struct gw_timers *timers = tick->data;
    uint64_t now = uv_now(timers->loop) / SLOT_MS;
    while (timers->done < now) {
        uint64_t slot = find_next(timers);
        if (slot > now) {
            timers->done = now;
            break;
        }
        timers->done = slot;
        work_off(timers, slot);
    }
    set_tick(timers, find_next(timers));
}

void gw_timer_init(struct gw_timer *timer, void (*fired)(struct gw_timer *timer))
{
    *timer = (struct gw_timer){ .fired = fired };
    gw_list_init(&timer->link);
}

void gw_timer_start(struct gw_timers *timers, struct gw_timer *timer, uint64_t milliseconds)
{
    gw_list_remove(&timer->link);
    if (timers->next == UINT64_MAX) /* nothing has run for a while: catch up with the clock */
        timers->done = uv_now(timers->loop) / SLOT_MS;
    timer->due = uv_now(timers->loop) + milliseconds;
    uint64_t number = (timer->due + SLOT_MS - 1) / SLOT_MS; /* never early */
    if (number <= timers->done)
        number = timers->done + 1;
    /* Beyond the wheel: the slot is met every turn, and the deadline compared there. */
    uint64_t index = number % SLOTS;
    gw_list_append(&timers->slot[index], &timer->link);
    timers->used[index / 64] |= 1ull << (index % 64);
    uint64_t met = number - timers->done > SLOTS
                       ? timers->done + 1 + (index + SLOTS - (timers->done + 1) % SLOTS) % SLOTS
                       : number;
    if (met < timers->next)
        set_tick(timers, met);
}

void gw_timer_stop(struct gw_timer *timer)
{
    gw_list_remove(&timer->link); /* its slot's bit may stay: one needless look */
}

bool gw_timer_running(const struct gw_timer *timer)
{
    return !gw_list_empty(&timer->link);
}

static void on_closed(uv_handle_t *handle)
{
    struct gw_timers *timers = handle->data;
    void (*closed)(void *context) = timers->closed;
    void *context = timers->context;
    free(timers);
    closed(context);
}

void gw_timers_close(struct gw_timers *timers, void (*closed)(void *context), void *context)
{
    timers->closed = closed;
    timers->context = context;
    uv_close((uv_handle_t *)&timers->tick, on_closed);
}
