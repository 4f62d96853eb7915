/* policy/image_write.c - gw_image_builder_finish(): from the builder's memory to the one image that
 * stands for this policy, in whatever order its entries were added. */
#include <stdlib.h>

#include "base/check.h"
#include "policy/image_builder.h"
#include "policy/image_lookup.h"

#define SEEDS 8       /* tried in turn, until the fullest bucket has … */
#define FULL_ENOUGH 9 /* … no more nodes than this; a million names come to about that */

struct placed {
    uint64_t hash;
    struct gw_slice name;
    uint32_t first; /* its entries */
};

/* A value and the place in which it was added. */
struct ranked {
    const struct gw_store_value *value;
    uint32_t added;
};

struct writer {
    const struct gw_image_builder *from;
    struct gw_image_header head;
    struct placed *nodes;
    size_t node_count;
    struct ranked *values[GW_IMAGE_WHATS]; /* sorted */
    uint32_t *rank[GW_IMAGE_WHATS];        /* from the order of adding to the sorted one */
    unsigned char *bytes;
    uint32_t text_at, word_at, cidr_at; /* filled so far */
};

static void *section(const struct writer *w, enum gw_image_section id)
{
    return w->bytes + w->head.section[id].first;
}

/* ---- order ------------------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    const struct gw_store_value *left = ((const struct ranked *)a)->value;
    const struct gw_store_value *right = ((const struct ranked *)b)->value;
    return gw_image_compare_names((struct gw_slice){ (const char *)left->bytes, left->length },
                                  (struct gw_slice){ (const char *)right->bytes, right->length });
}

static bool order_values(struct writer *w, int what)
{
    const struct gw_store_values *values = &w->from->values[what];
    w->values[what] = malloc((values->count + 1) * sizeof *w->values[what]);
    w->rank[what] = malloc((values->count + 1) * sizeof *w->rank[what]);
    if (w->values[what] == NULL || w->rank[what] == NULL)
        return false;
    for (size_t i = 0; i < values->count; i++)
        w->values[what][i] = (struct ranked){ &values->all[i], (uint32_t)i };
    qsort(w->values[what], values->count, sizeof *w->values[what], compare_values);
    for (size_t i = 0; i < values->count; i++)
        w->rank[what][w->values[what][i].added] = (uint32_t)i;
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    return gw_image_compare_names(left->name, right->name);
}

/* Sorts the nodes under a seed; returns how many the fullest bucket has. */
static uint32_t place_nodes(struct writer *w, uint64_t seed)
{
    uint32_t fullest = 0, length = 0;
    for (size_t i = 0; i < w->node_count; i++)
        w->nodes[i].hash = gw_image_hash(seed, w->nodes[i].name);
    qsort(w->nodes, w->node_count, sizeof *w->nodes, compare_places);
    for (size_t i = 0; i < w->node_count; i++) {
        uint32_t bucket = gw_image_bucket(w->nodes[i].hash, w->head.bucket_bits);
        bool same = i > 0 && bucket == gw_image_bucket(w->nodes[i - 1].hash, w->head.bucket_bits);
        length = same ? length + 1 : 1;
        if (length > fullest)
            fullest = length;
    }
    return fullest;
}

/* The seed with the smallest fullest bucket, the first of equals; mostly that is the first. */
static void choose_seed(struct writer *w)
{
    uint64_t placed_by = 0;
    w->head.fullest = place_nodes(w, 0);
    for (uint64_t seed = 1; seed < SEEDS && w->head.fullest > FULL_ENOUGH; seed++) {
        uint32_t fullest = place_nodes(w, seed);
        placed_by = seed;
        if (fullest < w->head.fullest) {
            w->head.fullest = fullest;
            w->head.seed = seed;
        }
    }
    if (placed_by != w->head.seed)
        (void)place_nodes(w, w->head.seed);
}

static bool order_nodes(struct writer *w)
{
    const struct gw_store *store = &w->from->store;
    w->nodes = calloc(store->name_count + 1, sizeof *w->nodes);
    if (w->nodes == NULL)
        return false;
    for (size_t i = 0; i < store->name_count; i++)
        if (store->names[i].first != GW_STORE_NONE)
            w->nodes[w->node_count++] =
                (struct placed){ .name = gw_store_text(store, &store->names[i]),
                                 .first = store->names[i].first };
    w->head.bucket_bits = gw_image_bits_for(w->node_count);
    choose_seed(w);
    return true;
}

/* ---- layout ------------------------------------------------------------------------------ */

/* What the words of all values of a kind take: bytes of text, and how many there are. */
static void measure(const struct gw_store_values *values, uint64_t *text, uint64_t *words)
{
    for (size_t i = 0; i < values->count; i++) {
        uint64_t ends = 0;
        for (size_t k = 1; k < values->all[i].length; k++)
            ends += values->all[i].bytes[k] == '\0';
        *text += values->all[i].length - 1 - ends;
        *words += ends;
    }
}

/* False when 32 bits do not reach the end. */
static bool lay_out(struct writer *w)
{
    const struct gw_image_builder *from = w->from;
    uint64_t text = 0, words = 0, other_words = 0, cidr_bytes = 0;
    for (size_t i = 0; i < w->node_count; i++)
        text += w->nodes[i].name.length;
    measure(&from->values[GW_IMAGE_RULE], &text, &words);
    measure(&from->values[GW_IMAGE_CREDENTIAL], &text, &other_words);
    measure(&from->values[GW_IMAGE_UPSTREAM_TLS], &text, &other_words);
    for (size_t i = 0; i < from->values[GW_IMAGE_INWARD].count; i++)
        cidr_bytes += from->values[GW_IMAGE_INWARD].all[i].length;
    const uint64_t count[GW_IMAGE_SECTIONS] = {
        [GW_IMAGE_BUCKETS] = ((uint64_t)1 << w->head.bucket_bits) + 1,
        [GW_IMAGE_NODES] = w->node_count + 1,
        [GW_IMAGE_RECORDS] = from->store.entry_count,
        [GW_IMAGE_INWARDS] = from->values[GW_IMAGE_INWARD].count,
        [GW_IMAGE_CIDRS] = cidr_bytes / sizeof(struct gw_image_cidr),
        [GW_IMAGE_DENIED] = from->denied_count,
        [GW_IMAGE_RULES] = from->values[GW_IMAGE_RULE].count,
        [GW_IMAGE_WORDS] = words - from->values[GW_IMAGE_RULE].count, /* without the empty ones */
        [GW_IMAGE_CREDENTIALS] = from->values[GW_IMAGE_CREDENTIAL].count,
        [GW_IMAGE_CAS] = from->values[GW_IMAGE_UPSTREAM_TLS].count,
        [GW_IMAGE_PORTS] = from->port_count[0],
        [GW_IMAGE_PLAIN_PORTS] = from->port_count[1],
        [GW_IMAGE_TEXT] = text,
    };
    uint64_t at = sizeof w->head;
    for (int id = 0; id < GW_IMAGE_SECTIONS; id++) {
        at = (at + 7) / 8 * 8;
        if (at > UINT32_MAX || count[id] > UINT32_MAX)
            return false;
        w->head.section[id] = (struct gw_image_span){ (uint32_t)at, (uint32_t)count[id] };
        at += count[id] * gw_image_element_size((enum gw_image_section)id);
    }
    w->head.length = at;
    return at <= UINT32_MAX;
}

/* ---- writing ----------------------------------------------------------------------------- */

static struct gw_image_span write_text(struct writer *w, const void *text, size_t length)
{
    struct gw_image_span span = { w->text_at, (uint32_t)length };
    memcpy((char *)section(w, GW_IMAGE_TEXT) + w->text_at, text, length);
    w->text_at += span.count;
    return span;
}

static int compare_records(const void *a, const void *b)
{
    uint64_t left = gw_image_record_key(a), right = gw_image_record_key(b);
    return (left > right) - (left < right);
}

static void write_nodes(struct writer *w)
{
    const struct gw_store *store = &w->from->store;
    struct gw_image_node *nodes = section(w, GW_IMAGE_NODES);
    struct gw_image_record *records = section(w, GW_IMAGE_RECORDS);
    uint32_t *buckets = section(w, GW_IMAGE_BUCKETS);
    uint32_t record_at = 0;
    size_t bucket = 0, bucket_count = w->head.section[GW_IMAGE_BUCKETS].count;
    for (size_t i = 0; i < w->node_count; i++) {
        const struct placed *node = &w->nodes[i];
        for (; bucket <= gw_image_bucket(node->hash, w->head.bucket_bits); bucket++)
            buckets[bucket] = (uint32_t)i;
        nodes[i].tag = (uint32_t)node->hash;
        nodes[i].name = write_text(w, node->name.data, node->name.length).first;
        nodes[i].record = record_at;
        for (uint32_t at = node->first; at != GW_STORE_NONE; at = store->entries[at].next) {
            struct gw_image_record record = store->entries[at].record;
            if (w->rank[record.what] != NULL)
                record.value = w->rank[record.what][record.value];
            w->head.host_count += record.what == GW_IMAGE_ALLOW;
            records[record_at++] = record;
        }
        size_t count = record_at - nodes[i].record;
        qsort(records + nodes[i].record, count, sizeof *records, compare_records);
    }
    nodes[w->node_count].name = w->text_at;
    nodes[w->node_count].record = record_at;
    for (; bucket < bucket_count; bucket++)
        buckets[bucket] = (uint32_t)w->node_count;
}

/* The words of a value from `*at` on, up to its end or an empty word. */
static struct gw_image_span write_words(struct writer *w, const struct gw_store_value *value,
                                        size_t *at)
{
    struct gw_image_span *words = section(w, GW_IMAGE_WORDS);
    struct gw_image_span span = { w->word_at, 0 };
    for (; *at < value->length && value->bytes[*at] != '\0'; span.count++) {
        size_t length = strlen((const char *)value->bytes + *at);
        words[w->word_at++] = write_text(w, value->bytes + *at, length);
        *at += length + 1;
    }
    return span;
}

static void write_rule(struct writer *w, const struct gw_store_value *value, size_t index)
{
    struct gw_image_rule *rules = section(w, GW_IMAGE_RULES);
    size_t at = 1;
    rules[index].allow_encoded_slash = value->bytes[0] == '1';
    rules[index].methods = write_words(w, value, &at);
    at++; /* the empty word */
    rules[index].paths = write_words(w, value, &at);
}

static void write_credential(struct writer *w, const struct gw_store_value *value, size_t index)
{
    struct gw_image_secret *secrets = section(w, GW_IMAGE_CREDENTIALS);
    const char *name = (const char *)value->bytes + 1;
    const char *header = name + strlen(name) + 1;
    secrets[index].allow_plaintext = value->bytes[0] == '1';
    secrets[index].name = write_text(w, name, strlen(name));
    secrets[index].header = write_text(w, header, strlen(header));
}

static void write_ca(struct writer *w, const struct gw_store_value *value, size_t index)
{
    struct gw_image_span *cas = section(w, GW_IMAGE_CAS);
    cas[index] = write_text(w, value->bytes + 1, value->length - 2);
}

static void write_inward(struct writer *w, const struct gw_store_value *value, size_t index)
{
    struct gw_image_span *inwards = section(w, GW_IMAGE_INWARDS);
    struct gw_image_cidr *cidrs = section(w, GW_IMAGE_CIDRS);
    uint32_t count = (uint32_t)(value->length / sizeof *cidrs);
    inwards[index] = (struct gw_image_span){ w->cidr_at, count };
    memcpy(cidrs + w->cidr_at, value->bytes, value->length);
    w->cidr_at += count;
}

static void write_values(struct writer *w)
{
    static void (*const write[GW_IMAGE_WHATS])(struct writer *, const struct gw_store_value *,
                                               size_t) = { [GW_IMAGE_INWARD] = write_inward,
                                                           [GW_IMAGE_RULE] = write_rule,
                                                           [GW_IMAGE_CREDENTIAL] = write_credential,
                                                           [GW_IMAGE_UPSTREAM_TLS] = write_ca };
    for (int what = 0; what < GW_IMAGE_WHATS; what++)
        for (size_t i = 0; write[what] != NULL && i < w->from->values[what].count; i++)
            write[what](w, w->values[what][i].value, i);
}

static void write_array(struct writer *w, enum gw_image_section id, const void *from)
{
    size_t size = w->head.section[id].count * gw_image_element_size(id);
    if (size > 0)
        memcpy(section(w, id), from, size);
}

static bool write_image(struct writer *w)
{
    w->bytes = calloc(1, w->head.length); /* zeros: the gaps between sections are part of it */
    if (w->bytes == NULL)
        return false;
    write_nodes(w);
    write_values(w);
    write_array(w, GW_IMAGE_DENIED, w->from->denied);
    write_array(w, GW_IMAGE_PORTS, w->from->ports[0]);
    write_array(w, GW_IMAGE_PLAIN_PORTS, w->from->ports[1]);
    gw_check(w->text_at == w->head.section[GW_IMAGE_TEXT].count);
    gw_check(w->word_at == w->head.section[GW_IMAGE_WORDS].count);
    memcpy(w->head.magic, GW_IMAGE_MAGIC, sizeof w->head.magic);
    w->head.version = GW_IMAGE_VERSION;
    w->head.kind = w->from->kind;
    w->head.sni = w->from->sni;
    memcpy(w->bytes, &w->head, sizeof w->head);
    return true;
}

bool gw_image_builder_finish(struct gw_image_builder *builder, void **bytes, size_t *length,
                             struct gw_error *err)
{
    struct writer w = { .from = builder };
    bool enough = true, written = false;
    for (int what = 0; what < GW_IMAGE_WHATS && enough; what++)
        if (builder->values[what].count > 0)
            enough = order_values(&w, what);
    enough = enough && order_nodes(&w);
    if (enough && !lay_out(&w)) {
        gw_error_set(err, GW_ERR_LIMIT, "the policy is larger than 4 GiB");
        goto out;
    }
    if (!enough || !write_image(&w)) {
        gw_builder_out_of_memory(err);
        goto out;
    }
    *bytes = w.bytes; /* handed over to the caller */
    *length = (size_t)w.head.length;
    written = true;
out:
    for (int what = 0; what < GW_IMAGE_WHATS; what++) {
        free(w.values[what]);
        free(w.rank[what]);
    }
    free(w.nodes);
    return written;
}
