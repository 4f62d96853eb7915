/* policy/trace.c */
#include "policy/trace.h"

#include <stdarg.h>

#include "base/text.h"

#define FINDING_MAX 640 /* a host, an entry and some words */

void gw_trace_step(const struct gw_trace *trace, const char *step, const char *format, ...)
{
    if (trace == NULL || trace->told == NULL)
        return;
    char finding[FINDING_MAX];
    struct gw_text text;
    va_list list;
    gw_text_init(&text, finding, sizeof finding);
    va_start(list, format);
    gw_text_addv(&text, format, list);
    va_end(list);
    trace->told(trace->context, step, finding);
}
