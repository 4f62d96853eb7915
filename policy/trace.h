/* policy/trace.h - each step of a decision, told while it is made.
 * `--explain` and the audit use the same decision code as the proxies; a trace only listens. */
#pragma once
#include "base/macros.h"

struct gw_trace {
    /* `step` is a short name ("target", "allowlist", "port", "screen", …), `finding` one line
     * without a newline; both borrowed for the call. */
    void (*told)(void *context, const char *step, const char *finding);
    void *context;
};

/* Formats and tells; does nothing when `trace` is NULL. */
void gw_trace_step(const struct gw_trace *trace, const char *step, const char *format, ...)
    GW_PRINTF(3, 4);
