/* policy/reason.c */
#include "policy/reason.h"

#include "base/text.h"

struct row {
    const char *code;
    int status;
    const char *proxy_status;
    const char *text;
};

static const struct row rows[GW_REASONS] = {
    [GW_REASON_NONE] = { "", 0, NULL, "" },
#define GW_REASON(name, code, status, proxy_status, text) \
    [GW_REASON_##name] = { code, status, proxy_status, text },
#include "policy/reason_table.h"
#undef GW_REASON
};

static const struct row *row_of(enum gw_reason reason)
{
    return &rows[(unsigned)reason < GW_REASONS ? reason : GW_REASON_NONE];
}

const char *gw_reason_code(enum gw_reason reason)
{
    return row_of(reason)->code;
}

int gw_reason_status(enum gw_reason reason)
{
    return row_of(reason)->status;
}

const char *gw_reason_proxy_status(enum gw_reason reason)
{
    return row_of(reason)->proxy_status;
}

const char *gw_reason_text(enum gw_reason reason)
{
    return row_of(reason)->text;
}

size_t gw_refusal_print(struct gw_refusal refusal, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    gw_text_add_string(&text, gw_reason_code(refusal.reason));
    if (refusal.reason == GW_REASON_LITERAL || refusal.reason == GW_REASON_RESOLVED) {
        gw_text_add_char(&text, ':');
        gw_text_add_string(&text, gw_address_kind_text(refusal.kind));
    }
    return text.length;
}
