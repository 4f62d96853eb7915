/* policy/image_builder.c - what may go into a policy. Each item is checked when it is added, so
 * that its error can name the line of the file that it came from. */
#include "policy/image_builder.h"

#include <stdlib.h>

#include "base/macros.h"
#include "policy/ip_lift.h"

enum { PORTS, PLAIN_PORTS };

bool gw_builder_out_of_memory(struct gw_error *err)
{
    gw_error_set(err, GW_ERR_MEMORY, "out of memory, or more than a policy can hold");
    return false;
}

struct gw_image_builder *gw_image_builder_new(enum gw_policy_kind kind)
{
    static const uint16_t ports[] = { 443, 80 }, plain_ports[] = { 80 };
    struct gw_error ignored = GW_ERROR_NONE; /* only memory can be short */
    struct gw_image_builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL)
        return NULL;
    builder->kind = kind;
    if (gw_image_builder_ports(builder, ports, GW_COUNT(ports), &ignored)
        && gw_image_builder_plain_ports(builder, plain_ports, GW_COUNT(plain_ports), &ignored))
        return builder;
    gw_image_builder_free(builder);
    return NULL;
}

void gw_image_builder_free(struct gw_image_builder *builder)
{
    if (builder == NULL)
        return;
    gw_store_fini(&builder->store);
    for (size_t i = 0; i < GW_COUNT(builder->values); i++)
        gw_values_fini(&builder->values[i]);
    free(builder->stamps);
    free(builder->ports[PORTS]);
    free(builder->ports[PLAIN_PORTS]);
    free(builder->denied);
    free(builder);
}

/* ---- what is said about a host ----------------------------------------------------------- */

static bool add_record(struct gw_image_builder *builder, const struct gw_host_pattern *pattern,
                       struct gw_image_record record, struct gw_error *err)
{
    record.bits |= pattern->suffix;
    return gw_store_add(&builder->store, gw_host_slice(&pattern->host), record)
           || gw_builder_out_of_memory(err);
}

/* An entry of the same pattern, kind and port that is there already. */
static const struct gw_image_record *find_record(const struct gw_image_builder *builder,
                                                 const struct gw_host_pattern *pattern,
                                                 enum gw_image_what what, uint32_t value)
{
    const struct gw_store *store = &builder->store;
    uint32_t name = gw_store_find(store, gw_host_slice(&pattern->host));
    uint32_t at = name == GW_STORE_NONE ? GW_STORE_NONE : store->names[name].first;
    for (; at != GW_STORE_NONE; at = store->entries[at].next) {
        const struct gw_image_record *record = &store->entries[at].record;
        if (record->what == what && gw_image_record_is_suffix(record) == pattern->suffix
            && record->port == pattern->port && (value == GW_STORE_NONE || record->value == value))
            return record;
    }
    return NULL;
}

bool gw_image_builder_allow(struct gw_image_builder *builder, struct gw_slice entry,
                            enum gw_sni_mode sni, struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (builder->kind == GW_POLICY_DENY_ALL) {
        gw_error_set(err, GW_ERR_CONFIG, "a policy of kind \"deny-all\" has no allowed hosts");
        return false;
    }
    if (!gw_host_pattern_parse(entry, &pattern, err))
        return false;
    const struct gw_image_record *earlier = find_record(builder, &pattern, GW_IMAGE_ALLOW, 0);
    if (earlier != NULL && gw_image_record_sni(earlier) == sni)
        return true;
    if (earlier != NULL) {
        char shown[GW_HOST_TEXT_MAX + 16];
        gw_host_pattern_print(&pattern, shown, sizeof shown);
        gw_error_set(err, GW_ERR_CONFIG, "\"%s\" is listed twice, with two sni modes", shown);
        return false;
    }
    struct gw_image_record record = { .port = pattern.port,
                                      .what = GW_IMAGE_ALLOW,
                                      .bits = (uint8_t)((unsigned)sni << 1) };
    return add_record(builder, &pattern, record, err);
}

/* Everything but the allowlist speaks about a host whatever its port. */
bool gw_builder_parse_host(struct gw_slice text, struct gw_host_pattern *out, struct gw_error *err)
{
    if (!gw_host_pattern_parse(text, out, err))
        return false;
    if (out->port == 0)
        return true;
    gw_error_set(err, GW_ERR_CONFIG,
                 "\"%.*s\": this applies to a host whatever its port; leave the port out",
                 (int)gw_slice_trim(text).length, gw_slice_trim(text).data);
    return false;
}

/* Adds a record with a value, unless the very same is there. */
bool gw_builder_add_valued(struct gw_image_builder *builder, const struct gw_host_pattern *pattern,
                           enum gw_image_what what, const void *bytes, size_t length,
                           struct gw_error *err)
{
    uint32_t value = gw_values_add(&builder->values[what], bytes, length);
    if (value == GW_STORE_NONE)
        return gw_builder_out_of_memory(err);
    if (find_record(builder, pattern, what, value) != NULL)
        return true;
    return add_record(builder, pattern,
                      (struct gw_image_record){ .value = value, .what = (uint8_t)what }, err);
}

bool gw_image_builder_plaintext(struct gw_image_builder *builder, struct gw_slice host,
                                struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_builder_parse_host(host, &pattern, err))
        return false;
    return find_record(builder, &pattern, GW_IMAGE_PLAINTEXT, 0) != NULL
           || add_record(builder, &pattern, (struct gw_image_record){ .what = GW_IMAGE_PLAINTEXT },
                         err);
}

bool gw_image_builder_upstream_tls(struct gw_image_builder *builder, struct gw_slice host,
                                   const char *ca, struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_builder_parse_host(host, &pattern, err))
        return false;
    if (!gw_builder_is_name(ca)) {
        gw_error_set(err, GW_ERR_CONFIG, "the name of a CA bundle is empty or not printable");
        return false;
    }
    const struct gw_image_record *earlier =
        find_record(builder, &pattern, GW_IMAGE_UPSTREAM_TLS, GW_STORE_NONE);
    if (earlier == NULL) {
        char packed[GW_BUILDER_WORD_MAX + 2] = "0";
        memcpy(packed + 1, ca, strlen(ca) + 1);
        return gw_builder_add_valued(builder, &pattern, GW_IMAGE_UPSTREAM_TLS, packed,
                                     strlen(packed) + 1, err);
    }
    const struct gw_store_value *value =
        &builder->values[GW_IMAGE_UPSTREAM_TLS].all[earlier->value];
    if (strcmp((const char *)value->bytes + 1, ca) == 0)
        return true;
    gw_error_set(err, GW_ERR_CONFIG, "\"%s%s\" has two CA bundles", pattern.suffix ? "." : "",
                 pattern.host.text);
    return false;
}

/* ---- ports and ranges -------------------------------------------------------------------- */

static int compare_ports(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static bool set_ports(struct gw_image_builder *builder, int which, const uint16_t *ports,
                      size_t count, struct gw_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ports[i] == 0) {
            gw_error_set(err, GW_ERR_CONFIG, "a port is a number from 1 to 65535");
            return false;
        }
    uint16_t *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return gw_builder_out_of_memory(err);
    if (count > 0) {
        memcpy(sorted, ports, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_ports);
    }
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    free(builder->ports[which]);
    builder->ports[which] = sorted;
    builder->port_count[which] = kept;
    return true;
}

bool gw_image_builder_ports(struct gw_image_builder *builder, const uint16_t *ports, size_t count,
                            struct gw_error *err)
{
    if (count > 0)
        return set_ports(builder, PORTS, ports, count, err);
    gw_error_set(err, GW_ERR_CONFIG,
                 "without any port, every entry that names none itself would admit nothing");
    return false;
}

bool gw_image_builder_plain_ports(struct gw_image_builder *builder, const uint16_t *ports,
                                  size_t count, struct gw_error *err)
{
    return set_ports(builder, PLAIN_PORTS, ports, count, err);
}

void gw_image_builder_sni(struct gw_image_builder *builder, enum gw_sni_mode sni)
{
    builder->sni = sni;
}

/* Comes from code, not from text, so it may be anything; false and `err` if it is no range. */
static bool store_cidr(const struct gw_cidr *cidr, struct gw_image_cidr *out, struct gw_error *err)
{
    struct gw_cidr made;
    if (!gw_cidr_make(&cidr->address, cidr->prefix, &made)) {
        gw_error_set(err, GW_ERR_CONFIG, "a range of addresses has bits behind its prefix");
        return false;
    }
    *out = (struct gw_image_cidr){ .family = made.address.family, .prefix = made.prefix };
    memcpy(out->bytes, made.address.bytes, sizeof out->bytes);
    return true;
}

static int compare_cidrs(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct gw_image_cidr));
}

bool gw_image_builder_deny_cidr(struct gw_image_builder *builder, const struct gw_cidr *cidr,
                                struct gw_error *err)
{
    struct gw_image_cidr stored;
    void *denied = builder->denied;
    size_t at = 0;
    if (!store_cidr(cidr, &stored, err))
        return false;
    while (at < builder->denied_count && compare_cidrs(&builder->denied[at], &stored) < 0)
        at++;
    if (at < builder->denied_count && compare_cidrs(&builder->denied[at], &stored) == 0)
        return true;
    bool grown =
        gw_store_grow(&denied, &builder->denied_room, builder->denied_count, 1, sizeof stored);
    builder->denied = denied;
    if (!grown)
        return gw_builder_out_of_memory(err);
    memmove(builder->denied + at + 1, builder->denied + at,
            (builder->denied_count - at) * sizeof stored);
    builder->denied[at] = stored;
    builder->denied_count++;
    return true;
}

bool gw_image_builder_inward(struct gw_image_builder *builder, struct gw_slice host,
                             const struct gw_cidr *cidrs, size_t count, struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_builder_parse_host(host, &pattern, err))
        return false;
    struct gw_image_cidr *stored = calloc(count + 1, sizeof *stored);
    bool added = false;
    size_t kept = 0;
    if (stored == NULL)
        return gw_builder_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (!store_cidr(&cidrs[i], &stored[i], err))
            goto out;
        struct gw_cidr range = gw_image_cidr_of(&stored[i]);
        if (!gw_ip_lift_is_possible(&range)) {
            char shown[GW_CIDR_TEXT_MAX];
            gw_cidr_print(&range, shown, sizeof shown);
            gw_error_set(err, GW_ERR_CONFIG,
                         "%s holds only addresses that no exemption opens; take it out", shown);
            goto out;
        }
    }
    qsort(stored, count, sizeof *stored, compare_cidrs);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_cidrs(&stored[kept - 1], &stored[i]) != 0)
            stored[kept++] = stored[i];
    added = gw_builder_add_valued(builder, &pattern, GW_IMAGE_INWARD, stored, kept * sizeof *stored,
                                  err);
out:
    free(stored);
    return added;
}

void gw_image_builder_restart_hosts(struct gw_image_builder *builder)
{
    builder->kind = GW_POLICY_STATIC;
    gw_store_drop(&builder->store, GW_IMAGE_ALLOW);
}
