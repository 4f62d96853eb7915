/* policy/reason.h - why not: the machine-readable reasons of every refusal and failure.
 * One table (reason_table.h) makes the enum, the codes, the HTTP statuses, the Proxy-Status types
 * (RFC 9209) and the texts, so that they cannot drift apart. */
#pragma once
#include <stddef.h>

#include "policy/address_kind.h"

enum gw_reason {
    GW_REASON_NONE = 0, /* allowed */
#define GW_REASON(name, code, status, proxy_status, text) GW_REASON_##name,
#include "policy/reason_table.h"
#undef GW_REASON
    GW_REASONS
};

/* A reason and, for LITERAL and RESOLVED, the kind of address that was refused. */
struct gw_refusal {
    enum gw_reason reason;
    enum gw_address_kind kind; /* GW_KIND_GLOBAL where it does not apply */
};

#define GW_REASON_CODE_MAX 64

const char *gw_reason_code(enum gw_reason reason);         /* "" for NONE */
int gw_reason_status(enum gw_reason reason);               /* 0: audit only */
const char *gw_reason_proxy_status(enum gw_reason reason); /* NULL where none fits */
const char *gw_reason_text(enum gw_reason reason);

/* "not-allowed", "resolved:loopback"; at most GW_REASON_CODE_MAX with the NUL. */
size_t gw_refusal_print(struct gw_refusal refusal, char *out, size_t room);
