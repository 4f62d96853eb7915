/* gateway/proxy/dns_channel.h - questions to one set of name servers: a c-ares channel on the loop.
 *
 * What c-ares 1.34 leaves to its user, and how it is done here:
 * - no ares_cancel(): a question is abandoned, and its answer ignored when it comes;
 * - the channel is destroyed from its own timer, never from a callback of c-ares, and the socket
 *   state callback calls nothing on it; no query cache, no event thread, no system files needed;
 * - c-ares learns how fast a server is and then gives up after a quarter of a second a try,
 * whatever it was told, so that one slow name among fast ones would fail. A question that it gave
 * up before servers x tries x timeout_ms have passed is asked once more, on a channel of its own
 * that has learned nothing;
 * - query ids have 16 bits and are drawn until a free one is found, so questions are bounded.
 * No EDNS: an answer that does not fit into 512 bytes comes over TCP, as with the C library. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/list.h"
#include "gateway/proxy/dns_answer.h"
#include "gateway/proxy/dns_settings.h"
#include "policy/host.h"

struct gw_dns_question;

struct gw_dns_channel {
    struct gw_list among; /* the owner's; out of every list when `closed` is called */
    struct ares_channeldata *ares;
    uv_timer_t timer;
    struct gw_dns_settings *settings; /* a reference of its own */
    struct gw_list sockets;
    struct gw_list patients; /* channels of one question each */
    bool is_patient;
    size_t open_handles; /* of the loop, and patients */
    size_t unanswered;   /* also those that were abandoned */
    bool retired, closing;
    void (*closed)(void *context);
    void *context;
};

/* Who asks, in the memory of who asks. Zero it before the first use. */
struct gw_dns_asker {
    /* Called once, unless abandoned before; perhaps within gw_dns_channel_ask(). It may abandon
     * other questions, and calls nothing else here: c-ares may be on the stack. */
    void (*answered)(struct gw_dns_asker *asker, const struct gw_dns_answer *answer);
    struct gw_dns_question *question; /* private; NULL: nothing is awaited */
};

/* There is at least one server. `closed` is called from the loop, after which the channel is gone;
 * it is not called if this fails. */
struct gw_dns_channel *gw_dns_channel_open(uv_loop_t *loop, struct gw_dns_settings *settings,
                                           void (*closed)(void *context), void *context,
                                           struct gw_error *err);

/* May `questions` more be asked? */
bool gw_dns_channel_has_room(const struct gw_dns_channel *channel, size_t questions);

/* There is room. `host` stays where it is until the answer or gw_dns_asker_abandon(). */
void gw_dns_channel_ask(struct gw_dns_channel *channel, const struct gw_host *host, uint8_t family,
                        struct gw_dns_asker *asker);
void gw_dns_asker_abandon(struct gw_dns_asker *asker); /* harmless when nothing is awaited */

/* Nothing will be asked any more: closes when the last answer has come, or been given up. */
void gw_dns_channel_retire(struct gw_dns_channel *channel);
/* Closes in the next loop turn; every asker was answered or has abandoned its question (which
 * closes its patient, if it had one). */
void gw_dns_channel_close(struct gw_dns_channel *channel);
