/* gateway/config/read_networks.c - the keys under `networks`: who may ask, and by which policy. */
#include "gateway/config/near_miss.h"
#include "gateway/config/read.h"
#include "gateway/config/scalars.h"

/* ---- listen --------------------------------------------------------------------------------- */

static const struct gw_shape listen_shape = { .form = GW_FORM_TEXT,
                                              .is = "IP:PORT or [IPv6]:PORT",
                                              .pattern = "^[0-9A-Fa-f:.\\[\\]]+:[1-9][0-9]{0,4}$" };

static bool is_multicast(const struct gw_ip_address *address)
{
    return address->family == 4 ? address->bytes[0] >= 224 : address->bytes[0] == 0xff;
}

static void read_listen(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    static const uint8_t zero[16];
    struct gw_settings_network *out = into;
    if (node->kind == GW_YAML_TEXT && strncmp(node->text, "unix:", 5) == 0) {
        gw_complain(reader, node, "\"listen: unix:\": not in this version");
        return;
    }
    if (!gw_scalar_endpoint(reader, key->name, node, 0, &out->listen))
        return;
    if (is_multicast(&out->listen.address))
        gw_complain(reader, node, "\"listen\": nothing can listen on a multicast address");
    out->wildcard = memcmp(out->listen.address.bytes, zero, sizeof zero) == 0;
}

/* ---- policy --------------------------------------------------------------------------------- */

static void read_policy(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    const struct gw_settings *settings = reader->settings;
    struct gw_near_miss miss;
    char shown[GW_SHOWN], hint[GW_NEAR_MISS_TEXT];
    if (!gw_reader_text(reader, key->name, node))
        return;
    const struct gw_yaml_node *policies = gw_yaml_tree_find(reader->root, "policies");
    if (policies != NULL && policies->kind != GW_YAML_MAP)
        return; /* that is the mistake */
    gw_near_miss_init(&miss, gw_yaml_tree_text(node));
    for (size_t i = 0; i < settings->policy_count; i++) {
        if (strcmp(settings->policies[i].name, node->text) == 0) {
            *(size_t *)into = i;
            reader->policies[i].used = true;
            return;
        }
        gw_near_miss_offer(&miss, settings->policies[i].name);
    }
    gw_complain(reader, node, "\"policy\": there is no policy \"%s\" under policies%s",
                gw_reader_show(node, shown), gw_near_miss_print(&miss, hint));
}

/* ---- identify, audit ------------------------------------------------------------------------ */

static const struct gw_word factor_words[] = { { "listener", 0 },
                                               { "source", GW_WORD_LATER },
                                               { "token", GW_WORD_LATER },
                                               { "client_cert", GW_WORD_LATER },
                                               { NULL, 0 } };
static const struct gw_word audit_words[] = { { "drop", 0 },
                                              { "refuse", GW_WORD_LATER },
                                              { NULL, 0 } };
static const struct gw_shape factor_shape = { .form = GW_FORM_WORD, .words = factor_words };
static const struct gw_shape identify_shape = { .form = GW_FORM_LIST,
                                                .item = &factor_shape,
                                                .min = 1 };
static const struct gw_shape audit_shape = { .form = GW_FORM_WORD, .words = audit_words };

static void read_identify(struct gw_reader *reader, const struct gw_key *key,
                          const struct gw_yaml_node *node, void *into)
{
    int only, known = 0;
    (void)into; /* who reaches the listener is all that this version can tell */
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        known += gw_scalar_word(reader, key->name, &factor_shape, gw_yaml_tree_value(at), &only);
    if (known > 1)
        gw_complain(reader, node, "\"identify\": name listener once");
}

static void read_audit(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    int only;
    (void)into;
    gw_scalar_word(reader, key->name, key->shape, node, &only);
}

/* ---- limits --------------------------------------------------------------------------------- */

static const struct gw_shape count_shape = { .form = GW_FORM_NUMBER, .min = 0, .max = 1000000 };
static const struct gw_shape lifetime_shape = { .form = GW_FORM_NUMBER, .min = 0, .max = 31536000 };

/* clang-format off */
#define AT(field) offsetof(struct gw_settings_network, field)
static const struct gw_key limit_keys[] = {
    { "tunnels", gw_read_number32, AT(max_tunnels), &count_shape, "0",
      "tunnels that are open at the same time, in all processes together; 0: no limit", 0 },
    { "connections", gw_read_number32, AT(max_connections), &count_shape, "0",
      "client connections at the same time, in all processes together; 0: no limit", 0 },
    { "lifetime_s", gw_read_number64, AT(lifetime_s), &lifetime_shape, "0",
      "a tunnel is closed after so long, busy or not; 0: no limit", 0 },
    { .name = "bytes_up" },
    { .name = "bytes_down" },
    { .name = NULL },
};
#undef AT
/* clang-format on */
static const struct gw_shape limits_shape = { .form = GW_FORM_MAP, .keys = limit_keys };

static void read_limits(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    gw_reader_map(reader, key->name, limit_keys, node, into);
}

/* ---- networks ------------------------------------------------------------------------------- */

/* clang-format off */
const struct gw_key gw_network_keys[] = {
    { "listen", read_listen, 0, &listen_shape, NULL,
      "where clients reach the proxy", GW_KEY_REQUIRED },
    { "policy", read_policy, offsetof(struct gw_settings_network, policy), &gw_shape_name, NULL,
      "the policy of whoever reaches it", GW_KEY_REQUIRED },
    { "identify", read_identify, 0, &identify_shape, "[\"listener\"]",
      "how a client is told from others: by the listener that it reaches", 0 },
    { "limits", read_limits, 0, &limits_shape, NULL, "limits of this network", 0 },
    { "audit", read_audit, 0, &audit_shape, "drop",
      "when the queue of audit records is full: `drop` counts what is lost, and goes on", 0 },
    { .name = "tls" },
    { .name = "proxy_protocol" },
    { .name = NULL },
};
/* clang-format on */

void gw_read_networks(struct gw_reader *reader, const struct gw_yaml_node *node)
{
    struct gw_settings *settings = reader->settings;
    if (node->kind != GW_YAML_MAP) {
        gw_complain(reader, node, "\"networks\": expected names, and what each is");
        return;
    }
    settings->networks = gw_reader_array(reader, node, node->length, sizeof *settings->networks);
    if (settings->networks == NULL)
        return;
    for (const struct gw_yaml_node *name = node->first; name != NULL; name = name->next->next) {
        struct gw_settings_network *out = &settings->networks[settings->network_count];
        if ((out->name = gw_reader_copy(reader, name, name->text)) == NULL)
            return;
        settings->network_count++;
        out->line = name->line;
        out->column = name->column;
        bool named = gw_reader_name(reader, "network", name);
        gw_reader_map(reader, named ? out->name : "network", gw_network_keys,
                      gw_yaml_tree_value(name->next), out);
    }
}
