/* gateway/config/cross_check.c - what no single key can get wrong. */
#include "gateway/config/read.h"

/* Could a client not tell which of the two it reaches? With a wildcard beside an address of its
 * own family the kernel would decide, and so would a bind that fails. */
static bool is_same_place(const struct gw_settings_network *a, const struct gw_settings_network *b)
{
    return a->listen.port == b->listen.port && a->listen.address.family == b->listen.address.family
           && (a->wildcard || b->wildcard
               || gw_ip_address_equal(&a->listen.address, &b->listen.address));
}

static const struct gw_yaml_node *listen_of(const struct gw_yaml_node *networks, size_t index)
{
    const struct gw_yaml_node *name = networks->first;
    while (index-- > 0)
        name = name->next->next;
    return gw_yaml_tree_find(gw_yaml_tree_value(name->next), "listen");
}

static void check_listeners(struct gw_reader *reader, const struct gw_yaml_node *networks)
{
    const struct gw_settings *settings = reader->settings;
    for (size_t i = 0; i < settings->network_count; i++)
        for (size_t j = 0; j < i && settings->networks[i].listen.port != 0; j++)
            if (is_same_place(&settings->networks[i], &settings->networks[j])) {
                gw_complain(reader, listen_of(networks, i),
                            "\"listen\": network \"%s\" listens there already (line %u); each "
                            "network has an address or a port of its own",
                            settings->networks[j].name, listen_of(networks, j)->line);
                break;
            }
}

static void warn_of_wildcards(struct gw_reader *reader)
{
    const struct gw_settings *settings = reader->settings;
    for (size_t i = 0; i < settings->network_count; i++)
        if (settings->networks[i].wildcard && settings->policy_count > 0)
            gw_reader_warn(reader,
                           "network %s: it listens on every address, and whoever reaches one has "
                           "policy %s",
                           settings->networks[i].name,
                           settings->policies[settings->networks[i].policy].name);
}

static void warn_of_unused(struct gw_reader *reader)
{
    const struct gw_settings *settings = reader->settings;
    for (size_t i = 0; i < settings->credential_count; i++)
        if (!reader->credentials[i].used)
            gw_reader_warn(reader, "credential %s: no policy names it",
                           settings->credentials[i].name);
    for (size_t i = 0; i < settings->policy_count; i++)
        if (!reader->policies[i].used)
            gw_reader_warn(reader, "policy %s: no network has it", settings->policies[i].name);
}

void gw_cross_check(struct gw_reader *reader)
{
    const struct gw_yaml_node *networks = gw_yaml_tree_find(reader->root, "networks");
    if (networks == NULL) /* its absence was complained of */
        return;
    if (networks->kind == GW_YAML_MAP && networks->length == 0)
        gw_complain(reader, networks, "\"networks\": none, so that nothing would listen");
    check_listeners(reader, networks);
    if (gw_config_errors_any(reader->errors)) /* nobody will hear a warning */
        return;
    warn_of_wildcards(reader);
    warn_of_unused(reader);
}
