/* gateway/config/read_allowed_hosts.c - the allowlist of a policy, in the file or beside it. */
#include "gateway/config/hosts_file.h"
#include "gateway/config/policy_draft.h"
#include "gateway/config/scalars.h"

/* ---- in the file ---------------------------------------------------------------------------- */

static const struct gw_word sni_words[] = {
    { "match", GW_SNI_MATCH }, { "log", GW_SNI_LOG }, { "off", GW_SNI_OFF }, { NULL, 0 }
};
const struct gw_shape gw_shape_sni = { .form = GW_FORM_WORD, .words = sni_words };

struct entry {
    const struct gw_yaml_node *host;
    int sni;
};

static void read_host(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    if (gw_reader_text(reader, key->name, node))
        *(const struct gw_yaml_node **)into = node;
}

/* clang-format off */
static const struct gw_key entry_keys[] = {
    { "host", read_host, offsetof(struct entry, host), &gw_shape_host_entry, NULL,
      "the entry, as it would stand alone", GW_KEY_REQUIRED },
    { "sni", gw_read_word, offsetof(struct entry, sni), &gw_shape_sni, NULL,
      "as `sni` of the policy, for this entry", 0 },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape entry_shape = { .form = GW_FORM_MAP, .keys = entry_keys };
static const struct gw_shape either_shape = { .form = GW_FORM_EITHER,
                                              .item = &gw_shape_host_entry,
                                              .other = &entry_shape };
const struct gw_shape gw_shape_allowed_hosts = { .form = GW_FORM_LIST, .item = &either_shape };

static bool read_entry(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, struct entry *entry)
{
    if (node->kind == GW_YAML_MAP)
        return gw_reader_map(reader, key->name, entry_keys, node, entry);
    entry->host = node;
    return gw_reader_text(reader, key->name, node);
}

void gw_read_allowed_hosts(struct gw_reader *reader, const struct gw_key *key,
                           const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node)) {
        draft->entry_bad = true;
        return;
    }
    if (node->kind != GW_YAML_LIST)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        struct entry entry = { .sni = GW_SNI_DEFAULT };
        struct gw_error err = GW_ERROR_NONE;
        if (!read_entry(reader, key, gw_yaml_tree_value(at), &entry))
            draft->entry_bad = true;
        else if (!gw_policy_draft_allow(draft, gw_yaml_tree_text(entry.host),
                                        (enum gw_sni_mode)entry.sni, &err))
            gw_complain(reader, entry.host, "\"%s\": %s", key->name, err.text);
    }
}

/* ---- in a file of its own ------------------------------------------------------------------- */

struct reading {
    struct gw_reader *reader;
    const struct gw_key *key;
    const struct gw_yaml_node *node;
    struct gw_policy_draft *draft;
};

static void on_entry(void *context, struct gw_slice entry, unsigned line)
{
    struct reading *reading = context;
    struct gw_error err = GW_ERROR_NONE;
    if (!gw_policy_draft_allow(reading->draft, entry, GW_SNI_DEFAULT, &err))
        gw_complain(reading->reader, reading->node, "\"%s\": %s:%u: %s", reading->key->name,
                    reading->node->text, line, err.text);
}

void gw_read_allowed_hosts_file(struct gw_reader *reader, const struct gw_key *key,
                                const struct gw_yaml_node *node, void *into)
{
    struct reading reading = { reader, key, node, into };
    struct gw_error err = GW_ERROR_NONE;
    if (!gw_scalar_path(reader, key->name, node)) {
        reading.draft->entry_bad = true;
    } else if (!gw_hosts_file_read(node->text, on_entry, &reading, &err)) {
        reading.draft->entry_bad = true;
        gw_complain(reader, node, "\"%s\": %s", key->name, err.text);
    }
}
