/* policy/image_open.c - is this block an image that every lookup can trust?
 * Whatever a lookup follows is checked here once: offsets, counts, order, and that each name is
 * canonical and is found where its hash leads. One pass over each section, no allocation. */
#include "base/check.h"
#include "policy/image_lookup.h"

struct check {
    const struct gw_image *image;
    const struct gw_image_header *head;
    size_t count[GW_IMAGE_SECTIONS];
    const void *at[GW_IMAGE_SECTIONS];
    const char *wrong; /* the first thing that is; NULL so far */
};

static bool fail(struct check *c, const char *wrong)
{
    c->wrong = wrong;
    return false;
}

static bool check_header(struct check *c)
{
    const struct gw_image_header *head = c->head;
    if (memcmp(head->magic, GW_IMAGE_MAGIC, sizeof head->magic) != 0)
        return fail(c, "it does not begin as one");
    if (head->version != GW_IMAGE_VERSION)
        return fail(c, "it is of another version");
    if (head->length != c->image->length)
        return fail(c, "its length is not the one it states");
    if (head->kind < GW_POLICY_DENY_ALL || head->kind > GW_POLICY_STATIC || head->sni > GW_SNI_OFF
        || head->bucket_bits > 31)
        return fail(c, "a number in its header is out of range");
    return true;
}

/* The sections follow each other, with zeros between, to the very end. */
static bool check_sections(struct check *c)
{
    uint64_t end = sizeof *c->head;
    for (int id = 0; id < GW_IMAGE_SECTIONS; id++) {
        struct gw_image_span span = c->head->section[id];
        for (; end % 8 != 0 && end < c->image->length; end++)
            if (c->image->bytes[end] != 0)
                return fail(c, "there is something between its sections");
        uint64_t bytes = (uint64_t)span.count * gw_image_element_size((enum gw_image_section)id);
        if (span.first != end || bytes > c->image->length - end)
            return fail(c, "a section lies outside");
        end += bytes;
        c->at[id] = gw_image_section(c->image, (enum gw_image_section)id, &c->count[id]);
        if (c->count[id] != span.count)
            return fail(c, "a section cannot be reached");
    }
    return end == c->image->length || fail(c, "there is something behind its last section");
}

/* ---- names ------------------------------------------------------------------------------- */

static size_t values_of(const struct check *c, unsigned what)
{
    switch (what) {
    case GW_IMAGE_CREDENTIAL:
        return c->count[GW_IMAGE_CREDENTIALS];
    case GW_IMAGE_INWARD:
        return c->count[GW_IMAGE_INWARDS];
    case GW_IMAGE_RULE:
        return c->count[GW_IMAGE_RULES];
    case GW_IMAGE_UPSTREAM_TLS:
        return c->count[GW_IMAGE_CAS];
    default:
        return 1; /* ALLOW and PLAINTEXT: no value, written as 0 */
    }
}

static bool check_records(struct check *c, uint32_t first, uint32_t end, bool may_be_suffix,
                          size_t *hosts)
{
    const struct gw_image_record *records = c->at[GW_IMAGE_RECORDS];
    if (first >= end || end > c->count[GW_IMAGE_RECORDS])
        return fail(c, "a name has no records");
    for (uint32_t i = first; i < end; i++) {
        const struct gw_image_record *record = &records[i];
        bool allow = record->what == GW_IMAGE_ALLOW;
        if (record->what < GW_IMAGE_ALLOW || record->what >= GW_IMAGE_WHATS || record->bits > 7
            || record->value >= values_of(c, record->what))
            return fail(c, "a record says nothing that is known");
        if ((!allow && (record->port != 0 || gw_image_record_sni(record) != GW_SNI_DEFAULT))
            || (gw_image_record_is_suffix(record) && !may_be_suffix))
            return fail(c, "a record contradicts itself");
        if (i > first && gw_image_record_key(record) <= gw_image_record_key(record - 1))
            return fail(c, "records are out of order");
        *hosts += allow;
    }
    return true;
}

/* One node: its name, its place, its records. */
static bool check_node(struct check *c, size_t i, uint64_t *hash, size_t *hosts)
{
    const struct gw_image_node *node = (const struct gw_image_node *)c->at[GW_IMAGE_NODES] + i;
    struct gw_slice name = gw_image_node_name(c->image, (uint32_t)i);
    uint64_t before = *hash;
    enum gw_host_class class;
    if (!gw_host_is_canonical(name, &class))
        return fail(c, "a name is not canonical");
    *hash = gw_image_hash(c->head->seed, name);
    if (node->tag != (uint32_t)*hash)
        return fail(c, "a name does not belong to its tag");
    if (i > 0
        && (before > *hash
            || (before == *hash
                && gw_image_compare_names(gw_image_node_name(c->image, (uint32_t)i - 1), name)
                       >= 0)))
        return fail(c, "names are out of order");
    bool two_labels = class == GW_HOST_NAME && memchr(name.data, '.', name.length) != NULL;
    return check_records(c, node[0].record, node[1].record, two_labels, hosts);
}

/* Walks buckets and nodes side by side: every node lies in the bucket of its hash. */
static bool check_nodes(struct check *c)
{
    const uint32_t *buckets = c->at[GW_IMAGE_BUCKETS];
    const struct gw_image_node *nodes = c->at[GW_IMAGE_NODES];
    size_t count = c->count[GW_IMAGE_NODES], hosts = 0;
    uint32_t bits = c->head->bucket_bits, fullest = 0;
    uint64_t hash = 0;
    if (count == 0 || bits != gw_image_bits_for(count - 1)
        || c->count[GW_IMAGE_BUCKETS] != ((size_t)1 << bits) + 1)
        return fail(c, "its hash table has another size than its names need");
    count--;
    if (buckets[0] != 0 || nodes[0].name != 0 || nodes[0].record != 0 || nodes[count].tag != 0
        || nodes[count].record != c->count[GW_IMAGE_RECORDS])
        return fail(c, "its names do not begin or end where they should");
    for (size_t bucket = 0; bucket < (size_t)1 << bits; bucket++) {
        uint32_t first = buckets[bucket], end = buckets[bucket + 1];
        if (first > end || end > count)
            return fail(c, "a bucket lies outside");
        if (end - first > fullest)
            fullest = end - first;
        for (size_t i = first; i < end; i++)
            if (!check_node(c, i, &hash, &hosts))
                return false;
            else if (gw_image_bucket(hash, bits) != bucket)
                return fail(c, "a name lies in the bucket of another");
    }
    if (buckets[(size_t)1 << bits] != count || fullest != c->head->fullest
        || hosts != c->head->host_count)
        return fail(c, "a count in its header is wrong");
    return true;
}

/* ---- values ------------------------------------------------------------------------------ */

static bool check_cidrs(struct check *c, enum gw_image_section id)
{
    const struct gw_image_cidr *cidrs = c->at[id];
    for (size_t i = 0; i < c->count[id]; i++) {
        struct gw_cidr stored = gw_image_cidr_of(&cidrs[i]), made;
        if (!gw_cidr_make(&stored.address, stored.prefix, &made)
            || made.address.family != stored.address.family
            || memcmp(made.address.bytes, stored.address.bytes, sizeof made.address.bytes) != 0
            || cidrs[i].zero[0] != 0 || cidrs[i].zero[1] != 0)
            return fail(c, "a range of addresses is none");
    }
    return true;
}

/* `span` begins where the last one ended, and moves that end. */
static bool follows(struct gw_image_span span, size_t *end, size_t limit)
{
    if (span.first != *end || span.count > limit - *end)
        return false;
    *end += span.count;
    return true;
}

static bool check_text(struct check *c, struct gw_image_span span, size_t *end)
{
    if (span.count == 0 || !follows(span, end, c->count[GW_IMAGE_TEXT]))
        return fail(c, "a text lies outside");
    struct gw_slice text = gw_image_text(c->image, span);
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return fail(c, "a text has control bytes");
    return true;
}

static bool check_spans(struct check *c)
{
    const struct gw_image_span *inwards = c->at[GW_IMAGE_INWARDS];
    const struct gw_image_rule *rules = c->at[GW_IMAGE_RULES];
    size_t cidrs = 0, words = 0;
    for (size_t i = 0; i < c->count[GW_IMAGE_INWARDS]; i++)
        if (!follows(inwards[i], &cidrs, c->count[GW_IMAGE_CIDRS]))
            return fail(c, "an exemption lies outside");
    for (size_t i = 0; i < c->count[GW_IMAGE_RULES]; i++)
        if (!follows(rules[i].methods, &words, c->count[GW_IMAGE_WORDS])
            || !follows(rules[i].paths, &words, c->count[GW_IMAGE_WORDS])
            || rules[i].allow_encoded_slash > 1)
            return fail(c, "a rule lies outside");
    if (cidrs != c->count[GW_IMAGE_CIDRS] || words != c->count[GW_IMAGE_WORDS])
        return fail(c, "something belongs to nothing");
    return true;
}

static bool check_texts(struct check *c)
{
    const struct gw_image_node *nodes = c->at[GW_IMAGE_NODES];
    const struct gw_image_secret *secrets = c->at[GW_IMAGE_CREDENTIALS];
    const struct gw_image_span *words = c->at[GW_IMAGE_WORDS], *cas = c->at[GW_IMAGE_CAS];
    size_t end = nodes[c->count[GW_IMAGE_NODES] - 1].name;
    if (end > c->count[GW_IMAGE_TEXT])
        return fail(c, "its names lie outside");
    for (size_t i = 0; i < c->count[GW_IMAGE_CREDENTIALS]; i++) {
        if (!check_text(c, secrets[i].name, &end) || !check_text(c, secrets[i].header, &end))
            return false;
        if (secrets[i].allow_plaintext > 1)
            return fail(c, "a credential is neither this nor that");
    }
    for (size_t i = 0; i < c->count[GW_IMAGE_WORDS]; i++)
        if (!check_text(c, words[i], &end))
            return false;
    for (size_t i = 0; i < c->count[GW_IMAGE_CAS]; i++)
        if (!check_text(c, cas[i], &end))
            return false;
    return end == c->count[GW_IMAGE_TEXT] || fail(c, "there is text that belongs to nothing");
}

static bool check_ports(struct check *c, enum gw_image_section id)
{
    const uint16_t *ports = c->at[id];
    for (size_t i = 0; i < c->count[id]; i++)
        if (ports[i] == 0 || (i > 0 && ports[i] <= ports[i - 1]))
            return fail(c, "ports are out of order");
    return true;
}

bool gw_image_open(const void *bytes, size_t length, struct gw_image *out, struct gw_error *err)
{
    struct gw_image image = { .bytes = bytes, .length = length };
    struct check check = { .image = &image };
    if (bytes == NULL || (uintptr_t)bytes % 8 != 0 || length < sizeof(struct gw_image_header)) {
        gw_error_set(err, GW_ERR_CORRUPT, "not a policy image: too short, or not aligned");
        return false;
    }
    check.head = gw_image_head(&image);
    if (check_header(&check) && check_sections(&check) && check_nodes(&check)
        && check_cidrs(&check, GW_IMAGE_CIDRS) && check_cidrs(&check, GW_IMAGE_DENIED)
        && check_spans(&check) && check_texts(&check) && check_ports(&check, GW_IMAGE_PORTS)
        && check_ports(&check, GW_IMAGE_PLAIN_PORTS)) {
        *out = image;
        return true;
    }
    gw_error_set(err, GW_ERR_CORRUPT, "not a policy image: %s",
                 check.wrong == NULL ? "?" : check.wrong);
    return false;
}
