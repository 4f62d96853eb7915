/* gateway/proxy/audit.h - one record a decision, one at the end of each exchange.
 * JSON lines, schema version 1 (docs/audit.md). Batched a loop turn, bounded, and never waited for:
 * each network has its own share of the queue, so that a flood of refusals of one hides nobody
 * else's records; what does not fit is dropped, counted, and the count is told in the next record
 * of that network. Text from peers is escaped. No secret can be passed here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gateway/proxy/binding.h"
#include "gateway/proxy/timers.h"
#include "policy/reason.h"

struct gw_proxy;
struct gw_audit;

/* Why an exchange ended, beside the reasons of refusals: GW_CLOSING(name, text). */
/* clang-format off */
#define GW_CLOSINGS(GW_CLOSING) \
    GW_CLOSING(DONE,             "done")              /* both sides are through */ \
    GW_CLOSING(REFUSED,          "refused")           /* the decision record says why */ \
    GW_CLOSING(FAILED,           "failed")            /* before an answer; reason in the record */ \
    GW_CLOSING(CLIENT_GONE,      "client-gone")       /* the requester went away */ \
    GW_CLOSING(CLIENT_RESET,     "client-reset") \
    GW_CLOSING(UPSTREAM_RESET,   "upstream-reset") \
    GW_CLOSING(UPSTREAM_TRUNCATED,"upstream-truncated") \
    GW_CLOSING(UPSTREAM_PROTOCOL,"upstream-protocol") \
    GW_CLOSING(BAD_BODY,         "bad-request")       /* the request's body is malformed */ \
    GW_CLOSING(IDLE,             "idle-timeout") \
    GW_CLOSING(LIFETIME,         "lifetime") \
    GW_CLOSING(NARROWED,         "policy-narrowed") \
    GW_CLOSING(NOT_TLS,          "not-tls") \
    GW_CLOSING(SNI_MISSING,      "sni-missing") \
    GW_CLOSING(SNI_MISMATCH,     "sni-mismatch") \
    GW_CLOSING(SHUTDOWN,         "shutdown") \
    GW_CLOSING(OUT_OF_MEMORY,    "out-of-memory")
/* clang-format on */

enum gw_closing {
#define GW_CLOSING(name, text) GW_CLOSING_##name,
    GW_CLOSINGS(GW_CLOSING)
#undef GW_CLOSING
        GW_CLOSING_COUNT
};
const char *gw_closing_text(enum gw_closing closing);

/* Durations in microseconds; -1: that step did not happen. */
struct gw_durations {
    int64_t dns, connect, tls, first_byte;
};

/* What is known when a decision is recorded. Everything is borrowed. */
struct gw_decision_record {
    uint64_t id;
    bool connect;
    struct gw_slice method;
    struct gw_slice host;     /* canonical when it is, else as sent (escaped and cut here) */
    unsigned port, dial_port; /* 0: not known */
    struct gw_refusal refusal;
    int status; /* of our own answer; 0: none */
    const struct gw_ip_address *client;
    const struct gw_ip_address *address; /* dialled or offending; NULL: none */
    const struct gw_ip_address *records; /* of a refused answer: all of them */
    size_t record_count;
    const struct gw_stamp *stamps;
    size_t stamp_count;
    const char *detail; /* for the operator: errno, TLS failure; NULL: none */
};

struct gw_end_record {
    uint64_t id;
    bool connect;
    const char *host;
    unsigned port;
    const struct gw_ip_address *address; /* NULL: none */
    enum gw_closing closing;
    struct gw_refusal refusal; /* FAILED: why */
    int status;                /* of the answer that was relayed or given; 0: none */
    uint64_t bytes_up, bytes_down;
    uint64_t duration_us;
    struct gw_durations durations;
    struct gw_slice sni; /* seen in a tunnel; empty: none */
};

struct gw_audit *gw_audit_new(struct gw_proxy *proxy);
void gw_audit_free(struct gw_audit *audit); /* a last attempt to send; the rest is lost */

/* `config` and `binding` tell network, policy and digest; binding NULL: none was found. */
void gw_audit_decision(struct gw_audit *audit, uint32_t slot, const struct gw_binding *binding,
                       const struct gw_decision_record *record);
void gw_audit_end(struct gw_audit *audit, uint32_t slot, const struct gw_binding *binding,
                  const struct gw_end_record *record);

/* Sends what is queued, as far as it goes. True: nothing is left. */
bool gw_audit_flush(struct gw_audit *audit);
