/* policy/image_lookup.c */
#include "policy/image_lookup.h"

#include "base/check.h"
#include "base/text.h"

size_t gw_image_element_size(enum gw_image_section id)
{
    static const uint8_t sizes[GW_IMAGE_SECTIONS] = {
        [GW_IMAGE_BUCKETS] = sizeof(uint32_t),
        [GW_IMAGE_NODES] = sizeof(struct gw_image_node),
        [GW_IMAGE_RECORDS] = sizeof(struct gw_image_record),
        [GW_IMAGE_INWARDS] = sizeof(struct gw_image_span),
        [GW_IMAGE_CIDRS] = sizeof(struct gw_image_cidr),
        [GW_IMAGE_DENIED] = sizeof(struct gw_image_cidr),
        [GW_IMAGE_RULES] = sizeof(struct gw_image_rule),
        [GW_IMAGE_WORDS] = sizeof(struct gw_image_span),
        [GW_IMAGE_CREDENTIALS] = sizeof(struct gw_image_secret),
        [GW_IMAGE_CAS] = sizeof(struct gw_image_span),
        [GW_IMAGE_PORTS] = sizeof(uint16_t),
        [GW_IMAGE_PLAIN_PORTS] = sizeof(uint16_t),
        [GW_IMAGE_TEXT] = 1,
    };
    return sizes[id];
}

const struct gw_image_header *gw_image_head(const struct gw_image *image)
{
    /* An image that was never opened is a mistake of ours; a bad one does not open. */
    gw_check(image->bytes != NULL && image->length >= sizeof(struct gw_image_header));
    return (const struct gw_image_header *)(const void *)image->bytes;
}

const void *gw_image_section(const struct gw_image *image, enum gw_image_section id, size_t *count)
{
    struct gw_image_span span = gw_image_head(image)->section[id];
    size_t size = gw_image_element_size(id);
    *count = 0;
    if (span.count == 0 || span.first > image->length || span.first % 8 != 0
        || span.count > (image->length - span.first) / size)
        return NULL;
    *count = span.count;
    return image->bytes + span.first;
}

struct gw_slice gw_image_text(const struct gw_image *image, struct gw_image_span span)
{
    size_t length;
    const char *text = gw_image_section(image, GW_IMAGE_TEXT, &length);
    if (text == NULL || span.first > length || span.count > length - span.first)
        return (struct gw_slice){ NULL, 0 };
    return (struct gw_slice){ text + span.first, span.count };
}

struct gw_slice gw_image_node_name(const struct gw_image *image, uint32_t node)
{
    size_t count;
    const struct gw_image_node *nodes = gw_image_section(image, GW_IMAGE_NODES, &count);
    if (nodes == NULL || node + (size_t)1 >= count || nodes[node + 1].name < nodes[node].name)
        return (struct gw_slice){ NULL, 0 };
    struct gw_image_span span = { nodes[node].name, nodes[node + 1].name - nodes[node].name };
    return gw_image_text(image, span);
}

/* What all the steps of one walk need. */
struct walk {
    const struct gw_image *image;
    const uint32_t *buckets;
    const struct gw_image_node *nodes;
    size_t bucket_count, node_count, record_count;
    uint32_t bits;
};

static bool find_node(const struct walk *walk, uint64_t hash, struct gw_slice name, uint32_t *found)
{
    uint32_t bucket = gw_image_bucket(hash, walk->bits);
    if (bucket + (size_t)1 >= walk->bucket_count)
        return false;
    for (size_t i = walk->buckets[bucket]; i < walk->buckets[bucket + 1] && i < walk->node_count;
         i++) {
        if (walk->nodes[i].tag != (uint32_t)hash
            || !gw_slice_equal(gw_image_node_name(walk->image, (uint32_t)i), name))
            continue;
        *found = (uint32_t)i;
        return true;
    }
    return false;
}

static void note(const struct walk *walk, uint64_t hash, const struct gw_host *host, size_t start,
                 struct gw_image_hits *out)
{
    struct gw_slice name = { host->text + start, host->length - start };
    uint32_t node;
    if (out->count == GW_IMAGE_LABELS_MAX || !find_node(walk, hash, name, &node)
        || node + (size_t)1 >= walk->node_count)
        return;
    uint32_t first = walk->nodes[node].record, end = walk->nodes[node + 1].record;
    if (first < end && end <= walk->record_count)
        out->runs[out->count++] = (struct gw_image_run){ node, first, end, start == 0 };
}

void gw_image_find(const struct gw_image *image, const struct gw_host *host,
                   struct gw_image_hits *out)
{
    const struct gw_image_header *head = gw_image_head(image);
    struct walk walk = { .image = image, .bits = head->bucket_bits };
    out->count = 0;
    walk.buckets = gw_image_section(image, GW_IMAGE_BUCKETS, &walk.bucket_count);
    walk.nodes = gw_image_section(image, GW_IMAGE_NODES, &walk.node_count);
    (void)gw_image_section(image, GW_IMAGE_RECORDS, &walk.record_count);
    if (walk.buckets == NULL || walk.nodes == NULL || walk.bits > 31)
        return;
    uint64_t state = gw_image_hash_start(head->seed);
    for (size_t start = host->length; start > 0; start--) {
        state = gw_image_hash_step(state, host->text[start - 1]);
        /* A suffix entry covers whole labels, and never (part of) an address. */
        bool label = start == 1 || (host->class == GW_HOST_NAME && host->text[start - 2] == '.');
        if (label)
            note(&walk, gw_image_hash_end(state), host, start - 1, out);
    }
    for (unsigned i = 0; i < out->count / 2; i++) {
        struct gw_image_run shorter = out->runs[i];
        out->runs[i] = out->runs[out->count - 1 - i];
        out->runs[out->count - 1 - i] = shorter;
    }
}

/* The first record of the run whose key is not below `key`. */
static uint32_t lower_bound(const struct gw_image_record *records, struct gw_image_run run,
                            uint64_t key)
{
    uint32_t low = run.first, high = run.end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gw_image_record_key(&records[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct gw_image_record *gw_image_next(const struct gw_image *image,
                                            const struct gw_image_hits *hits,
                                            enum gw_image_what what, struct gw_image_cursor *cursor)
{
    size_t count;
    const struct gw_image_record *records = gw_image_section(image, GW_IMAGE_RECORDS, &count);
    if (records == NULL)
        return NULL;
    for (; cursor->run < hits->count; cursor->run++, cursor->inside = false) {
        struct gw_image_run run = hits->runs[cursor->run];
        /* Exact records sort before suffix records, and apply to the whole host alone. */
        if (!cursor->inside)
            cursor->at = lower_bound(records, run, gw_image_key(what, !run.whole, 0, 0));
        cursor->inside = true;
        if (cursor->at < run.end && records[cursor->at].what == what)
            return &records[cursor->at++];
    }
    return NULL;
}

static const struct gw_image_record *find_key(const struct gw_image_record *records,
                                              struct gw_image_run run, uint64_t key)
{
    uint32_t at = lower_bound(records, run, key);
    return at < run.end && gw_image_record_key(&records[at]) == key ? &records[at] : NULL;
}

const struct gw_image_record *gw_image_find_allow(const struct gw_image *image,
                                                  const struct gw_image_hits *hits, uint16_t port,
                                                  bool any_port, unsigned *run)
{
    size_t count;
    const struct gw_image_record *found,
        *records = gw_image_section(image, GW_IMAGE_RECORDS, &count);
    if (records == NULL)
        return NULL;
    for (*run = 0; *run < hits->count; ++*run)
        for (int suffix = !hits->runs[*run].whole; suffix <= 1; suffix++) {
            uint64_t named = gw_image_key(GW_IMAGE_ALLOW, suffix, port, 0);
            uint64_t plain = gw_image_key(GW_IMAGE_ALLOW, suffix, 0, 0);
            if ((found = find_key(records, hits->runs[*run], named)) != NULL)
                return found;
            if (any_port && (found = find_key(records, hits->runs[*run], plain)) != NULL)
                return found;
        }
    return NULL;
}

void gw_image_print_entry(const struct gw_image *image, const struct gw_image_hits *hits,
                          unsigned run, const struct gw_image_record *record,
                          char out[GW_IMAGE_ENTRY_MAX])
{
    struct gw_text text;
    gw_text_init(&text, out, GW_IMAGE_ENTRY_MAX);
    struct gw_slice name = gw_image_node_name(image, hits->runs[run].node);
    bool brackets = name.length > 0 && memchr(name.data, ':', name.length) != NULL;
    gw_text_add_string(&text, gw_image_record_is_suffix(record) ? "." : brackets ? "[" : "");
    gw_text_add(&text, name);
    gw_text_add_string(&text, brackets ? "]" : "");
    if (record->port != 0)
        gw_text_addf(&text, ":%u", record->port);
}

bool gw_image_has_port(const struct gw_image *image, enum gw_image_section id, uint16_t port)
{
    size_t count, low = 0;
    const uint16_t *ports = gw_image_section(image, id, &count);
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (ports[middle] == port)
            return true;
        if (ports[middle] < port)
            low = middle + 1;
        else
            count = middle;
    }
    return false;
}

const struct gw_image_rule *gw_image_rule_at(const struct gw_image *image, uint32_t index)
{
    size_t count;
    const struct gw_image_rule *rules = gw_image_section(image, GW_IMAGE_RULES, &count);
    return index < count ? &rules[index] : NULL;
}

struct gw_slice gw_image_word(const struct gw_image *image, struct gw_image_span span,
                              uint32_t index)
{
    size_t count;
    const struct gw_image_span *words = gw_image_section(image, GW_IMAGE_WORDS, &count);
    if (span.first > count || span.count > count - span.first || index >= span.count)
        return (struct gw_slice){ NULL, 0 };
    return gw_image_text(image, words[span.first + index]);
}

bool gw_image_inward(const struct gw_image *image, uint32_t index,
                     const struct gw_image_cidr **cidrs, size_t *count)
{
    size_t spans, all;
    const struct gw_image_span *inwards = gw_image_section(image, GW_IMAGE_INWARDS, &spans);
    const struct gw_image_cidr *stored = gw_image_section(image, GW_IMAGE_CIDRS, &all);
    if (index >= spans || inwards[index].first > all
        || inwards[index].count > all - inwards[index].first)
        return false;
    *count = inwards[index].count;
    *cidrs = *count == 0 ? NULL : stored + inwards[index].first;
    return true;
}
