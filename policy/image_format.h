/* policy/image_format.h - the bytes of a policy image (version 1). Private to image_*.c.
 *
 *   header | section 0 | section 1 | …          each section begins at a multiple of 8, zeros
 * between
 *
 * A name is looked up in an array of nodes that is sorted by the hash of the name: `buckets` maps
 * the top bits of a hash to the run of nodes that share them. Name and records of node i end where
 * those of node i + 1 begin; a last node without a name closes both. Everything is sorted and
 * nothing is optional, so that one policy has one image. Values lie in their sections, and their
 * text in TEXT, in the order of their indexes without gaps: names, credentials, words, CA names. */
#pragma once
#include <stdint.h>

#include "base/slice.h"
#include "policy/ip_address.h"
#include "policy/policy_image.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "policy images are little-endian"
#endif

#define GW_IMAGE_MAGIC "namzu-gw"
#define GW_IMAGE_VERSION 1u

enum gw_image_section {
    GW_IMAGE_BUCKETS,     /* uint32_t: 2^bucket_bits + 1 indexes of nodes */
    GW_IMAGE_NODES,       /* struct gw_image_node */
    GW_IMAGE_RECORDS,     /* struct gw_image_record */
    GW_IMAGE_INWARDS,     /* struct gw_image_span of CIDRS; empty: the default kinds */
    GW_IMAGE_CIDRS,       /* struct gw_image_cidr */
    GW_IMAGE_DENIED,      /* struct gw_image_cidr */
    GW_IMAGE_RULES,       /* struct gw_image_rule */
    GW_IMAGE_WORDS,       /* struct gw_image_span of TEXT: methods and paths */
    GW_IMAGE_CREDENTIALS, /* struct gw_image_secret */
    GW_IMAGE_CAS,         /* struct gw_image_span of TEXT */
    GW_IMAGE_PORTS,       /* uint16_t, ascending */
    GW_IMAGE_PLAIN_PORTS, /* uint16_t, ascending */
    GW_IMAGE_TEXT,        /* char; the names of the nodes first */
    GW_IMAGE_SECTIONS
};

struct gw_image_span {
    uint32_t first, count;
};

struct gw_image_header {
    char magic[8];
    uint32_t version;
    uint32_t kind; /* enum gw_policy_kind */
    uint64_t length;
    uint64_t seed;
    uint32_t sni;                                    /* enum gw_sni_mode */
    uint32_t host_count;                             /* ALLOW records */
    uint32_t bucket_bits;                            /* 0 to 31 */
    uint32_t fullest;                                /* nodes in the fullest bucket */
    struct gw_image_span section[GW_IMAGE_SECTIONS]; /* first: offset from the start of the image */
};

struct gw_image_node {
    uint32_t tag;  /* the low half of the hash: most strangers are told apart without their text */
    uint32_t name; /* into TEXT */
    uint32_t record; /* into RECORDS */
};

enum gw_image_what {
    GW_IMAGE_ALLOW = 1,
    GW_IMAGE_CREDENTIAL, /* value: into CREDENTIALS */
    GW_IMAGE_INWARD,     /* value: into INWARDS */
    GW_IMAGE_PLAINTEXT,
    GW_IMAGE_RULE,         /* value: into RULES */
    GW_IMAGE_UPSTREAM_TLS, /* value: into CAS */
    GW_IMAGE_WHATS
};

/* One thing that is said about a name. Only ALLOW has a port and an SNI mode. */
struct gw_image_record {
    uint32_t value;
    uint16_t port;
    uint8_t what;
    uint8_t bits; /* bit 0: the name and all below it; bits 1 and 2: enum gw_sni_mode */
};

struct gw_image_cidr {
    uint8_t bytes[16];
    uint8_t family, prefix;
    uint8_t zero[2];
};

struct gw_image_rule {
    struct gw_image_span methods, paths; /* of WORDS; empty: any */
    uint32_t allow_encoded_slash;
};

struct gw_image_secret {
    struct gw_image_span name, header; /* of TEXT */
    uint32_t allow_plaintext;
};

_Static_assert(sizeof(struct gw_image_header) == 48 + 8 * GW_IMAGE_SECTIONS, "no padding");
_Static_assert(sizeof(struct gw_image_record) == 8, "no padding");
_Static_assert(sizeof(struct gw_image_cidr) == 20, "no padding");

static inline bool gw_image_record_is_suffix(const struct gw_image_record *record)
{
    return record->bits & 1;
}

static inline enum gw_sni_mode gw_image_record_sni(const struct gw_image_record *record)
{
    return (enum gw_sni_mode)(record->bits >> 1 & 3);
}

/* The order of the records of a name. What decides a lookup comes first, so that a range of it can
 * be searched; the SNI mode is no part of the key: a record with two of them is a contradiction. */
static inline uint64_t gw_image_key(unsigned what, bool suffix, unsigned port, uint32_t value)
{
    return (uint64_t)what << 49 | (suffix ? UINT64_C(1) << 48 : 0) | (uint64_t)port << 32 | value;
}

static inline uint64_t gw_image_record_key(const struct gw_image_record *record)
{
    return gw_image_key(record->what, gw_image_record_is_suffix(record), record->port,
                        record->value);
}

static inline struct gw_cidr gw_image_cidr_of(const struct gw_image_cidr *stored)
{
    struct gw_cidr cidr = { .address = { .family = stored->family }, .prefix = stored->prefix };
    memcpy(cidr.address.bytes, stored->bytes, sizeof stored->bytes);
    return cidr;
}

/* The hash of a name, byte by byte from its end to its start: every suffix of the name is hashed
 * on the way. The seed is part of the image, so that a policy whose names fall together under one
 * seed can be given another. */
static inline uint64_t gw_image_hash_start(uint64_t seed)
{
    return (seed + 1) * 0x9e3779b97f4a7c15u;
}

static inline uint64_t gw_image_hash_step(uint64_t state, char byte)
{
    state = (state ^ (unsigned char)byte) * 0x9e3779b97f4a7c15u;
    return state ^ state >> 32;
}

static inline uint64_t gw_image_hash_end(uint64_t state)
{
    state = (state ^ state >> 33) * 0xff51afd7ed558ccdu;
    state = (state ^ state >> 33) * 0xc4ceb9fe1a85ec53u;
    return state ^ state >> 33;
}

static inline uint64_t gw_image_hash(uint64_t seed, struct gw_slice name)
{
    uint64_t state = gw_image_hash_start(seed);
    for (size_t i = name.length; i > 0; i--)
        state = gw_image_hash_step(state, name.data[i - 1]);
    return gw_image_hash_end(state);
}

static inline uint32_t gw_image_bucket(uint64_t hash, uint32_t bits)
{
    return bits == 0 ? 0 : (uint32_t)(hash >> (64 - bits));
}

/* The smallest number of bits that gives every node a bucket of its own, were hashes perfect. */
static inline uint32_t gw_image_bits_for(size_t nodes)
{
    uint32_t bits = 0;
    while (bits < 31 && ((size_t)1 << bits) < nodes)
        bits++;
    return bits;
}

/* The order of nodes with one hash. */
static inline int gw_image_compare_names(struct gw_slice a, struct gw_slice b)
{
    int difference = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return difference != 0 ? difference : (a.length > b.length) - (a.length < b.length);
}
