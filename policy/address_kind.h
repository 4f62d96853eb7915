/* policy/address_kind.h - what sort of address it is, as refusals and documents name it.
 * GW_ADDRESS_KIND(name, text, lift)
 *   lift  DEFAULT: an exemption without cidrs lifts it; CIDRS: only an exemption whose cidrs hold
 *         the address; NEVER: nothing does. (Marks are judged apart: see ip_screen.h.) */
#pragma once

/* clang-format off */
#define GW_ADDRESS_KINDS(GW_ADDRESS_KIND) \
    GW_ADDRESS_KIND(GLOBAL,               "global",               CIDRS)   \
    GW_ADDRESS_KIND(LOOPBACK,             "loopback",             CIDRS)   \
    GW_ADDRESS_KIND(THIS_HOST,            "this-host",            NEVER)   \
    GW_ADDRESS_KIND(PRIVATE,              "private",              DEFAULT) \
    GW_ADDRESS_KIND(LINK_LOCAL,           "link-local",           NEVER)   \
    GW_ADDRESS_KIND(SHARED,               "shared-address-space", DEFAULT) \
    GW_ADDRESS_KIND(BENCHMARKING,         "benchmarking",         CIDRS)   \
    GW_ADDRESS_KIND(MULTICAST,            "multicast",            NEVER)   \
    GW_ADDRESS_KIND(RESERVED,             "reserved",             NEVER)   \
    GW_ADDRESS_KIND(UNSPECIFIED,          "unspecified",          NEVER)   \
    GW_ADDRESS_KIND(UNIQUE_LOCAL,         "unique-local",         DEFAULT) \
    GW_ADDRESS_KIND(IETF_PROTOCOL,        "ietf-protocol",        CIDRS)   \
    GW_ADDRESS_KIND(DOCUMENTATION,        "documentation",        CIDRS)   \
    GW_ADDRESS_KIND(DEPRECATED_RELAY,     "deprecated-relay",     CIDRS)   \
    GW_ADDRESS_KIND(PLATFORM_ENDPOINT,    "platform-endpoint",    NEVER)   \
    GW_ADDRESS_KIND(IPV4_COMPATIBLE,      "ipv4-compatible",      CIDRS)   \
    GW_ADDRESS_KIND(IPV4_TRANSLATED,      "ipv4-translated",      CIDRS)   \
    GW_ADDRESS_KIND(NAT64_LOCAL,          "nat64-local",          CIDRS)   \
    GW_ADDRESS_KIND(SIX_TO_FOUR,          "6to4",                 CIDRS)   \
    GW_ADDRESS_KIND(TEREDO,               "teredo",               CIDRS)   \
    GW_ADDRESS_KIND(ORCHID,               "orchid",               CIDRS)   \
    GW_ADDRESS_KIND(DISCARD,              "discard",              CIDRS)   \
    GW_ADDRESS_KIND(SRV6_SID,             "srv6-sid",             CIDRS)   \
    GW_ADDRESS_KIND(SITE_LOCAL,           "site-local",           CIDRS)   \
    GW_ADDRESS_KIND(NOT_GLOBAL_UNICAST,   "not-global-unicast",   CIDRS)   \
    GW_ADDRESS_KIND(ZONE_ID,              "zone-id",              NEVER)   \
    GW_ADDRESS_KIND(UNPARSEABLE,          "unparseable",          NEVER)   \
    /* marks: beside the kind, lifted by nothing */                         \
    GW_ADDRESS_KIND(SELF_ADDRESS,         "self-address",         NEVER)   \
    GW_ADDRESS_KIND(OPERATOR_DENIED,      "operator-denied",      NEVER)   \
    GW_ADDRESS_KIND(METADATA,             "metadata",             NEVER)
/* clang-format on */

enum gw_address_kind {
#define GW_ADDRESS_KIND(name, text, lift) GW_KIND_##name,
    GW_ADDRESS_KINDS(GW_ADDRESS_KIND)
#undef GW_ADDRESS_KIND
        GW_KINDS
};

const char *gw_address_kind_text(enum gw_address_kind kind);

/* What it takes to lift a kind. GLOBAL needs no lift; a range may still name it. */
enum gw_lift { GW_LIFT_NEVER, GW_LIFT_CIDRS, GW_LIFT_DEFAULT };
enum gw_lift gw_address_kind_lift(enum gw_address_kind kind);
