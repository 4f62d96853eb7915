/* gateway/config/policy_draft.h - a policy while its keys are read.
 * The builder judges each item as it comes (policy/policy_image.h); what it cannot judge, since it
 * takes them one by one, is kept here: a setting for a host that nothing admits would be accepted
 * and never applied, and is refused. */
#pragma once
#include "gateway/config/reader.h"

/* A host that a setting other than the allowlist names. */
struct gw_policy_need {
    const char *key;
    const struct gw_yaml_node *node;
    struct gw_host_pattern pattern;
};

struct gw_policy_draft {
    struct gw_settings_policy *out;
    struct gw_image_builder *builder; /* owned */
    struct gw_policy_need *needs;     /* owned; those unmet stand first */
    size_t need_count, unmet;
    size_t entry_count;
    bool entry_bad; /* the allowlist has mistakes: what it admits is not known */
};

/* Collects the hosts of `plaintext_upstream`, `upstream_tls`, `allow_inward_for` and `rules`,
 * before the allowlist is read. Says nothing of mistakes in them; their readers will. */
void gw_policy_draft_collect(struct gw_reader *reader, struct gw_policy_draft *draft,
                             const struct gw_yaml_node *policy);

/* Adds an entry to the allowlist. False and `err` as the builder says. */
bool gw_policy_draft_allow(struct gw_policy_draft *draft, struct gw_slice entry,
                           enum gw_sni_mode sni, struct gw_error *err);

/* Complains of hosts that nothing admits. */
void gw_policy_draft_check(struct gw_reader *reader, const struct gw_policy_draft *draft);

/* Readers of the keys of a policy, into a struct gw_policy_draft. */
gw_key_read gw_read_allowed_hosts, gw_read_allowed_hosts_file; /* read_allowed_hosts.c */
extern const struct gw_shape gw_shape_allowed_hosts;
gw_key_read gw_read_plaintext_upstream, gw_read_upstream_tls, gw_read_inward; /* read_upstream.c */
extern const struct gw_shape gw_shape_upstream_tls, gw_shape_inward;
gw_key_read gw_read_rules; /* read_rules.c */
extern const struct gw_shape gw_shape_rules;
extern const struct gw_shape gw_shape_sni;
