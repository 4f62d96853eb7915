#include "gateway/config/policy_draft.h"

#include "gateway/config/yaml_tree.h"

static const char *const keys[] = { "plaintext_upstream", "upstream_tls", "allow_inward_for",
                                    "rules" };

/* The host of a member that is either text or a mapping; NULL if there is none. */
static const struct gw_yaml_node *host_of(const struct gw_yaml_node *member)
{
    const struct gw_yaml_node *value = gw_yaml_tree_value(member);
    if (value->kind == GW_YAML_MAP)
        value = gw_yaml_tree_find(value, "host");
    return value != NULL && value->kind == GW_YAML_TEXT ? value : NULL;
}

void gw_policy_draft_collect(struct gw_reader *reader, struct gw_policy_draft *draft,
                             const struct gw_yaml_node *policy)
{
    const struct gw_yaml_node *lists[GW_COUNT(keys)];
    size_t room = 0;
    for (size_t i = 0; i < GW_COUNT(keys); i++) {
        lists[i] = gw_yaml_tree_find(policy, keys[i]);
        if (lists[i] != NULL && lists[i]->kind != GW_YAML_LIST)
            lists[i] = NULL;
        room += lists[i] == NULL ? 0 : lists[i]->length;
    }
    draft->needs = gw_reader_array(reader, policy, room, sizeof *draft->needs);
    if (draft->needs == NULL)
        return;
    for (size_t i = 0; i < GW_COUNT(keys); i++) {
        const struct gw_yaml_node *at = lists[i] == NULL ? NULL : lists[i]->first;
        for (; at != NULL; at = at->next) {
            struct gw_policy_need *need = &draft->needs[draft->need_count];
            struct gw_error err = GW_ERROR_NONE;
            need->key = keys[i];
            need->node = host_of(at);
            if (need->node != NULL
                && gw_host_pattern_parse(gw_yaml_tree_text(need->node), &need->pattern, &err))
                draft->need_count++;
        }
    }
    draft->unmet = draft->need_count;
}

bool gw_policy_draft_allow(struct gw_policy_draft *draft, struct gw_slice entry,
                           enum gw_sni_mode sni, struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_image_builder_allow(draft->builder, entry, sni, err)) {
        draft->entry_bad = true;
        return false;
    }
    draft->entry_count++;
    if (draft->unmet == 0 || !gw_host_pattern_parse(entry, &pattern, err))
        return true;
    for (size_t i = 0; i < draft->unmet;) {
        struct gw_policy_need *need = &draft->needs[i];
        if (!gw_host_pattern_overlaps(&pattern, &need->pattern)) {
            i++;
            continue;
        }
        /* Met ones go behind the unmet, so that a long list asks few questions a line. */
        struct gw_policy_need met = *need;
        *need = draft->needs[--draft->unmet];
        draft->needs[draft->unmet] = met;
    }
    return true;
}

void gw_policy_draft_check(struct gw_reader *reader, const struct gw_policy_draft *draft)
{
    char shown[GW_SHOWN];
    if (draft->out->kind != GW_POLICY_STATIC || draft->entry_bad)
        return;
    for (size_t i = 0; i < draft->unmet; i++)
        gw_complain(reader, draft->needs[i].node,
                    "\"%s\": no entry of the allowlist admits \"%s\", so that this would have no "
                    "effect; allow it, or remove this",
                    draft->needs[i].key, gw_reader_show(draft->needs[i].node, shown));
}
