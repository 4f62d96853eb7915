/* tests/unit/proxy/timers_test.c - deadlines on a real loop, under a clock that the test moves.
 * libuv reads the time with clock_gettime(), which is ours here: hours pass in no time, and what is
 * late or early by a millisecond is seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/proxy/timers.h"

enum { SLOT_MS = 16, TURN_MS = 65536 };

static uint64_t clock_ms = 5000;

int clock_gettime(clockid_t id, struct timespec *out)
{
    (void)id;
    out->tv_sec = (time_t)(clock_ms / 1000);
    out->tv_nsec = (long)(clock_ms % 1000) * 1000000;
    return 0;
}

struct world {
    uv_loop_t loop;
    struct gw_timers *timers;
};

static void on_closed(void *context)
{
    *(bool *)context = true;
}

static void world_open(struct world *world)
{
    struct gw_error err;
    assert_int_equal(uv_loop_init(&world->loop), 0);
    world->timers = gw_timers_new(&world->loop, &err);
    assert_non_null(world->timers);
}

static void world_close(struct world *world)
{
    bool closed = false;
    gw_timers_close(world->timers, on_closed, &closed);
    while (uv_run(&world->loop, UV_RUN_NOWAIT) != 0)
        ;
    assert_true(closed);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

static void pass(struct world *world, uint64_t milliseconds)
{
    clock_ms += milliseconds;
    uv_run(&world->loop, UV_RUN_NOWAIT);
}

/* A timer that notes when it fires. */
struct watch {
    struct gw_timer timer;
    struct world *world;
    uint64_t due, at;
    unsigned fired, order;
    struct watch *stops;    /* when it fires */
    uint64_t restart_after; /* 0: it does not */
    bool freed_when_fired;
};

static unsigned fired_in_all;

static void on_fired(struct gw_timer *timer)
{
    struct watch *watch = gw_container_of(timer, struct watch, timer);
    assert_false(gw_timer_running(timer));
    watch->at = gw_timers_now(watch->world->timers);
    if (watch->at < watch->due)
        fail_msg("early by %llu ms", (unsigned long long)(watch->due - watch->at));
    watch->fired++;
    watch->order = ++fired_in_all;
    if (watch->stops != NULL)
        gw_timer_stop(&watch->stops->timer);
    if (watch->restart_after != 0) {
        watch->due = watch->at + watch->restart_after;
        gw_timer_start(watch->world->timers, timer, watch->restart_after);
        assert_true(gw_timer_running(timer));
    }
    if (watch->freed_when_fired)
        free(watch);
}

static void watch_init(struct watch *watch, struct world *world)
{
    *watch = (struct watch){ .world = world };
    gw_timer_init(&watch->timer, on_fired);
}

static void start(struct watch *watch, uint64_t milliseconds)
{
    watch->due = gw_timers_now(watch->world->timers) + milliseconds;
    gw_timer_start(watch->world->timers, &watch->timer, milliseconds);
    assert_true(gw_timer_running(&watch->timer));
}

/* Moves the clock by single milliseconds. */
static void pass_slowly(struct world *world, uint64_t milliseconds)
{
    for (uint64_t i = 0; i < milliseconds; i++)
        pass(world, 1);
}

static void timers_fire_once_in_order_and_on_time(void **state)
{
    (void)state;
    struct world world;
    struct watch watch[6];
    static const uint64_t after[] = { 500, 30, 0, 1000, 31, 70 };
    static const unsigned order[] = { 5, 2, 1, 6, 3, 4 };
    world_open(&world);
    fired_in_all = 0;
    for (size_t i = 0; i < GW_COUNT(watch); i++) {
        watch_init(&watch[i], &world);
        assert_false(gw_timer_running(&watch[i].timer));
        start(&watch[i], after[i]);
    }
    assert_int_equal(fired_in_all, 0); /* never from within start */
    pass_slowly(&world, 3000);
    for (size_t i = 0; i < GW_COUNT(watch); i++) {
        assert_int_equal(watch[i].fired, 1);
        bool same_slot = after[i] == 30 || after[i] == 31;
        if (!same_slot && watch[i].order != order[i])
            fail_msg("%llu ms came as number %u", (unsigned long long)after[i], watch[i].order);
        if (watch[i].at > watch[i].due + SLOT_MS)
            fail_msg("%llu ms was %llu ms late", (unsigned long long)after[i],
                     (unsigned long long)(watch[i].at - watch[i].due));
        assert_false(gw_timer_running(&watch[i].timer));
    }
    world_close(&world);
}

/* Every duration around a slot's edge, at every phase of the clock. */
static void none_is_early_or_a_slot_late(void **state)
{
    (void)state;
    struct world world;
    struct watch watch;
    world_open(&world);
    for (unsigned phase = 0; phase < SLOT_MS; phase++) {
        for (uint64_t after = 0; after <= 3 * SLOT_MS; after++) {
            watch_init(&watch, &world);
            start(&watch, after);
            pass_slowly(&world, after + SLOT_MS + 1);
            assert_int_equal(watch.fired, 1);
            assert_true(watch.at <= watch.due + SLOT_MS);
        }
        pass(&world, 1);
    }
    world_close(&world);
}

static void a_running_timer_can_be_moved(void **state)
{
    (void)state;
    struct world world;
    struct watch sooner, later, often;
    world_open(&world);
    watch_init(&sooner, &world);
    watch_init(&later, &world);
    watch_init(&often, &world);
    start(&sooner, 10000);
    start(&later, 100);
    start(&sooner, 200);
    start(&later, 900);
    for (unsigned i = 0; i < 50; i++) { /* as a busy connection does */
        start(&often, 1000);
        pass_slowly(&world, 20);
    }
    assert_int_equal(sooner.fired, 1);
    assert_true(sooner.at <= sooner.due + SLOT_MS);
    assert_int_equal(later.fired, 1);
    assert_true(later.at <= later.due + SLOT_MS);
    assert_int_equal(often.fired, 0);
    pass_slowly(&world, 1000);
    assert_int_equal(often.fired, 1);
    assert_true(often.at <= often.due + SLOT_MS);
    pass_slowly(&world, 20000);
    assert_int_equal(sooner.fired + later.fired + often.fired, 3);
    world_close(&world);
}

static void a_stopped_timer_stays_silent(void **state)
{
    (void)state;
    struct world world;
    struct watch watch;
    world_open(&world);
    watch_init(&watch, &world);
    gw_timer_stop(&watch.timer); /* never started */
    start(&watch, 100);
    gw_timer_stop(&watch.timer);
    gw_timer_stop(&watch.timer);
    assert_false(gw_timer_running(&watch.timer));
    pass_slowly(&world, 300);
    assert_int_equal(watch.fired, 0);
    start(&watch, 100);
    pass_slowly(&world, 150);
    assert_int_equal(watch.fired, 1);
    world_close(&world);
}

/* Due in the same slot: whoever comes first may stop the other, and even free it. */
static void a_callback_may_stop_others(void **state)
{
    (void)state;
    struct world world;
    struct watch first, second;
    world_open(&world);
    watch_init(&first, &world);
    watch_init(&second, &world);
    first.stops = &second;
    second.stops = &first;
    start(&first, 100);
    start(&second, 100);
    pass(&world, 500);
    assert_int_equal(first.fired + second.fired, 1);
    world_close(&world);
}

static void a_timer_can_be_freed_at_once(void **state)
{
    (void)state;
    struct world world;
    world_open(&world);
    for (unsigned i = 0; i < 100; i++) {
        struct watch *gone = malloc(sizeof *gone), *fires = malloc(sizeof *fires);
        assert_true(gone != NULL && fires != NULL);
        watch_init(gone, &world);
        watch_init(fires, &world);
        fires->freed_when_fired = true;
        start(gone, 100);
        start(fires, 100);
        gw_timer_stop(&gone->timer);
        free(gone);
    }
    fired_in_all = 0;
    pass(&world, 200);
    assert_int_equal(fired_in_all, 100);
    world_close(&world);
}

static void a_callback_may_start_it_again(void **state)
{
    (void)state;
    struct world world;
    struct watch at_once, soon, turn;
    world_open(&world);
    watch_init(&at_once, &world);
    watch_init(&soon, &world);
    watch_init(&turn, &world);
    at_once.restart_after = 1; /* comes back in the next slot, not in an endless loop */
    soon.restart_after = 100;
    turn.restart_after = TURN_MS; /* the very slot that is being worked off */
    start(&at_once, 1);
    start(&soon, 100);
    start(&turn, TURN_MS);
    pass_slowly(&world, 1600);
    assert_true(at_once.fired >= 50 && at_once.fired <= 110);
    assert_true(soon.fired >= 13 && soon.fired <= 16);
    for (unsigned i = 0; i < 3 * TURN_MS / 100; i++)
        pass(&world, 100);
    assert_int_equal(turn.fired, 3);
    gw_timer_stop(&at_once.timer);
    gw_timer_stop(&soon.timer);
    gw_timer_stop(&turn.timer);
    world_close(&world);
}

static void far_deadlines_hold(void **state)
{
    (void)state;
    struct world world;
    static const uint64_t after[] = { TURN_MS - SLOT_MS, TURN_MS - 1, TURN_MS,          TURN_MS + 1,
                                      TURN_MS + SLOT_MS, 2 * TURN_MS, 10 * TURN_MS + 5, 3600000 };
    struct watch watch[GW_COUNT(after)];
    enum { STEP = 50 };
    world_open(&world);
    pass(&world, 12345); /* somewhere in the wheel */
    for (size_t i = 0; i < GW_COUNT(after); i++) {
        watch_init(&watch[i], &world);
        start(&watch[i], after[i]);
    }
    for (unsigned i = 0; i < 3700000 / STEP; i++)
        pass(&world, STEP);
    for (size_t i = 0; i < GW_COUNT(after); i++) {
        assert_int_equal(watch[i].fired, 1);
        if (watch[i].at > watch[i].due + SLOT_MS + STEP)
            fail_msg("%llu ms was %llu ms late", (unsigned long long)after[i],
                     (unsigned long long)(watch[i].at - watch[i].due));
    }
    world_close(&world);
}

/* A process that was stopped, or a loop that was busy: everything that is due comes, in order. */
static void a_clock_that_jumps_loses_nothing(void **state)
{
    (void)state;
    struct world world;
    struct watch watch[200];
    static const uint64_t jumps[] = { 100, TURN_MS, TURN_MS + 100, 5 * TURN_MS, 86400000 };
    world_open(&world);
    for (size_t j = 0; j < GW_COUNT(jumps); j++) {
        fired_in_all = 0;
        for (size_t i = 0; i < GW_COUNT(watch); i++) {
            watch_init(&watch[i], &world);
            start(&watch[i], i * 1000);
        }
        pass(&world, jumps[j]);
        for (size_t i = 0; i < GW_COUNT(watch); i++) {
            bool due = watch[i].due + SLOT_MS <= clock_ms;
            if (due && watch[i].fired != 1)
                fail_msg("jump of %llu ms: %zu s did not come", (unsigned long long)jumps[j], i);
            gw_timer_stop(&watch[i].timer);
        }
        pass(&world, 7);
    }
    world_close(&world);
}

/* The loop sleeps until there is something to do. */
static void the_loop_sleeps_until_the_next_deadline(void **state)
{
    (void)state;
    struct world world;
    struct watch soon, far;
    world_open(&world);
    uv_update_time(&world.loop);
    assert_false(uv_loop_alive(&world.loop)); /* nothing runs: no tick */
    watch_init(&soon, &world);
    watch_init(&far, &world);
    start(&far, 10 * TURN_MS + 3 * TURN_MS / 4); /* looked at in three quarters of a turn */
    pass(&world, 0);                             /* libuv tells no timeout before its first poll */
    int timeout = uv_backend_timeout(&world.loop);
    assert_true(timeout > TURN_MS / 2 && timeout <= TURN_MS + SLOT_MS);
    start(&soon, 1000);
    timeout = uv_backend_timeout(&world.loop);
    assert_true(timeout >= 1000 && timeout <= 1000 + SLOT_MS);
    pass(&world, 1000 + SLOT_MS);
    assert_int_equal(soon.fired, 1);
    timeout = uv_backend_timeout(&world.loop);
    assert_true(timeout > TURN_MS / 2 && timeout <= TURN_MS + SLOT_MS);
    gw_timer_stop(&far.timer);
    pass(&world, 2 * TURN_MS); /* one needless look, and then no more */
    assert_false(uv_loop_alive(&world.loop));
    world_close(&world);
}

/* Against the plain rule, with everything at random: started, moved, stopped, steps of any size. */
static void any_mix_holds(void **state)
{
    (void)state;
    enum { WATCHES = 300, STEP_MAX = 400 };
    static struct watch watch[WATCHES];
    static unsigned seen[WATCHES];
    struct world world;
    uint32_t seed = 7;
    unsigned fired = 0;
    world_open(&world);
    for (size_t i = 0; i < WATCHES; i++)
        watch_init(&watch[i], &world);
    memset(seen, 0, sizeof seen);
    for (unsigned turn = 0; turn < 20000; turn++) {
        seed = seed * 1664525u + 1013904223u;
        size_t i = (seed >> 8) % WATCHES;
        uint64_t after = (seed >> 20) % 4 == 0 ? (seed >> 4) % 400000 : (seed >> 4) % 3000;
        if ((seed >> 28) < 12)
            start(&watch[i], after);
        else
            gw_timer_stop(&watch[i].timer);
        if (turn % 3 == 0)
            pass(&world, (seed >> 12) % STEP_MAX);
        uint64_t now = gw_timers_now(world.timers);
        for (size_t k = 0; turn % 3 == 0 && k < WATCHES; k++) {
            if (gw_timer_running(&watch[k].timer) && now >= watch[k].due + SLOT_MS)
                fail_msg("overdue by %llu ms", (unsigned long long)(now - watch[k].due));
            if (watch[k].fired != seen[k] && watch[k].at > watch[k].due + SLOT_MS + STEP_MAX)
                fail_msg("late by %llu ms", (unsigned long long)(watch[k].at - watch[k].due));
            fired += watch[k].fired - seen[k];
            seen[k] = watch[k].fired;
        }
    }
    assert_true(fired > 1000);
    for (size_t i = 0; i < WATCHES; i++)
        gw_timer_stop(&watch[i].timer);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_once_in_order_and_on_time),
        cmocka_unit_test(none_is_early_or_a_slot_late),
        cmocka_unit_test(a_running_timer_can_be_moved),
        cmocka_unit_test(a_stopped_timer_stays_silent),
        cmocka_unit_test(a_callback_may_stop_others),
        cmocka_unit_test(a_timer_can_be_freed_at_once),
        cmocka_unit_test(a_callback_may_start_it_again),
        cmocka_unit_test(far_deadlines_hold),
        cmocka_unit_test(a_clock_that_jumps_loses_nothing),
        cmocka_unit_test(the_loop_sleeps_until_the_next_deadline),
        cmocka_unit_test(any_mix_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
