/* gateway/config/read_upstream.c - how a policy's hosts are reached, where it is not as usual:
 * plaintext_upstream, upstream_tls, allow_inward_for. */
#include <stdlib.h>

#include "gateway/config/ca_file.h"
#include "gateway/config/policy_draft.h"
#include "gateway/config/scalars.h"

/* A host that was read; NULL if it was not. */
static void read_host(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    struct gw_host_pattern pattern;
    if (gw_scalar_host(reader, key->name, node, &pattern))
        *(const struct gw_yaml_node **)into = node;
}

/* ---- plaintext_upstream --------------------------------------------------------------------- */

void gw_read_plaintext_upstream(struct gw_reader *reader, const struct gw_key *key,
                                const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        const struct gw_yaml_node *host = NULL;
        struct gw_error err = GW_ERROR_NONE;
        read_host(reader, key, gw_yaml_tree_value(at), &host);
        if (host != NULL
            && !gw_image_builder_plaintext(draft->builder, gw_yaml_tree_text(host), &err))
            gw_complain(reader, host, "\"%s\": %s", key->name, err.text);
    }
}

/* ---- upstream_tls --------------------------------------------------------------------------- */

struct upstream {
    const struct gw_yaml_node *host;
    size_t ca;
};

static void read_ca_file(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    struct gw_error err = GW_ERROR_NONE;
    if (gw_scalar_path(reader, key->name, node)
        && !gw_ca_file_add(reader->settings, node->text, into, &err))
        gw_complain(reader, node, "\"%s\": %s", key->name, err.text);
}

/* clang-format off */
static const struct gw_key upstream_keys[] = {
    { "host", read_host, offsetof(struct upstream, host), &gw_shape_host, NULL,
      "the host that is verified with it: a name, or `.suffix`", GW_KEY_REQUIRED },
    { "ca_file", read_ca_file, offsetof(struct upstream, ca), &gw_shape_path, NULL,
      "CA certificates (PEM), instead of those of `gateway.tls`", GW_KEY_REQUIRED },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape upstream_shape = { .form = GW_FORM_MAP, .keys = upstream_keys };
const struct gw_shape gw_shape_upstream_tls = { .form = GW_FORM_LIST, .item = &upstream_shape };

void gw_read_upstream_tls(struct gw_reader *reader, const struct gw_key *key,
                          const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        struct upstream upstream = { .host = NULL };
        struct gw_error err = GW_ERROR_NONE;
        if (gw_reader_map(reader, key->name, upstream_keys, gw_yaml_tree_value(at), &upstream)
            && !gw_image_builder_upstream_tls(draft->builder, gw_yaml_tree_text(upstream.host),
                                              reader->settings->cas[upstream.ca].id, &err))
            gw_complain(reader, upstream.host, "\"%s\": %s", key->name, err.text);
    }
}

/* ---- allow_inward_for ----------------------------------------------------------------------- */

static const struct gw_shape cidrs_shape = { .form = GW_FORM_LIST,
                                             .item = &gw_shape_cidr,
                                             .min = 1 };

struct inward {
    const struct gw_yaml_node *host;
    struct gw_cidr *cidrs; /* owned */
    size_t cidr_count;
};

static void read_cidrs(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    struct inward *inward = into;
    if (!gw_reader_list(reader, key, node))
        return;
    inward->cidrs = gw_reader_array(reader, node, node->length, sizeof *inward->cidrs);
    if (inward->cidrs == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        if (gw_scalar_cidr(reader, key->name, gw_yaml_tree_value(at),
                           &inward->cidrs[inward->cidr_count]))
            inward->cidr_count++;
}

/* clang-format off */
static const struct gw_key inward_keys[] = {
    { "host", read_host, offsetof(struct inward, host), &gw_shape_host, NULL,
      "the host that may lead inward: a name, `.suffix`, or an address", GW_KEY_REQUIRED },
    { "cidrs", read_cidrs, 0, &cidrs_shape, NULL,
      "the only ranges that it may lead to; they may hold loopback and other kinds that are not "
      "lifted without", 0 },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape inward_shape = { .form = GW_FORM_MAP, .keys = inward_keys };
static const struct gw_shape either_shape = { .form = GW_FORM_EITHER,
                                              .item = &gw_shape_host,
                                              .other = &inward_shape };
const struct gw_shape gw_shape_inward = { .form = GW_FORM_LIST, .item = &either_shape };

static bool read_one(struct gw_reader *reader, const struct gw_key *key,
                     const struct gw_yaml_node *node, struct inward *inward)
{
    if (node->kind == GW_YAML_MAP)
        return gw_reader_map(reader, key->name, inward_keys, node, inward);
    read_host(reader, key, node, &inward->host);
    return inward->host != NULL;
}

void gw_read_inward(struct gw_reader *reader, const struct gw_key *key,
                    const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        struct inward inward = { .host = NULL };
        struct gw_error err = GW_ERROR_NONE;
        if (read_one(reader, key, gw_yaml_tree_value(at), &inward)
            && !gw_image_builder_inward(draft->builder, gw_yaml_tree_text(inward.host),
                                        inward.cidrs, inward.cidr_count, &err))
            gw_complain(reader, inward.host, "\"%s\": %s", key->name, err.text);
        free(inward.cidrs);
    }
}
