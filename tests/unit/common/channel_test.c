/* tests/unit/common/channel_test.c */
#define _GNU_SOURCE /* SCM_RIGHTS and friends under -std=c11 */
#include "gateway/common/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "support.h"

static struct gw_channel_buffer buffer;

struct pair {
    int ends[2];
    size_t descriptors; /* before it was made */
};

static int open_pair(void **state)
{
    static struct pair pair;
    struct gw_error err = GW_ERROR_NONE;
    pair.descriptors = open_descriptors();
    assert_true(gw_channel_pair(pair.ends, &err));
    *state = &pair;
    return 0;
}

/* After every test: no descriptor is left over, whatever went wrong in it. */
static int close_pair(void **state)
{
    struct pair *pair = *state;
    close(pair->ends[0]);
    close(pair->ends[1]);
    assert_int_equal(open_descriptors(), pair->descriptors);
    return 0;
}

static enum gw_channel_result send_text(int end, const char *text, const int *fds, size_t count)
{
    struct gw_error err = GW_ERROR_NONE;
    return gw_channel_send(end, GW_MSG_LISTENER, gw_slice_of(text), fds, count, &err);
}

static void assert_broken(int end)
{
    struct gw_message message;
    struct gw_error err = GW_ERROR_NONE;
    assert_int_equal(gw_channel_receive(end, &buffer, &message, &err), GW_CHANNEL_BROKEN);
    assert_true(err.text[0] != '\0');
    assert_int_equal(message.fd_count, 0);
}

static void messages_arrive_whole_and_in_order(void **state)
{
    struct pair *pair = *state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_message message;
    const char *const texts[] = { "first", "", "third" };
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        assert_int_equal(send_text(pair->ends[0], texts[i], NULL, 0), GW_CHANNEL_OK);
    for (size_t i = 0; i < GW_COUNT(texts); i++) {
        assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err), GW_CHANNEL_OK);
        assert_int_equal(message.type, GW_MSG_LISTENER);
        assert_int_equal(message.fd_count, 0);
        assert_true(gw_slice_equal(message.payload, gw_slice_of(texts[i])));
        gw_message_fini(&message);
    }
}

static void the_largest_message_fits(void **state)
{
    static char payload[GW_CHANNEL_PAYLOAD_MAX];
    struct pair *pair = *state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_message message;
    memset(payload, 'x', sizeof payload);
    struct gw_slice all = { payload, sizeof payload };
    assert_int_equal(gw_channel_send(pair->ends[0], GW_MSG_CREDENTIAL, all, NULL, 0, &err),
                     GW_CHANNEL_OK);
    assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err), GW_CHANNEL_OK);
    assert_true(gw_slice_equal(message.payload, all));
    gw_message_fini(&message);
}

static void descriptors_travel_and_are_closed_unless_taken(void **state)
{
    struct pair *pair = *state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_message message;
    int fds[GW_CHANNEL_FDS_MAX];
    struct stat sent, got;
    for (size_t i = 0; i < GW_COUNT(fds); i++)
        assert_true((fds[i] = open("/dev/null", O_RDONLY)) >= 0);
    assert_int_equal(send_text(pair->ends[0], "fds", fds, GW_COUNT(fds)), GW_CHANNEL_OK);
    assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err), GW_CHANNEL_OK);
    assert_int_equal(message.fd_count, GW_COUNT(fds));
    int taken = gw_message_take_fd(&message, 3);
    assert_int_equal(gw_message_take_fd(&message, 3), -1);
    assert_int_equal(gw_message_take_fd(&message, GW_CHANNEL_FDS_MAX), -1);
    gw_message_fini(&message);
    assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fstat(fds[3], &sent) + fstat(taken, &got), 0);
    assert_int_equal(sent.st_rdev, got.st_rdev);
    close(taken);
    for (size_t i = 0; i < GW_COUNT(fds); i++)
        close(fds[i]);
}

static void nothing_blocks(void **state)
{
    static char payload[GW_CHANNEL_PAYLOAD_MAX];
    struct pair *pair = *state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_message message;
    struct gw_slice all = { payload, sizeof payload };
    size_t sent = 0, got = 0;
    assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err),
                     GW_CHANNEL_WOULD_BLOCK);
    enum gw_channel_result result;
    while ((result = gw_channel_send(pair->ends[0], GW_MSG_READY, all, NULL, 0, &err))
           == GW_CHANNEL_OK)
        assert_true(++sent < 10000);
    assert_int_equal(result, GW_CHANNEL_WOULD_BLOCK);
    assert_true(sent >= 2);
    while (gw_channel_receive(pair->ends[1], &buffer, &message, &err) == GW_CHANNEL_OK) {
        gw_message_fini(&message);
        got++;
    }
    assert_int_equal(got, sent);
}

static void a_closed_peer_is_told_apart_from_a_broken_one(void **state)
{
    struct pair *pair = *state;
    struct gw_error err = GW_ERROR_NONE;
    struct gw_message message;
    assert_int_equal(send_text(pair->ends[0], "last words", NULL, 0), GW_CHANNEL_OK);
    close(pair->ends[0]);
    pair->ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC); /* for close_pair */
    assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err), GW_CHANNEL_OK);
    gw_message_fini(&message);
    assert_int_equal(gw_channel_receive(pair->ends[1], &buffer, &message, &err), GW_CHANNEL_CLOSED);
    assert_int_equal(send_text(pair->ends[1], "too late", NULL, 0), GW_CHANNEL_CLOSED);
}

/* What only a broken or hostile peer sends: bytes and descriptors past gw_channel_send(). */
static void send_raw(int end, const void *bytes, size_t length, const int *fds, size_t count)
{
    struct iovec part = { (void *)(uintptr_t)bytes, length };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } control;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(item), fds, count * sizeof(int));
    }
    assert_int_equal(sendmsg(end, &header, 0), length);
}

static void what_is_not_a_message_is_refused(void **state)
{
    static const struct {
        unsigned char bytes[16];
        size_t length;
        const char *why;
    } cases[] = {
        { { 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 11, "a header that is cut off" },
        { { 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0 }, 12, "another version" },
        { { 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0 }, 12, "a version of four bytes" },
        { { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 12, "no type" },
        { { 1, 0, 0, 0, GW_MESSAGE_TYPES, 0, 0, 0, 0, 0, 0, 0 }, 12, "a type past the last" },
        { { 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0 }, 12, "a type of four bytes" },
        { { 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7 }, 13, "fewer bytes than it says" },
        { { 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7 }, 13, "more bytes than it says" },
        { { 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255, 7 }, 13, "a length that wraps around" },
    };
    struct pair *pair = *state;
    int fd = open("/dev/null", O_RDONLY);
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct gw_message message = { 0 };
        struct gw_error err = GW_ERROR_NONE;
        struct gw_slice datagram = { (const char *)cases[i].bytes, cases[i].length };
        if (gw_channel_parse(datagram, &message, &err))
            fail_msg("accepted: %s", cases[i].why);
        send_raw(pair->ends[0], cases[i].bytes, cases[i].length, &fd, 1);
        assert_broken(pair->ends[1]);
    }
    close(fd);
}

static void an_oversize_message_is_refused(void **state)
{
    static unsigned char bytes[GW_CHANNEL_PAYLOAD_MAX + 12 + 1];
    static const unsigned char over[12] = { 1, 0, 0, 0, 1, 0, 0, 0, 0x01, 0x80, 0, 0 };
    static unsigned char truncated[sizeof(struct gw_channel_buffer) + 1];
    struct pair *pair = *state;
    memcpy(bytes, over, sizeof over);
    send_raw(pair->ends[0], bytes, sizeof bytes, NULL, 0); /* it still fits into the buffer */
    assert_broken(pair->ends[1]);
    memcpy(truncated, over, sizeof over);
    send_raw(pair->ends[0], truncated, sizeof truncated, NULL, 0);
    assert_broken(pair->ends[1]);
}

static void too_many_descriptors_are_refused_and_closed(void **state)
{
    static const unsigned char good[12] = { 1, 0, 0, 0, 1 };
    struct pair *pair = *state;
    int fds[GW_CHANNEL_FDS_MAX + 24];
    for (size_t i = 0; i < GW_COUNT(fds); i++)
        fds[i] = pair->ends[0];
    send_raw(pair->ends[0], good, sizeof good, fds, GW_COUNT(fds));
    assert_broken(pair->ends[1]);
}

/* The kernel installs those that there is room for: they must not stay. */
static void descriptors_that_find_no_room_leave_none_behind(void **state)
{
    struct pair *pair = *state;
    struct rlimit before, tight;
    int fds[8];
    for (size_t i = 0; i < GW_COUNT(fds); i++)
        fds[i] = pair->ends[0];
    assert_int_equal(send_text(pair->ends[0], "fds", fds, GW_COUNT(fds)), GW_CHANNEL_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    tight = (struct rlimit){ (rlim_t)next + 3, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_broken(pair->ends[1]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void random_datagrams_are_refused_or_whole(void **state)
{
    struct pair *pair = *state;
    unsigned seed = 20240501;
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[96];
        struct gw_message message;
        struct gw_error err = GW_ERROR_NONE;
        size_t length = 1 + (size_t)rand_r(&seed) % sizeof bytes;
        for (size_t k = 0; k < length; k++)
            bytes[k] = (unsigned char)rand_r(&seed);
        if (i % 2 == 0 && length >= 12) { /* half of them get past the first checks */
            memset(bytes, 0, 12);
            bytes[0] = 1;
            bytes[4] = (unsigned char)(rand_r(&seed) % 24);
            bytes[8] = (unsigned char)(length - 12 + (size_t)rand_r(&seed) % 2);
        }
        send_raw(pair->ends[0], bytes, length, pair->ends, (size_t)rand_r(&seed) % 3);
        enum gw_channel_result result = gw_channel_receive(pair->ends[1], &buffer, &message, &err);
        if (result == GW_CHANNEL_OK) {
            assert_in_range(message.type, GW_MSG_START, GW_MESSAGE_TYPES - 1);
            assert_int_equal(message.payload.length, length - 12);
            gw_message_fini(&message);
        } else
            assert_int_equal(result, GW_CHANNEL_BROKEN);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_arrive_whole_and_in_order),
        TEST(the_largest_message_fits),
        TEST(descriptors_travel_and_are_closed_unless_taken),
        TEST(nothing_blocks),
        TEST(a_closed_peer_is_told_apart_from_a_broken_one),
        TEST(what_is_not_a_message_is_refused),
        TEST(an_oversize_message_is_refused),
        TEST(too_many_descriptors_are_refused_and_closed),
        TEST(descriptors_that_find_no_room_leave_none_behind),
        TEST(random_datagrams_are_refused_or_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
