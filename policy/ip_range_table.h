/* policy/ip_range_table.h - where addresses lead, one range a line; the first line that holds an
 * address decides. RFC 6890, the IANA special-purpose registries, and two endpoints of clouds.
 *
 * GW_IP_RANGE4(a, b, c, d, prefix, kind)
 * GW_IP_RANGE6(g0 … g7, prefix, kind, carries)
 *   carries  where an IPv4 address sits inside (see ip_ranges.h). When that address
 *            is refused, its kind is the answer; else the line's own kind, where GLOBAL means that
 *            the address is nothing but a spelling of the IPv4 one.
 * No include guard: the file is read once for each list that is made from it. */
/* clang-format off */
GW_IP_RANGE4(  0,   0,   0,   0,  8, THIS_HOST)         /* RFC 791 3.2 */
GW_IP_RANGE4( 10,   0,   0,   0,  8, PRIVATE)           /* RFC 1918 */
GW_IP_RANGE4(100,  64,   0,   0, 10, SHARED)            /* RFC 6598 */
GW_IP_RANGE4(127,   0,   0,   0,  8, LOOPBACK)          /* RFC 1122 3.2.1.3 */
GW_IP_RANGE4(168,  63, 129,  16, 32, PLATFORM_ENDPOINT) /* a cloud's host agent, in public space */
GW_IP_RANGE4(169, 254,   0,   0, 16, LINK_LOCAL)        /* RFC 3927 */
GW_IP_RANGE4(172,  16,   0,   0, 12, PRIVATE)           /* RFC 1918 */
GW_IP_RANGE4(192,   0,   0,   0, 24, IETF_PROTOCOL)     /* RFC 6890 2.1 */
GW_IP_RANGE4(192,   0,   2,   0, 24, DOCUMENTATION)     /* RFC 5737 */
GW_IP_RANGE4(192,  88,  99,   0, 24, DEPRECATED_RELAY)  /* RFC 7526 */
GW_IP_RANGE4(192, 168,   0,   0, 16, PRIVATE)           /* RFC 1918 */
GW_IP_RANGE4(198,  18,   0,   0, 15, BENCHMARKING)      /* RFC 2544 */
GW_IP_RANGE4(198,  51, 100,   0, 24, DOCUMENTATION)     /* RFC 5737 */
GW_IP_RANGE4(203,   0, 113,   0, 24, DOCUMENTATION)     /* RFC 5737 */
GW_IP_RANGE4(224,   0,   0,   0,  4, MULTICAST)         /* RFC 5771 */
GW_IP_RANGE4(240,   0,   0,   0,  4, RESERVED)          /* RFC 1112 4; broadcast included */

GW_IP_RANGE6(0, 0, 0, 0, 0, 0, 0, 0,           128, UNSPECIFIED,        NOTHING)  /* RFC 4291 2.5.2 */
GW_IP_RANGE6(0, 0, 0, 0, 0, 0, 0, 1,           128, LOOPBACK,           NOTHING)  /* RFC 4291 2.5.3 */
GW_IP_RANGE6(0, 0, 0, 0, 0, 0xffff, 0, 0,       96, GLOBAL,             LAST_32)  /* RFC 4291 2.5.5.2 */
GW_IP_RANGE6(0, 0, 0, 0, 0, 0, 0, 0,            96, IPV4_COMPATIBLE,    LAST_32)  /* RFC 4291 2.5.5.1 */
GW_IP_RANGE6(0, 0, 0, 0, 0xffff, 0, 0, 0,       96, IPV4_TRANSLATED,    LAST_32)  /* RFC 2765 2.1 */
GW_IP_RANGE6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0,    96, GLOBAL,             LAST_32)  /* RFC 6052 2.1 */
GW_IP_RANGE6(0x64, 0xff9b, 1, 0, 0, 0, 0, 0,    48, NAT64_LOCAL,        ANYWHERE) /* RFC 8215 */
GW_IP_RANGE6(0x2002, 0, 0, 0, 0, 0, 0, 0,       16, SIX_TO_FOUR,        FIRST_16) /* RFC 3056 2 */
GW_IP_RANGE6(0x2001, 0, 0, 0, 0, 0, 0, 0,       32, TEREDO,             TEREDO)   /* RFC 4380 4 */
GW_IP_RANGE6(0x2001, 2, 0, 0, 0, 0, 0, 0,       48, BENCHMARKING,       NOTHING)  /* RFC 5180 */
GW_IP_RANGE6(0x2001, 0x10, 0, 0, 0, 0, 0, 0,    28, ORCHID,             NOTHING)  /* RFC 4843 */
GW_IP_RANGE6(0x2001, 0x20, 0, 0, 0, 0, 0, 0,    28, ORCHID,             NOTHING)  /* RFC 7343 */
GW_IP_RANGE6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0,   32, DOCUMENTATION,      NOTHING)  /* RFC 3849 */
GW_IP_RANGE6(0x3fff, 0, 0, 0, 0, 0, 0, 0,       20, DOCUMENTATION,      NOTHING)  /* RFC 9637 */
GW_IP_RANGE6(0x2001, 0, 0, 0, 0, 0, 0, 0,       23, IETF_PROTOCOL,      NOTHING)  /* RFC 2928 */
GW_IP_RANGE6(0x100, 0, 0, 0, 0, 0, 0, 0,        64, DISCARD,            NOTHING)  /* RFC 6666 */
GW_IP_RANGE6(0x100, 0, 0, 1, 0, 0, 0, 0,        64, RESERVED,           NOTHING)  /* RFC 9780 */
GW_IP_RANGE6(0x5f00, 0, 0, 0, 0, 0, 0, 0,       16, SRV6_SID,           NOTHING)  /* RFC 9602 */
GW_IP_RANGE6(0xfc00, 0, 0, 0, 0, 0, 0, 0,        7, UNIQUE_LOCAL,       NOTHING)  /* RFC 4193 */
GW_IP_RANGE6(0xfe80, 0, 0, 0, 0, 0, 0, 0,       10, LINK_LOCAL,         NOTHING)  /* RFC 4291 2.5.6 */
GW_IP_RANGE6(0xff00, 0, 0, 0, 0, 0, 0, 0,        8, MULTICAST,          NOTHING)  /* RFC 4291 2.7 */
GW_IP_RANGE6(0xfec0, 0, 0, 0, 0, 0, 0, 0,       10, SITE_LOCAL,         NOTHING)  /* RFC 3879 */
/* Only 2000::/3 is handed out as global unicast (RFC 4291 2.4): these three are all the rest. */
GW_IP_RANGE6(0, 0, 0, 0, 0, 0, 0, 0,             3, NOT_GLOBAL_UNICAST, NOTHING)
GW_IP_RANGE6(0x4000, 0, 0, 0, 0, 0, 0, 0,        2, NOT_GLOBAL_UNICAST, NOTHING)
GW_IP_RANGE6(0x8000, 0, 0, 0, 0, 0, 0, 0,        1, NOT_GLOBAL_UNICAST, NOTHING)
/* clang-format on */
