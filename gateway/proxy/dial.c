/* gateway/proxy/dial.c */
#define _GNU_SOURCE /* SOCK_NONBLOCK */
#include "gateway/proxy/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/macros.h"
#include "policy/ip_screen.h"

/* Under way at the same time: a name with many dead addresses must not take many descriptors. */
enum { ATTEMPTS_MAX = 3 };

struct gw_dial_attempt {
    struct gw_dial *dial;
    size_t index; /* of the address, and in dial->attempts */
    struct gw_watch *watch;
    struct gw_timer patience; /* connect_attempt_ms, when another address could be tried */
};

static void start_next(struct gw_dial *dial);

static void drop(struct gw_dial_attempt *attempt)
{
    struct gw_dial *dial = attempt->dial;
    gw_timer_stop(&attempt->patience);
    gw_watch_close(attempt->watch);
    dial->attempts[attempt->index] = NULL;
    dial->pending--;
    free(attempt);
}

static void stop(struct gw_dial *dial)
{
    for (size_t i = 0; i < dial->next; i++)
        if (dial->attempts[i] != NULL)
            drop(dial->attempts[i]);
    gw_timer_stop(&dial->stagger);
    gw_timer_stop(&dial->deadline);
    gw_dialable_set_free(dial->set);
    dial->set = NULL;
    dial->running = false;
}

static void finish(struct gw_dial *dial, enum gw_reason reason)
{
    dial->reason = reason;
    stop(dial);
    dial->done(dial);
}

/* One attempt is over: the next address at once, or the end when there is none. */
static void attempt_failed(struct gw_dial_attempt *attempt, int error)
{
    struct gw_dial *dial = attempt->dial;
    dial->error = error;
    dial->address = gw_dialable_address(gw_dialable_at(dial->set, attempt->index));
    drop(attempt);
    if (dial->next < gw_dialable_count(dial->set))
        start_next(dial);
    else if (dial->pending == 0)
        finish(dial, error == ETIMEDOUT ? GW_REASON_CONNECT_TIMEOUT : GW_REASON_CONNECT_FAILED);
}

static void on_patience(struct gw_timer *timer)
{
    struct gw_dial_attempt *attempt = gw_container_of(timer, struct gw_dial_attempt, patience);
    struct gw_dial *dial = attempt->dial;
    /* The last hope is left to the deadline of the whole. */
    if (dial->pending > 1 || dial->next < gw_dialable_count(dial->set))
        attempt_failed(attempt, ETIMEDOUT);
}

/* An address that is local by route alone (AnyIP, a load balancer's virtual address) stands on no
 * interface, so the screen cannot know it; but the kernel then gives the connection that very
 * address as its own. Loopback does so too, and is the screen's to judge. */
static bool leads_to_self(int fd, const struct gw_dialable *dialable)
{
    struct sockaddr_storage own = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof own;
    struct gw_ip_address address = gw_dialable_address(dialable), local = { 0 };
    if (gw_ip_screen(&address) == GW_KIND_LOOPBACK
        || getsockname(fd, (struct sockaddr *)&own, &length) != 0)
        return false;
    local.family = own.ss_family == AF_INET ? 4 : 6;
    if (own.ss_family == AF_INET)
        memcpy(local.bytes, &((const struct sockaddr_in *)(const void *)&own)->sin_addr, 4);
    else
        memcpy(local.bytes, &((const struct sockaddr_in6 *)(const void *)&own)->sin6_addr, 16);
    return gw_ip_address_equal(&local, &address);
}

static bool leads_to(int fd, const struct gw_dialable *dialable)
{
    struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &length) == 0
           && gw_dialable_is_peer(dialable, &peer);
}

static void on_attempt(struct gw_watch *watch)
{
    struct gw_dial_attempt *attempt = watch->owner;
    struct gw_dial *dial = attempt->dial;
    const struct gw_dialable *dialable = gw_dialable_at(dial->set, attempt->index);
    int error = 0;
    socklen_t length = sizeof error;
    if (!(watch->ready & (GW_CAN_WRITE | GW_PEER_RESET)))
        return;
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error != 0) {
        attempt_failed(attempt, error);
        return;
    }
    dial->address = gw_dialable_address(dialable);
    if (!leads_to(watch->fd, dialable)) {
        /* Connected to something else than what was screened, or gone again already. */
        struct sockaddr_storage peer;
        length = sizeof peer;
        if (getpeername(watch->fd, (struct sockaddr *)&peer, &length) != 0)
            attempt_failed(attempt, ECONNRESET);
        else
            finish(dial, GW_REASON_PEER_MISMATCH);
        return;
    }
    if (leads_to_self(watch->fd, dialable)) {
        finish(dial, GW_REASON_RESOLVED);
        return;
    }
    dial->watch = watch;
    attempt->watch = NULL; /* handed over */
    finish(dial, GW_REASON_NONE);
}

/* Returns an errno, 0 when the attempt is under way. */
static int try_address(struct gw_dial *dial, size_t index)
{
    struct sockaddr_storage address;
    socklen_t length = gw_dialable_sockaddr(gw_dialable_at(dial->set, index), &address);
    struct gw_dial_attempt *attempt = calloc(1, sizeof *attempt);
    if (attempt == NULL)
        return ENOMEM;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0) {
        int error = errno;
        free(attempt);
        return error;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&address, length) != 0 && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        free(attempt);
        return error;
    }
    gw_count_add(dial->counters, GW_COUNT_DIALS, 1);
    attempt->watch = gw_reactor_watch(dial->reactor, fd, on_attempt, attempt);
    if (attempt->watch == NULL) {
        free(attempt);
        return ENOMEM;
    }
    attempt->dial = dial;
    attempt->index = index;
    gw_timer_init(&attempt->patience, on_patience);
    gw_timer_start(dial->timers, &attempt->patience, gw_limit(dial->limits, CONNECT_ATTEMPT_MS));
    dial->attempts[index] = attempt;
    dial->pending++;
    return 0;
}

/* Addresses that fail at once are passed over; the last failure is reported from the timer, never
 * from within gw_dial_start(). */
static void start_next(struct gw_dial *dial)
{
    if (dial->pending >= ATTEMPTS_MAX) { /* one of them has to end first */
        gw_timer_start(dial->timers, &dial->stagger, gw_limit(dial->limits, ATTEMPT_DELAY_MS));
        return;
    }
    size_t count = gw_dialable_count(dial->set);
    while (dial->next < count) {
        size_t index = dial->next++;
        int error = try_address(dial, index);
        if (error == 0)
            break;
        dial->error = error;
        dial->address = gw_dialable_address(gw_dialable_at(dial->set, index));
    }
    if (dial->next < count)
        gw_timer_start(dial->timers, &dial->stagger, gw_limit(dial->limits, ATTEMPT_DELAY_MS));
    else if (dial->pending == 0)
        gw_timer_start(dial->timers, &dial->stagger, 0);
    else
        gw_timer_stop(&dial->stagger);
}

static void on_stagger(struct gw_timer *timer)
{
    struct gw_dial *dial = gw_container_of(timer, struct gw_dial, stagger);
    if (dial->next < gw_dialable_count(dial->set))
        start_next(dial);
    else if (dial->pending == 0)
        finish(dial, dial->error == EMFILE || dial->error == ENFILE || dial->error == ENOMEM
                         ? GW_REASON_OVERLOADED
                         : GW_REASON_CONNECT_FAILED);
}

static void on_deadline(struct gw_timer *timer)
{
    struct gw_dial *dial = gw_container_of(timer, struct gw_dial, deadline);
    dial->error = ETIMEDOUT;
    finish(dial, GW_REASON_CONNECT_TIMEOUT);
}

void gw_dial_start(struct gw_dial *dial, struct gw_dialable_set *set, struct gw_reactor *reactor,
                   struct gw_timers *timers, const struct gw_limits *limits,
                   struct gw_process_page *counters)
{
    void (*done)(struct gw_dial * dial) = dial->done;
    *dial = (struct gw_dial){ .done = done,
                              .set = set,
                              .reactor = reactor,
                              .timers = timers,
                              .limits = limits,
                              .counters = counters,
                              .running = true };
    gw_check(gw_dialable_count(set) > 0);
    gw_timer_init(&dial->stagger, on_stagger);
    gw_timer_init(&dial->deadline, on_deadline);
    gw_timer_start(timers, &dial->deadline, gw_limit(limits, CONNECT_TIMEOUT_MS));
    start_next(dial);
}

void gw_dial_cancel(struct gw_dial *dial)
{
    if (dial->running)
        stop(dial);
}
