/* policy/address_kind.c */
#include "policy/address_kind.h"

const char *gw_address_kind_text(enum gw_address_kind kind)
{
    static const char *const texts[GW_KINDS] = {
#define GW_ADDRESS_KIND(name, text, lift) [GW_KIND_##name] = text,
        GW_ADDRESS_KINDS(GW_ADDRESS_KIND)
#undef GW_ADDRESS_KIND
    };
    return (unsigned)kind < GW_KINDS ? texts[kind] : "unknown";
}

enum gw_lift gw_address_kind_lift(enum gw_address_kind kind)
{
    static const enum gw_lift lifts[GW_KINDS] = {
#define GW_ADDRESS_KIND(name, text, lift) [GW_KIND_##name] = GW_LIFT_##lift,
        GW_ADDRESS_KINDS(GW_ADDRESS_KIND)
#undef GW_ADDRESS_KIND
    };
    return (unsigned)kind < GW_KINDS ? lifts[kind] : GW_LIFT_NEVER;
}
