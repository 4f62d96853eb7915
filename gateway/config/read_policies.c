/* gateway/config/read_policies.c - the keys under `policies`. A policy is compiled while it is
 * read: only that tells whether it can be enforced. */
#include <stdlib.h>

#include "gateway/config/near_miss.h"
#include "gateway/config/policy_draft.h"
#include "gateway/config/read.h"
#include "gateway/config/scalars.h"

/* ---- kind ----------------------------------------------------------------------------------- */

static const struct gw_word kind_words[] = { { "deny-all", GW_POLICY_DENY_ALL },
                                             { "allow-all", GW_POLICY_ALLOW_ALL },
                                             { "static", GW_POLICY_STATIC },
                                             { "resolver", GW_WORD_LATER },
                                             { NULL, 0 } };
static const struct gw_shape kind_shape = { .form = GW_FORM_WORD, .words = kind_words };

/* The builder needs the kind before anything is read; the mistakes of a policy whose kind is one
 * are still found, as those of a static policy. */
static enum gw_policy_kind kind_of(const struct gw_yaml_node *policy)
{
    const struct gw_yaml_node *kind = gw_yaml_tree_find(policy, "kind");
    if (kind != NULL && kind->kind == GW_YAML_TEXT)
        for (const struct gw_word *word = kind_words; word->text != NULL; word++)
            if (word->value != GW_WORD_LATER && strcmp(word->text, kind->text) == 0)
                return (enum gw_policy_kind)word->value;
    return GW_POLICY_STATIC;
}

static void read_kind(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    int kind;
    (void)into; /* kind_of() was there before */
    gw_scalar_word(reader, key->name, key->shape, node, &kind);
}

/* ---- ports, sni, deny_cidrs ----------------------------------------------------------------- */

static const struct gw_shape dialled_ports_shape = { .form = GW_FORM_LIST,
                                                     .item = &gw_shape_port,
                                                     .min = 1 };

static void read_ports_with(struct gw_reader *reader, const struct gw_key *key,
                            const struct gw_yaml_node *node, struct gw_policy_draft *draft,
                            bool (*set)(struct gw_image_builder *, const uint16_t *, size_t,
                                        struct gw_error *))
{
    struct gw_error err = GW_ERROR_NONE;
    size_t before = reader->complaints, count = 0;
    uint64_t port;
    if (!gw_reader_list(reader, key, node))
        return;
    uint16_t none, *ports = gw_reader_array(reader, node, node->length, sizeof *ports);
    for (const struct gw_yaml_node *at = node->first; at != NULL && ports != NULL; at = at->next)
        if (gw_scalar_number(reader, key->name, &gw_shape_port, gw_yaml_tree_value(at), &port))
            ports[count++] = (uint16_t)port;
    if (reader->complaints == before
        && !set(draft->builder, ports == NULL ? &none : ports, count, &err))
        gw_complain(reader, node, "\"%s\": %s", key->name, err.text);
    free(ports);
}

static void read_ports(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    read_ports_with(reader, key, node, into, gw_image_builder_ports);
}

static void read_plain_ports(struct gw_reader *reader, const struct gw_key *key,
                             const struct gw_yaml_node *node, void *into)
{
    read_ports_with(reader, key, node, into, gw_image_builder_plain_ports);
}

static void read_sni(struct gw_reader *reader, const struct gw_key *key,
                     const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    int mode;
    if (gw_scalar_word(reader, key->name, key->shape, node, &mode))
        gw_image_builder_sni(draft->builder, (enum gw_sni_mode)mode);
}

static void read_deny_cidrs(struct gw_reader *reader, const struct gw_key *key,
                            const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        const struct gw_yaml_node *value = gw_yaml_tree_value(at);
        struct gw_error err = GW_ERROR_NONE;
        struct gw_cidr cidr;
        if (gw_scalar_cidr(reader, key->name, value, &cidr)
            && !gw_image_builder_deny_cidr(draft->builder, &cidr, &err))
            gw_complain(reader, value, "\"%s\": %s", key->name, err.text);
    }
}

/* ---- credentials ---------------------------------------------------------------------------- */

static bool find_credential(struct gw_reader *reader, const struct gw_yaml_node *node,
                            size_t *index)
{
    const struct gw_settings *settings = reader->settings;
    struct gw_near_miss miss;
    char shown[GW_SHOWN], hint[GW_NEAR_MISS_TEXT];
    gw_near_miss_init(&miss, gw_yaml_tree_text(node));
    for (*index = 0; *index < settings->credential_count; ++*index) {
        if (strcmp(settings->credentials[*index].name, node->text) == 0)
            return true;
        gw_near_miss_offer(&miss, settings->credentials[*index].name);
    }
    gw_complain(reader, node, "\"credentials\": there is no credential \"%s\" under credentials%s",
                gw_reader_show(node, shown), gw_near_miss_print(&miss, hint));
    return false;
}

static void read_credentials(struct gw_reader *reader, const struct gw_key *key,
                             const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    size_t index;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        const struct gw_yaml_node *value = gw_yaml_tree_value(at);
        struct gw_error err = GW_ERROR_NONE;
        if (!gw_reader_text(reader, key->name, value) || !find_credential(reader, value, &index))
            continue;
        reader->credentials[index].used = true;
        /* Which hosts are admitted is not known when entries are wrong, nor what a credential with
         * mistakes would be for. */
        if (!reader->credentials[index].whole || draft->entry_bad)
            continue;
        const struct gw_settings_credential *credential = &reader->settings->credentials[index];
        struct gw_credential_source source = {
            .name = credential->name,
            .header = credential->header,
            .allow_plaintext = credential->allow_plaintext,
        };
        if (!gw_image_builder_credential(draft->builder, gw_slice_of(credential->host), &source,
                                         &err))
            gw_complain(reader, value, "\"%s\": %s", key->name, err.text);
    }
}

static const struct gw_shape names_shape = { .form = GW_FORM_LIST, .item = &gw_shape_name };

/* ---- policies ------------------------------------------------------------------------------- */

/* clang-format off */
const struct gw_key gw_policy_keys[] = {
    { "kind", read_kind, 0, &kind_shape, NULL,
      "`static`: the hosts listed here; `deny-all`: none; `allow-all`: every host, addresses still "
      "screened", GW_KEY_REQUIRED },
    { "allowed_hosts", gw_read_allowed_hosts, 0, &gw_shape_allowed_hosts, "[]",
      "host entries: `api.example.com`, `.example.com` (the name itself and all below it), an "
      "address, each with or without `:port`", GW_KEY_NULL_IS_EMPTY },
    { "allowed_hosts_file", gw_read_allowed_hosts_file, 0, &gw_shape_path, NULL,
      "a file with more entries, one a line; `#` begins a comment", 0 },
    { "ports", read_ports, 0, &dialled_ports_shape, "[443, 80]",
      "ports that may be dialled for entries without a port", 0 },
    { "plain_ports", read_plain_ports, 0, &gw_shape_ports, "[80]",
      "CONNECT to these is read as HTTP inside", 0 },
    { "sni", read_sni, 0, &gw_shape_sni, NULL,
      "the server name that a client sends inside a tunnel: `match` closes what differs from the "
      "target, `log` records it, `off` does not look; by default match on port 443, log elsewhere", 0 },
    { "plaintext_upstream", gw_read_plaintext_upstream, 0, &gw_shape_hosts, "[]",
      "hosts that are reached over plain HTTP; to all others http:// is upgraded to https://", 0 },
    { "upstream_tls", gw_read_upstream_tls, 0, &gw_shape_upstream_tls, "[]",
      "hosts that are verified with a CA of their own", 0 },
    { "allow_inward_for", gw_read_inward, 0, &gw_shape_inward, "[]",
      "hosts that may resolve to private, unique-local and shared addresses, or to the ranges given "
      "with them", 0 },
    { "deny_cidrs", read_deny_cidrs, 0, &gw_shape_cidrs, "[]",
      "address ranges that are refused whatever else says yes", 0 },
    { "credentials", read_credentials, 0, &names_shape, "[]",
      "names of credentials that are put into requests", 0 },
    { "rules", gw_read_rules, 0, &gw_shape_rules, "[]",
      "methods and paths of hosts; a host that has a rule is reached by requests that one of its "
      "rules admits, and by no opaque tunnel", 0 },
    { .name = "resolver" },
    { .name = NULL },
};
/* clang-format on */

static void refuse_key(struct gw_reader *reader, const struct gw_yaml_node *policy,
                       const char *name, const char *why)
{
    const struct gw_yaml_node *value = gw_yaml_tree_find(policy, name);
    if (value != NULL)
        gw_complain(reader, value, "\"%s\": %s, so that this would have no effect; remove it", name,
                    why);
}

/* A key that is accepted and not applied is a promise that is not kept. False if there is one. */
static bool check_kind(struct gw_reader *reader, const struct gw_settings_policy *policy,
                       const struct gw_yaml_node *node)
{
    size_t before = reader->complaints;
    if (policy->kind == GW_POLICY_ALLOW_ALL) {
        refuse_key(reader, node, "allowed_hosts", "allow-all admits every host");
        refuse_key(reader, node, "allowed_hosts_file", "allow-all admits every host");
    } else if (policy->kind == GW_POLICY_DENY_ALL) {
        for (const struct gw_key *key = gw_policy_keys; key->name != NULL; key++)
            if (key->read != NULL && strcmp(key->name, "kind") != 0)
                refuse_key(reader, node, key->name, "deny-all admits nothing");
    }
    return reader->complaints == before;
}

/* Before the first key of the policy: nothing that is said later can lift it. */
static void add_gateway_ranges(struct gw_reader *reader, struct gw_policy_draft *draft,
                               const struct gw_yaml_node *node)
{
    const struct gw_settings *settings = reader->settings;
    for (size_t i = 0; i < settings->deny_cidr_count; i++) {
        struct gw_error err = GW_ERROR_NONE;
        if (!gw_image_builder_deny_cidr(draft->builder, &settings->deny_cidrs[i], &err))
            gw_complain(reader, node, "%s", err.text);
    }
}

static void warn(struct gw_reader *reader, const struct gw_policy_draft *draft,
                 const struct gw_yaml_node *node)
{
    const struct gw_settings_policy *policy = draft->out;
    if (policy->kind == GW_POLICY_ALLOW_ALL)
        gw_reader_warn(reader,
                       "policy %s: allow-all admits every host; only addresses are screened",
                       policy->name);
    else if (policy->kind == GW_POLICY_STATIC && draft->entry_count == 0
             && gw_yaml_tree_find(node, "allowed_hosts") == NULL)
        gw_reader_warn(reader, "policy %s: static, but without an entry: it admits nothing",
                       policy->name);
}

static bool finish(struct gw_reader *reader, struct gw_policy_draft *draft,
                   const struct gw_yaml_node *node)
{
    struct gw_settings_policy *policy = draft->out;
    struct gw_error err = GW_ERROR_NONE;
    if (!gw_image_builder_finish(draft->builder, &policy->image, &policy->image_length, &err)) {
        gw_complain(reader, node, "policy \"%s\": %s", policy->name, err.text);
        return false;
    }
    gw_digest_of((struct gw_slice){ policy->image, policy->image_length }, &policy->digest);
    warn(reader, draft, node);
    return true;
}

/* `policy->name` is there already. */
static bool read_one(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                     struct gw_settings_policy *policy)
{
    size_t before = reader->complaints;
    struct gw_policy_draft draft = { .out = policy };
    policy->kind = kind_of(node);
    draft.entry_bad = !check_kind(reader, policy, node);
    /* A key that does not go with the kind is read all the same, for its own mistakes. */
    draft.builder = gw_image_builder_new(draft.entry_bad ? GW_POLICY_STATIC : policy->kind);
    if (draft.builder == NULL) {
        gw_complain(reader, node, "out of memory");
        return false;
    }
    add_gateway_ranges(reader, &draft, node);
    gw_policy_draft_collect(reader, &draft, node);
    gw_reader_map(reader, what, gw_policy_keys, node, &draft);
    gw_policy_draft_check(reader, &draft);
    bool whole = reader->complaints == before && finish(reader, &draft, node);
    gw_image_builder_free(draft.builder);
    free(draft.needs);
    return whole;
}

void gw_read_policies(struct gw_reader *reader, const struct gw_yaml_node *node)
{
    struct gw_settings *settings = reader->settings;
    if (node->kind != GW_YAML_MAP) {
        gw_complain(reader, node, "\"policies\": expected names, and what each is");
        return;
    }
    settings->policies = gw_reader_array(reader, node, node->length, sizeof *settings->policies);
    reader->policies = gw_reader_array(reader, node, node->length, sizeof *reader->policies);
    if (settings->policies == NULL || reader->policies == NULL)
        return;
    for (const struct gw_yaml_node *name = node->first; name != NULL; name = name->next->next) {
        size_t index = settings->policy_count;
        struct gw_settings_policy *policy = &settings->policies[index];
        if ((policy->name = gw_reader_copy(reader, name, name->text)) == NULL)
            return;
        settings->policy_count++;
        policy->line = name->line;
        policy->column = name->column;
        bool named = gw_reader_name(reader, "policy", name);
        reader->policies[index].name = name;
        reader->policies[index].whole = read_one(reader, named ? policy->name : "policy",
                                                 gw_yaml_tree_value(name->next), policy)
                                        && named;
    }
}
