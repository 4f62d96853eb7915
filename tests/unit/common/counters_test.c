/* tests/unit/common/counters_test.c */
#include "gateway/common/counters.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "support.h"

#define PROCESSES 4
#define SLOT 7

static struct gw_shared *shared;
static int shared_fd;

static int make_shared(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    shared = gw_shared_new(&shared_fd, &err);
    assert_non_null(shared);
    return 0;
}

static int drop_shared(void **state)
{
    (void)state;
    gw_shared_detach(shared);
    close(shared_fd);
    return 0;
}

static bool admit(unsigned process, uint32_t limit)
{
    return gw_admit(&shared->admission[SLOT].tunnels, &shared->process[process].share[SLOT].tunnels,
                    limit);
}

static void discharge(unsigned process)
{
    gw_discharge(&shared->admission[SLOT].tunnels, &shared->process[process].share[SLOT].tunnels);
}

static void the_last_place_is_given_once(void **state)
{
    (void)state;
    assert_true(admit(0, 2));
    assert_true(admit(1, 2));
    assert_false(admit(0, 2));
    assert_false(admit(2, 2));
    discharge(1);
    assert_true(admit(2, 2));
    assert_false(admit(1, 2));
    assert_int_equal(shared->admission[SLOT].tunnels, 2);
    assert_true(admit(3, 0)); /* no limit, yet counted */
    assert_int_equal(shared->admission[SLOT].tunnels, 3);
    assert_int_equal(shared->admission[SLOT].connections, 0);
}

/* All of them try for much longer than there are places: never may more be taken than there are,
 * and in the end everything is given back. */
static bool hammer(void *argument)
{
    struct gw_error err = GW_ERROR_NONE;
    unsigned process = *(unsigned *)argument, held = 0, seed = process;
    shared = gw_shared_attach(shared_fd, &err);
    if (shared == NULL)
        return false;
    for (int i = 0; i < 200000; i++) {
        if (rand_r(&seed) % 2 == 0 && admit(process, 10))
            held++;
        else if (held > 0) {
            discharge(process);
            held--;
        }
        if (shared->admission[SLOT].tunnels > 10)
            return false;
    }
    while (held-- > 0)
        discharge(process);
    return true;
}

static void a_limit_is_exact_across_processes(void **state)
{
    pid_t pids[PROCESSES];
    (void)state;
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(hammer(&i) ? 0 : 1);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(shared->admission[SLOT].tunnels, 0);
}

static void what_a_dead_process_held_is_given_back(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(admit(1, 8));
    for (int i = 0; i < 5; i++)
        assert_true(admit(2, 8));
    assert_false(admit(0, 8));
    gw_count_add(&shared->process[1], GW_COUNT_TUNNELS, 3);
    gw_count_add(&shared->process[1], GW_COUNT_BYTES_UP, 1000);
    gw_shared_reclaim(shared, 1);
    assert_int_equal(shared->admission[SLOT].tunnels, 5);
    assert_int_equal(shared->process[1].share[SLOT].tunnels, 0);
    assert_int_equal(shared->process[1].counters[GW_COUNT_TUNNELS], 0);
    assert_int_equal(shared->process[1].counters[GW_COUNT_BYTES_UP], 1000);
    gw_shared_reclaim(shared, 1); /* harmless when done twice */
    assert_int_equal(shared->admission[SLOT].tunnels, 5);
    assert_true(admit(1, 8)); /* its successor */
}

static void a_share_that_lies_cannot_wrap_the_count(void **state)
{
    (void)state;
    assert_true(admit(0, 8));
    shared->process[3].share[SLOT].tunnels = 4000000000u;
    gw_shared_reclaim(shared, 3);
    assert_int_equal(shared->admission[SLOT].tunnels, 0);
    discharge(0);
    assert_int_equal(shared->admission[SLOT].tunnels, 0);
}

/* Killed in the middle of it, over and over: the count may be one too high for each death, never
 * too low, or the limit would let too many in. */
static void a_kill_at_any_moment_never_frees_a_place_twice(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            for (unsigned process = 1;;)
                if (!admit(process, 5))
                    discharge(process);
        usleep(200 + 37 * i);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(shared->admission[SLOT].tunnels >= shared->process[1].share[SLOT].tunnels);
        gw_shared_reclaim(shared, 1);
    }
}

static void memory_of_another_size_is_refused(void **state)
{
    struct gw_error err = GW_ERROR_NONE;
    (void)state;
    assert_int_equal(ftruncate(shared_fd, 100), -1);
    int fd = open("/dev/zero", O_RDWR);
    assert_null(gw_shared_attach(fd, &err));
    assert_true(err.text[0] != '\0');
    close(fd);
}

static void every_counter_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (enum gw_counter i = 0; i < GW_COUNTERS; i++) {
        assert_true(gw_counter_help(i)[0] != '\0');
        for (enum gw_counter k = 0; k < i; k++)
            assert_string_not_equal(gw_counter_metric(i), gw_counter_metric(k));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_shared, drop_shared)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_place_is_given_once),
        TEST(a_limit_is_exact_across_processes),
        TEST(what_a_dead_process_held_is_given_back),
        TEST(a_share_that_lies_cannot_wrap_the_count),
        TEST(a_kill_at_any_moment_never_frees_a_place_twice),
        TEST(memory_of_another_size_is_refused),
        TEST(every_counter_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
