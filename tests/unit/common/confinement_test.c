/* tests/unit/common/confinement_test.c - in a child each, seen through /proc/self/status. */
#define _GNU_SOURCE /* setresuid, capget */
#include "gateway/common/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "support.h"

#define UID 61199

/* The value of a line of /proc/self/status; "" when it is not there. */
static const char *status_of(const char *name)
{
    static char line[512];
    FILE *file = fopen("/proc/self/status", "r");
    size_t length = strlen(name);
    const char *found = "";
    while (file != NULL && found[0] == '\0' && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            found = line + length + 1 + strspn(line + length + 1, " \t");
    line[strcspn(line, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    return found;
}

static bool is(const char *name, const char *expected)
{
    const char *found = status_of(name);
    if (strcmp(found, expected) == 0)
        return true;
    fprintf(stderr, "%s is \"%s\", not \"%s\"\n", name, found, expected);
    return false;
}

#define NO_CAPABILITY "0000000000000000"

static bool has_nothing_left(void)
{
    struct rlimit core;
    return is("NoNewPrivs", "1") && syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == ENOSYS
           && is("CapInh", NO_CAPABILITY) && is("CapPrm", NO_CAPABILITY)
           && is("CapEff", NO_CAPABILITY) && is("CapAmb", NO_CAPABILITY)
           && getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0
#ifndef GW_SANITIZED
           && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
#endif
        ;
}

static bool becomes_nobody_in_particular(void *argument)
{
    const struct gw_confinement how = { .change_user = true, .uid = UID, .gid = UID };
    struct gw_error err = GW_ERROR_NONE;
    const gid_t groups[] = { 1, 2 };
    (void)argument;
    if (setgroups(GW_COUNT(groups), groups) != 0)
        return false;
    if (!gw_confine(&how, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    return has_nothing_left() && is("CapBnd", NO_CAPABILITY) && is("Groups", "")
           && is("Uid", "61199\t61199\t61199\t61199") && is("Gid", "61199\t61199\t61199\t61199")
           && setuid(0) != 0 && setresuid(0, 0, 0) != 0 && setgid(0) != 0
           && open("/proc/1/environ", O_RDONLY) < 0;
}

static void as_root_everything_goes_and_nothing_comes_back(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_true(in_a_child(becomes_nobody_in_particular, NULL));
}

static bool keeps_its_uid(void *argument)
{
    const struct gw_confinement how = { .change_user = false };
    struct gw_error err = GW_ERROR_NONE;
    (void)argument;
    if (geteuid() == 0 && setresuid(UID, UID, UID) != 0)
        return false;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after exec */
    uid_t before = getuid();
    return gw_confine(&how, &err) && has_nothing_left() && getuid() == before;
}

static void without_root_the_uid_stays_and_the_rest_goes(void **state)
{
    (void)state;
    assert_true(in_a_child(keeps_its_uid, NULL));
}

static bool cannot_change(void *argument)
{
    const struct gw_confinement how = { .change_user = true, .uid = UID, .gid = UID };
    struct gw_error err = GW_ERROR_NONE;
    (void)argument;
    if (geteuid() == 0 && setresuid(UID + 1, UID + 1, UID + 1) != 0)
        return false;
    return !gw_confine(&how, &err) && strstr(err.text, "confinement") != NULL;
}

static void a_change_that_is_not_possible_is_an_error(void **state)
{
    (void)state;
    assert_true(in_a_child(cannot_change, NULL));
}

static bool keeps_only_what_it_was_told(void *argument)
{
    (void)argument;
    for (int i = 0; i < 20; i++)
        if (dup(0) < 0)
            return false;
    gw_close_other_descriptors(5, 2);
    for (int fd = 0; fd < 40; fd++)
        if ((fcntl(fd, F_GETFD) >= 0) != (fd <= 2 || fd == 5 || fd == 6))
            return false;
    return true;
}

static void other_descriptors_are_closed(void **state)
{
    (void)state;
    assert_true(in_a_child(keeps_only_what_it_was_told, NULL));
}

static bool raises_the_limit(void *argument)
{
    struct rlimit limit;
    (void)argument;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    const struct rlimit low = { 64, limit.rlim_max };
    if (setrlimit(RLIMIT_NOFILE, &low) != 0)
        return false;
    return gw_raise_descriptor_limit() == limit.rlim_max && getrlimit(RLIMIT_NOFILE, &limit) == 0
           && limit.rlim_cur == limit.rlim_max;
}

static void the_descriptor_limit_is_raised_to_the_hard_one(void **state)
{
    (void)state;
    assert_true(in_a_child(raises_the_limit, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_root_everything_goes_and_nothing_comes_back),
        cmocka_unit_test(without_root_the_uid_stays_and_the_rest_goes),
        cmocka_unit_test(a_change_that_is_not_possible_is_an_error),
        cmocka_unit_test(other_descriptors_are_closed),
        cmocka_unit_test(the_descriptor_limit_is_raised_to_the_hard_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
