/* gateway/config/read_gateway.c - the keys under `gateway`, but for gateway.dns (read_dns.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "gateway/common/counters.h"
#include "gateway/config/ca_file.h"
#include "gateway/config/read.h"
#include "gateway/config/scalars.h"

/* ---- who and where -------------------------------------------------------------------------- */

static const struct gw_word auto_word[] = { { "auto", 0 }, { NULL, 0 } };
static const struct gw_shape processes_shape = {
    .form = GW_FORM_NUMBER, .min = 1, .max = GW_PROCESSES_MAX, .words = auto_word
};
static const struct gw_shape user_shape = { .form = GW_FORM_TEXT,
                                            .is = "user name, or auto",
                                            .pattern = "^[a-z_][a-z0-9_-]{0,31}$" };

static bool is_user_name(const char *text)
{
    static const char later[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strlen(text);
    return length >= 1 && length <= 32 && strspn(text, later) == length
           && strchr("0123456789-", text[0]) == NULL;
}

static void read_user(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, key->name, node) || strcmp(node->text, "auto") == 0)
        return;
    if (strcmp(node->text, "nobody") == 0 || strcmp(node->text, "root") == 0)
        gw_complain(reader, node,
                    "\"user\": the proxies do not run as %s, which %s; write auto, or a user made "
                    "for them",
                    node->text,
                    node->text[0] == 'n' ? "is shared with others" : "they must not be");
    else if (!is_user_name(node->text))
        gw_complain(reader, node, "\"user\": \"%s\" is not a user name; write auto, or a name",
                    gw_reader_show(node, shown));
    else
        gw_read_text(reader, key, node, into);
}

/* ---- log ------------------------------------------------------------------------------------ */

static const struct gw_word format_words[] = { { "json", 0 }, { NULL, 0 } };
static const struct gw_word level_words[] = { { "error", GW_LOG_ERROR },
                                              { "warning", GW_LOG_WARNING },
                                              { "info", GW_LOG_INFO },
                                              { "debug", GW_LOG_DEBUG },
                                              { NULL, 0 } };
static const struct gw_shape access_shape = { .form = GW_FORM_TEXT,
                                              .is = "\"-\", off, or absolute path",
                                              .pattern = "^(-|off|/.*)$" };
static const struct gw_shape running_shape = { .form = GW_FORM_TEXT,
                                               .is = "\"-\" or absolute path",
                                               .pattern = "^(-|/.*)$" };
static const struct gw_shape format_shape = { .form = GW_FORM_WORD, .words = format_words };
static const struct gw_shape level_shape = { .form = GW_FORM_WORD, .words = level_words };

static void read_log_target(struct gw_reader *reader, const struct gw_key *key,
                            const struct gw_yaml_node *node, void *into)
{
    if (node->kind == GW_YAML_TEXT && strcmp(node->text, "-") == 0)
        gw_read_text(reader, key, node, into);
    else
        gw_read_path(reader, key, node, into);
}

static void read_access(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    char **out = into;
    if (node->kind != GW_YAML_TEXT || strcmp(node->text, "off") != 0) {
        read_log_target(reader, key, node, into);
        return;
    }
    free(*out);
    *out = NULL;
}

static void read_format(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    int only;
    (void)into; /* there is one */
    gw_scalar_word(reader, key->name, key->shape, node, &only);
}

/* clang-format off */
static const struct gw_key log_keys[] = {
    { "access", read_access, offsetof(struct gw_settings, log.access), &access_shape, "\"-\"",
      "where the access log goes, one line a request: `-` is standard output, `off` is nowhere", 0 },
    { "running", read_log_target, offsetof(struct gw_settings, log.running), &running_shape, "\"-\"",
      "where the gateway's own messages go: `-` is standard error", 0 },
    { "format", read_format, 0, &format_shape, "json",
      "of the access log", 0 },
    { "level", gw_read_word, offsetof(struct gw_settings, log.level), &level_shape, "info",
      "the least important message that is still logged", 0 },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape log_shape = { .form = GW_FORM_MAP, .keys = log_keys };

/* ---- tls ------------------------------------------------------------------------------------ */

static const struct gw_word version_words[] = { { "1.2", 0 }, { "1.3", 1 }, { NULL, 0 } };
static const struct gw_shape version_shape = { .form = GW_FORM_WORD, .words = version_words };

static void read_ca_file(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    struct gw_error err = GW_ERROR_NONE;
    if (gw_scalar_path(reader, key->name, node)
        && !gw_ca_file_add(reader->settings, node->text, into, &err))
        gw_complain(reader, node, "\"%s\": %s", key->name, err.text);
}

static void read_min_version(struct gw_reader *reader, const struct gw_key *key,
                             const struct gw_yaml_node *node, void *into)
{
    int value;
    if (gw_scalar_word(reader, key->name, key->shape, node, &value))
        *(bool *)into = value == 1;
}

/* clang-format off */
static const struct gw_key tls_keys[] = {
    { "ca_file", read_ca_file, offsetof(struct gw_settings, tls.ca), &gw_shape_path,
      "/etc/ssl/certs/ca-certificates.crt",
      "CA certificates (PEM) that upstream servers are verified with", 0 },
    { "min_version", read_min_version, offsetof(struct gw_settings, tls.min_tls13), &version_shape,
      "\"1.2\"", "lowest TLS version towards upstream servers", 0 },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape tls_shape = { .form = GW_FORM_MAP, .keys = tls_keys };

/* ---- limits --------------------------------------------------------------------------------- */

static const struct gw_shape limit_shapes[] = {
#define GW_LIMIT(name, key, def, low, high, text) \
    { .form = GW_FORM_NUMBER,                     \
      .min = low,                                 \
      .max = high,                                \
      .words = GW_LIMIT_##name == GW_LIMIT_CONNECTIONS ? auto_word : NULL },
#include "gateway/common/limit_table.h"
#undef GW_LIMIT
};

/* A number that was asked for in so many words is met, or refused. A client connection needs its
 * own descriptor and its upstream's; the rest is listeners, logs, the pool. */
static void check_descriptors(struct gw_reader *reader, const struct gw_yaml_node *node,
                              uint64_t connections)
{
    uint64_t needed = 2 * connections + 100;
    if (connections > 0 && needed > reader->sources->descriptor_limit)
        gw_complain(reader, node,
                    "\"connections\": %" PRIu64 " connections need %" PRIu64 " descriptors, and "
                    "the hard limit is %" PRIu64 "; raise it (LimitNOFILE=, ulimit -Hn), or write "
                    "auto",
                    connections, needed, reader->sources->descriptor_limit);
}

static void read_limit(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    uint64_t number;
    if (!gw_scalar_number(reader, key->name, key->shape, node, &number))
        return;
    *(uint64_t *)into = number;
    if (key->shape == &limit_shapes[GW_LIMIT_CONNECTIONS])
        check_descriptors(reader, node, number);
}

static const struct gw_key limit_keys[] = {
#define GW_LIMIT(name_, key_, def_, low_, high_, text_)                     \
    { .name = key_,                                                         \
      .read = read_limit,                                                   \
      .offset = GW_LIMIT_##name_ * sizeof(uint64_t),                        \
      .shape = &limit_shapes[GW_LIMIT_##name_],                             \
      .initial = GW_LIMIT_##name_ == GW_LIMIT_CONNECTIONS ? "auto" : #def_, \
      .text = text_ },
#include "gateway/common/limit_table.h"
#undef GW_LIMIT
    { .name = NULL },
};
static const struct gw_shape limits_shape = { .form = GW_FORM_MAP, .keys = limit_keys };

static void read_limits(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    struct gw_limits *limits = into;
    gw_reader_map(reader, key->name, limit_keys, node, limits->value);
    const struct gw_yaml_node *line = gw_yaml_tree_find(node, "request_line_bytes");
    if (line != NULL && gw_limit(limits, REQUEST_LINE_BYTES) > gw_limit(limits, HEAD_BYTES))
        gw_complain(reader, line,
                    "\"request_line_bytes\": the request line is part of the head, and head_bytes "
                    "is %" PRIu64,
                    gw_limit(limits, HEAD_BYTES));
}

/* ---- deny_cidrs ----------------------------------------------------------------------------- */

static void read_deny_cidrs(struct gw_reader *reader, const struct gw_key *key,
                            const struct gw_yaml_node *node, void *into)
{
    struct gw_settings *settings = into;
    if (!gw_reader_list(reader, key, node))
        return;
    settings->deny_cidrs =
        gw_reader_array(reader, node, node->length, sizeof *settings->deny_cidrs);
    if (settings->deny_cidrs == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        if (gw_scalar_cidr(reader, key->name, gw_yaml_tree_value(at),
                           &settings->deny_cidrs[settings->deny_cidr_count]))
            settings->deny_cidr_count++;
}

/* ---- gateway -------------------------------------------------------------------------------- */

static void read_group(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    gw_reader_map(reader, key->name, key->shape->keys, node, into);
}

/* clang-format off */
const struct gw_key gw_gateway_keys[] = {
    { "processes", gw_read_number32, offsetof(struct gw_settings, processes), &processes_shape, "auto",
      "proxy processes; auto: one a CPU", 0 },
    { "user", read_user, offsetof(struct gw_settings, user), &user_shape, "auto",
      "who the proxies run as, when the gateway is started as root; auto: a user id that nobody has", 0 },
    { "state_dir", gw_read_path, offsetof(struct gw_settings, state_dir), &gw_shape_path, NULL,
      "directory for what must outlive a restart; none without the key", 0 },
    { "log", read_group, 0, &log_shape, NULL, "logs", 0 },
    { "dns", gw_read_dns, 0, &gw_dns_shape, NULL, "how names are resolved", 0 },
    { "tls", read_group, 0, &tls_shape, NULL, "TLS towards upstream servers", 0 },
    { "limits", read_limits, offsetof(struct gw_settings, limits), &limits_shape, NULL,
      "limits of each proxy process", 0 },
    { "deny_cidrs", read_deny_cidrs, 0, &gw_shape_cidrs, "[]",
      "address ranges that no policy may reach, whatever else says yes", 0 },
    { .name = "command_user" },
    { .name = "confinement" },
    { .name = "admin" },
    { .name = "metrics" },
    { .name = NULL },
};
/* clang-format on */

static void add_default_ca(struct gw_reader *reader, const struct gw_yaml_node *at)
{
    struct gw_error err = GW_ERROR_NONE;
    const char *path = reader->sources->ca_file;
    if (!gw_ca_file_add(reader->settings, path, &reader->settings->tls.ca, &err))
        gw_complain(reader, at,
                    "%s; install the package ca-certificates, or name a bundle with "
                    "gateway.tls.ca_file",
                    err.text);
}

void gw_read_gateway(struct gw_reader *reader, const struct gw_yaml_node *node)
{
    const struct gw_yaml_node *at = node == NULL ? reader->root : node;
    const struct gw_yaml_node *dns = gw_yaml_tree_find(at, "dns");
    const struct gw_yaml_node *tls = gw_yaml_tree_find(at, "tls");
    if (node != NULL)
        gw_reader_map(reader, "gateway", gw_gateway_keys, node, reader->settings);
    if (dns == NULL || gw_yaml_tree_find(dns, "servers") == NULL)
        gw_read_dns_defaults(reader, dns == NULL ? at : dns);
    if (tls == NULL || gw_yaml_tree_find(tls, "ca_file") == NULL)
        add_default_ca(reader, tls == NULL ? at : tls);
}
