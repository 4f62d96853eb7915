#include "gateway/proxy/dns_channel.h"

#include <ares.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/check.h"

#define QUESTIONS_MAX 16384   /* unanswered at a time; a quarter of the query ids */
#define QUESTIONS_A_SOCKET 16 /* then another source port; fewer would cost descriptors */

struct gw_dns_question {
    struct gw_dns_channel *channel;
    struct gw_dns_asker *asker; /* NULL: abandoned */
    const struct gw_host *host; /* the asker's */
    uint8_t family;
    uint64_t asked_ms;
};

struct socket {
    struct gw_list member; /* of channel->sockets, until c-ares closes the descriptor */
    struct gw_dns_channel *channel;
    uv_poll_t poll;
    int fd;
};

/* --- opening --- */

static void on_socket_state(void *context, ares_socket_t fd, int readable, int writable);
static void on_timer(uv_timer_t *timer);

static bool set_servers(ares_channel_t *ares, const struct gw_dns_settings *settings)
{
    size_t room = (size_t)settings->server_count * (GW_IP_ADDRESS_TEXT_MAX + 10) + 1, used = 0;
    char *list = malloc(room);
    if (list == NULL)
        return false;
    list[0] = '\0';
    for (uint32_t i = 0; i < settings->server_count; i++) {
        char text[GW_IP_ADDRESS_TEXT_MAX];
        const struct gw_snapshot_server *server = &settings->servers[i];
        gw_ip_address_print(&server->address, text, sizeof text);
        used += (size_t)snprintf(list + used, room - used,
                                 server->address.family == 6 ? "%s[%s]:%u" : "%s%s:%u",
                                 i == 0 ? "" : ",", text, server->port);
    }
    bool set = ares_set_servers_ports_csv(ares, list) == ARES_SUCCESS;
    free(list);
    return set;
}

static int clamp(uint32_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

static ares_channel_t *open_ares(struct gw_dns_channel *channel,
                                 const struct gw_dns_settings *settings)
{
    ares_channel_t *ares = NULL;
    char lookups[] = "b", nothing[] = "/dev/null";
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = clamp(settings->timeout_ms),
        .maxtimeout = clamp(settings->timeout_ms),
        .tries = clamp(settings->tries),
        .lookups = lookups,
        .resolvconf_path = nothing,
        .hosts_path = nothing,
        .udp_max_queries = QUESTIONS_A_SOCKET,
        .qcache_max_ttl = 0,
        .sock_state_cb = on_socket_state,
        .sock_state_cb_data = channel,
    };
    if (ares_init_options(&ares, &options,
                          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_MAXTIMEOUTMS
                              | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF
                              | ARES_OPT_HOSTS_FILE | ARES_OPT_UDP_MAX_QUERIES
                              | ARES_OPT_QUERY_CACHE | ARES_OPT_NOROTATE | ARES_OPT_SOCK_STATE_CB)
        != ARES_SUCCESS)
        return NULL;
    if (!set_servers(ares, settings)) {
        ares_destroy(ares);
        return NULL;
    }
    return ares;
}

struct gw_dns_channel *gw_dns_channel_open(uv_loop_t *loop, struct gw_dns_settings *settings,
                                           void (*closed)(void *context), void *context,
                                           struct gw_error *err)
{
    gw_check(settings->server_count > 0);
    struct gw_dns_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL || (channel->ares = open_ares(channel, settings)) == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "cannot set up the name servers");
        free(channel);
        return NULL;
    }
    gw_list_init(&channel->among);
    gw_list_init(&channel->sockets);
    gw_list_init(&channel->patients);
    channel->settings = gw_dns_settings_ref(settings);
    channel->closed = closed;
    channel->context = context;
    uv_timer_init(loop, &channel->timer);
    channel->open_handles = 1;
    return channel;
}

/* --- asking --- */

/* After each call into c-ares: when must it be called next, if nothing arrives? */
static void set_timer(struct gw_dns_channel *channel)
{
    struct timeval room;
    if (channel->closing || (channel->retired && channel->unanswered == 0)) {
        uv_timer_start(&channel->timer, on_timer, 0, 0);
        return;
    }
    struct timeval *next = ares_timeout(channel->ares, NULL, &room);
    if (next == NULL) {
        uv_timer_stop(&channel->timer);
        return;
    }
    uint64_t ms = (uint64_t)next->tv_sec * 1000 + (uint64_t)(next->tv_usec + 999) / 1000;
    uv_timer_start(&channel->timer, on_timer, ms, 0);
}

static void on_answer(void *context, ares_status_t status, size_t timeouts,
                      const ares_dns_record_t *record);

static void send_question(struct gw_dns_question *question)
{
    ares_query_dnsrec(question->channel->ares, question->host->text, ARES_CLASS_IN,
                      question->family == 4 ? ARES_REC_TYPE_A : ARES_REC_TYPE_AAAA, on_answer,
                      question, NULL);
}

static void on_patient_closed(void *context);

/* c-ares has run out of tries. Was that before the time that the settings give? */
static bool gave_up_early(const struct gw_dns_question *question)
{
    const struct gw_dns_channel *channel = question->channel;
    const struct gw_dns_settings *settings = channel->settings;
    return question->asker != NULL && !channel->is_patient && !channel->closing
           && uv_now(channel->timer.loop) - question->asked_ms
                  < (uint64_t)settings->timeout_ms * settings->tries * settings->server_count;
}

/* Moves the question to a channel of its own. False: no memory. */
static bool ask_patiently(struct gw_dns_question *question)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_dns_channel *channel = question->channel;
    struct gw_dns_channel *patient = gw_dns_channel_open(channel->timer.loop, channel->settings,
                                                         on_patient_closed, channel, &err);
    if (patient == NULL)
        return false;
    gw_list_append(&channel->patients, &patient->among);
    channel->open_handles++;
    channel->unanswered--;
    question->channel = patient;
    patient->is_patient = patient->retired = true; /* closes after this question */
    patient->unanswered = 1;
    send_question(question);
    set_timer(patient);
    return true;
}

static void on_answer(void *context, ares_status_t status, size_t timeouts,
                      const ares_dns_record_t *record)
{
    struct gw_dns_question *question = context;
    struct gw_dns_asker *asker = question->asker;
    (void)timeouts;
    if (status == ARES_ETIMEOUT && gave_up_early(question) && ask_patiently(question))
        return;
    question->channel->unanswered--;
    if (asker != NULL) {
        struct gw_dns_answer answer;
        gw_dns_answer_read(status, record, gw_host_slice(question->host), question->family,
                           &answer);
        asker->question = NULL;
        asker->answered(asker, &answer);
    }
    free(question);
}

bool gw_dns_channel_has_room(const struct gw_dns_channel *channel, size_t questions)
{
    return channel->unanswered + questions <= QUESTIONS_MAX;
}

void gw_dns_channel_ask(struct gw_dns_channel *channel, const struct gw_host *host, uint8_t family,
                        struct gw_dns_asker *asker)
{
    gw_check(!channel->retired && !channel->closing && asker->question == NULL);
    struct gw_dns_question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        struct gw_dns_answer answer = { .reason = GW_REASON_INTERNAL };
        asker->answered(asker, &answer);
        return;
    }
    question->channel = channel;
    question->asker = asker;
    question->host = host;
    question->family = family;
    question->asked_ms = uv_now(channel->timer.loop);
    asker->question = question; /* before it is sent: c-ares may answer at once */
    channel->unanswered++;
    send_question(question);
    set_timer(channel);
}

void gw_dns_asker_abandon(struct gw_dns_asker *asker)
{
    if (asker->question == NULL)
        return;
    struct gw_dns_question *question = asker->question;
    question->asker = NULL;
    question->host = NULL;
    asker->question = NULL;
    if (question->channel->is_patient)
        gw_dns_channel_close(question->channel); /* it has no other */
}

/* --- what c-ares waits for --- */

static void on_handle_closed(struct gw_dns_channel *channel)
{
    if (--channel->open_handles > 0)
        return;
    void (*closed)(void *context) = channel->closed;
    void *context = channel->context;
    gw_list_remove(&channel->among);
    gw_dns_settings_unref(channel->settings);
    free(channel);
    closed(context);
}

static void on_patient_closed(void *context)
{
    on_handle_closed(context);
}

static void on_socket_closed(uv_handle_t *handle)
{
    struct socket *socket = gw_container_of((uv_poll_t *)handle, struct socket, poll);
    struct gw_dns_channel *channel = socket->channel;
    free(socket);
    on_handle_closed(channel);
}

static void on_socket_ready(uv_poll_t *poll, int status, int events)
{
    struct socket *socket = gw_container_of(poll, struct socket, poll);
    struct gw_dns_channel *channel = socket->channel;
    ares_fd_events_t event = { .fd = socket->fd };
    if (status < 0 || (events & UV_READABLE) != 0)
        event.events |= ARES_FD_EVENT_READ; /* an error is found by reading */
    if (status < 0 || (events & UV_WRITABLE) != 0)
        event.events |= ARES_FD_EVENT_WRITE;
    ares_process_fds(channel->ares, &event, 1, ARES_PROCESS_FLAG_NONE);
    set_timer(channel); /* `socket` may be closing by now */
}

static struct socket *find_socket(struct gw_dns_channel *channel, int fd)
{
    gw_list_each (at, after, &channel->sockets) {
        struct socket *socket = gw_container_of(at, struct socket, member);
        if (socket->fd == fd)
            return socket;
    }
    return NULL;
}

static struct socket *add_socket(struct gw_dns_channel *channel, int fd)
{
    struct socket *socket = calloc(1, sizeof *socket);
    if (socket == NULL)
        return NULL;
    if (uv_poll_init(channel->timer.loop, &socket->poll, fd) != 0) {
        free(socket);
        return NULL;
    }
    socket->channel = channel;
    socket->fd = fd;
    gw_list_append(&channel->sockets, &socket->member);
    channel->open_handles++;
    return socket;
}

/* A socket that cannot be watched for want of memory is left to the timer: its questions time out
 * and are asked again on another. */
static void on_socket_state(void *context, ares_socket_t fd, int readable, int writable)
{
    struct gw_dns_channel *channel = context;
    struct socket *socket = find_socket(channel, fd);
    if (!readable && !writable) { /* c-ares closes it right after this */
        if (socket != NULL) {
            gw_list_remove(&socket->member);
            uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
        }
        return;
    }
    if (socket == NULL)
        socket = add_socket(channel, fd);
    if (socket != NULL)
        uv_poll_start(&socket->poll, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0),
                      on_socket_ready);
}

/* --- the way out --- */

static void on_timer_closed(uv_handle_t *handle)
{
    on_handle_closed(gw_container_of((uv_timer_t *)handle, struct gw_dns_channel, timer));
}

static void on_timer(uv_timer_t *timer)
{
    struct gw_dns_channel *channel = gw_container_of(timer, struct gw_dns_channel, timer);
    if (channel->closing || (channel->retired && channel->unanswered == 0)) {
        channel->closing = true;
        ares_destroy(channel->ares); /* answers what is left, and closes the sockets */
        channel->ares = NULL;
        uv_close((uv_handle_t *)&channel->timer, on_timer_closed);
        return;
    }
    ares_process_fds(channel->ares, NULL, 0, ARES_PROCESS_FLAG_NONE);
    set_timer(channel);
}

void gw_dns_channel_retire(struct gw_dns_channel *channel)
{
    if (channel->retired || channel->closing)
        return;
    channel->retired = true;
    set_timer(channel);
}

void gw_dns_channel_close(struct gw_dns_channel *channel)
{
    if (channel->closing)
        return;
    channel->closing = true;
    uv_timer_start(&channel->timer, on_timer, 0, 0);
}
