#define _GNU_SOURCE /* strdup */
#include "gateway/config/config.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "gateway/config/file_text.h"
#include "gateway/config/read.h"
#include "gateway/config/scalars.h"

/* ---- the root ------------------------------------------------------------------------------- */

static void read_version(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    char shown[GW_SHOWN];
    (void)into;
    if (node->kind != GW_YAML_TEXT || !node->plain || strcmp(node->text, "1") != 0)
        gw_complain(reader, node, "\"%s\": this gateway reads version 1%s%s%s", key->name,
                    node->kind != GW_YAML_TEXT ? ""
                    : node->plain              ? ", not "
                                               : ", not the text ",
                    node->kind != GW_YAML_TEXT ? "" : gw_reader_show(node, shown),
                    node->kind != GW_YAML_TEXT ? ", a number" : "");
}

static void read_gateway(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    (void)key, (void)into;
    gw_read_gateway(reader, node);
}

static void read_credentials(struct gw_reader *reader, const struct gw_key *key,
                             const struct gw_yaml_node *node, void *into)
{
    (void)key, (void)into;
    gw_read_credentials(reader, node);
}

static void read_policies(struct gw_reader *reader, const struct gw_key *key,
                          const struct gw_yaml_node *node, void *into)
{
    (void)key, (void)into;
    gw_read_policies(reader, node);
}

static void read_networks(struct gw_reader *reader, const struct gw_key *key,
                          const struct gw_yaml_node *node, void *into)
{
    (void)key, (void)into;
    gw_read_networks(reader, node);
}

static const struct gw_shape version_shape = { .form = GW_FORM_NUMBER, .min = 1, .max = 1 };
static const struct gw_shape gateway_shape = { .form = GW_FORM_MAP, .keys = gw_gateway_keys };
static const struct gw_shape credential_shape = { .form = GW_FORM_MAP, .keys = gw_credential_keys };
static const struct gw_shape policy_shape = { .form = GW_FORM_MAP, .keys = gw_policy_keys };
static const struct gw_shape network_shape = { .form = GW_FORM_MAP, .keys = gw_network_keys };
static const struct gw_shape credentials_shape = { .form = GW_FORM_NAMED,
                                                   .is = "credential name",
                                                   .pattern = GW_NAME_PATTERN,
                                                   .item = &credential_shape };
static const struct gw_shape policies_shape = {
    .form = GW_FORM_NAMED, .is = "policy name", .pattern = GW_NAME_PATTERN, .item = &policy_shape
};
static const struct gw_shape networks_shape = { .form = GW_FORM_NAMED,
                                                .is = "network name",
                                                .pattern = GW_NAME_PATTERN,
                                                .min = 1,
                                                .item = &network_shape };

/* clang-format off */
const struct gw_key gw_root_keys[] = {
    { "version", read_version, 0, &version_shape, NULL,
      "of this format", GW_KEY_REQUIRED },
    { "gateway", read_gateway, 0, &gateway_shape, NULL,
      "the gateway itself: processes, logs, name servers, limits", 0 },
    { "credentials", read_credentials, 0, &credentials_shape, NULL,
      "secrets that the gateway puts into requests, so that sandboxes need not hold them", 0 },
    { "policies", read_policies, 0, &policies_shape, NULL,
      "what may be reached", 0 },
    { "networks", read_networks, 0, &networks_shape, NULL,
      "where the proxy listens, and which policy holds there", GW_KEY_REQUIRED },
    { .name = "plugins" },
    { .name = NULL },
};
/* clang-format on */

/* ---- loading -------------------------------------------------------------------------------- */

void gw_config_sources_init(struct gw_config_sources *sources)
{
    struct rlimit limit;
    *sources = (struct gw_config_sources){
        .resolv_conf = "/etc/resolv.conf",
        .ca_file = "/etc/ssl/certs/ca-certificates.crt",
        .descriptor_limit = UINT64_MAX,
    };
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
        sources->descriptor_limit = limit.rlim_max;
}

static bool set_defaults(struct gw_settings *settings, const char *path)
{
    settings->path = strdup(path);
    settings->log.access = strdup("-");
    settings->log.running = strdup("-");
    settings->log.level = GW_LOG_INFO;
    settings->dns.timeout_ms = 2000;
    settings->dns.tries = 2;
    settings->dns.deadline_ms = 5000;
    settings->dns.max_ttl_s = 300;
    settings->dns.resolution_delay_ms = 50;
    gw_limits_init(&settings->limits);
    return settings->path != NULL && settings->log.access != NULL && settings->log.running != NULL;
}

static void read_root(struct gw_reader *reader)
{
    if (reader->root->kind != GW_YAML_MAP) {
        gw_complain(reader, reader->root,
                    "a configuration is a mapping; it begins with \"version: 1\"");
        return;
    }
    if (gw_yaml_tree_find(reader->root, "gateway") == NULL)
        gw_read_gateway(reader, NULL);
    gw_reader_map(reader, NULL, gw_root_keys, reader->root, reader->settings);
    gw_cross_check(reader);
}

struct gw_settings *gw_config_parse_with(const char *path, struct gw_slice yaml,
                                         const struct gw_config_sources *sources,
                                         struct gw_config_errors *errors)
{
    gw_config_errors_init(errors, path);
    struct gw_settings *settings = calloc(1, sizeof *settings), *result = NULL;
    struct gw_yaml_tree *tree = NULL;
    struct gw_reader reader = { .settings = settings, .errors = errors, .sources = sources };
    if (settings == NULL || !set_defaults(settings, path)) {
        gw_config_errors_add(errors, 0, 0, "out of memory");
        goto out;
    }
    tree = gw_yaml_tree_parse(yaml, errors);
    if (tree == NULL)
        goto out;
    reader.root = gw_yaml_tree_root(tree);
    read_root(&reader);
    if (gw_config_errors_any(errors))
        goto out;
    result = settings;
    settings = NULL; /* handed over to the caller */
out:
    gw_yaml_tree_free(tree);
    free(reader.credentials);
    free(reader.policies);
    gw_settings_free(settings);
    return result;
}

struct gw_settings *gw_config_parse(const char *path, struct gw_slice yaml,
                                    struct gw_config_errors *errors)
{
    struct gw_config_sources sources;
    gw_config_sources_init(&sources);
    return gw_config_parse_with(path, yaml, &sources, errors);
}

struct gw_settings *gw_config_load(const char *path, struct gw_config_errors *errors)
{
    struct gw_error err = GW_ERROR_NONE;
    char *text;
    size_t length;
    if (!gw_file_text_read(path, GW_YAML_BYTES_MAX, &text, &length, &err)) {
        gw_config_errors_init(errors, path);
        gw_config_errors_add(errors, 0, 0, "%s", err.text);
        return NULL;
    }
    struct gw_settings *settings = gw_config_parse(path, (struct gw_slice){ text, length }, errors);
    free(text);
    return settings;
}
