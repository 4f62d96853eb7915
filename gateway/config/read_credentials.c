/* gateway/config/read_credentials.c - the keys under `credentials`: where values come from, and
 * into which header of which host they go. The values themselves are not read here. */
#include <stdlib.h>

#include "gateway/config/read.h"
#include "gateway/config/scalars.h"

/* ---- header --------------------------------------------------------------------------------- */

/* RFC 9110 5.6.2 */
static const char token_bytes[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";

/* Fields that say how a message is framed, routed or relayed: a credential there would change the
 * request instead of accompanying it. All of proxy-* beside these. */
static const char *const forbidden_headers[] = {
    "host",    "content-length", "transfer-encoding", "connection", "te", "trailer",
    "upgrade", "expect",         "keep-alive",        "via",
};

static const struct gw_shape header_shape = {
    .form = GW_FORM_TEXT,
    .is = "header name",
    .pattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
};

static bool is_forbidden(const char *header)
{
    for (size_t i = 0; i < GW_COUNT(forbidden_headers); i++)
        if (strcmp(header, forbidden_headers[i]) == 0)
            return true;
    return strncmp(header, "proxy-", 6) == 0;
}

static void read_header(struct gw_reader *reader, const struct gw_key *key,
                        const struct gw_yaml_node *node, void *into)
{
    char **out = into, shown[GW_SHOWN];
    if (!gw_reader_text(reader, key->name, node)
        || (*out = gw_reader_copy(reader, node, node->text)) == NULL)
        return;
    for (char *at = *out; *at != '\0'; at++)
        *at = gw_lower(*at);
    if (strspn(*out, token_bytes) != node->length || node->length > 128)
        gw_complain(reader, node, "\"header\": \"%s\" is not a header name",
                    gw_reader_show(node, shown));
    else if (is_forbidden(*out))
        gw_complain(
            reader, node,
            "\"header\": \"%s\" says how a message is framed or relayed, and cannot carry a "
            "credential",
            gw_reader_show(node, shown));
}

/* ---- host, scheme, user --------------------------------------------------------------------- */

static const struct gw_word scheme_words[] = { { "raw", GW_SCHEME_RAW },
                                               { "bearer", GW_SCHEME_BEARER },
                                               { "basic", GW_SCHEME_BASIC },
                                               { NULL, 0 } };
static const struct gw_shape scheme_shape = { .form = GW_FORM_WORD, .words = scheme_words };
static const struct gw_shape user_shape = { .form = GW_FORM_TEXT,
                                            .is = "user name",
                                            .pattern = "^[^:]+$" };

static void read_host(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    struct gw_host_pattern pattern;
    if (gw_scalar_host(reader, key->name, node, &pattern))
        gw_read_text(reader, key, node, into);
}

/* RFC 7617 2: the first colon ends the user name, and control characters have no place. */
static void read_user(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    if (!gw_reader_text(reader, key->name, node))
        return;
    for (const char *at = node->text; *at != '\0'; at++)
        if (*at == ':' || (unsigned char)*at < 0x20) {
            gw_complain(reader, node,
                        "\"user\": a user name has no \":\" and no control characters (RFC 7617)");
            return;
        }
    gw_read_text(reader, key, node, into);
}

/* ---- value ---------------------------------------------------------------------------------- */

static const struct gw_shape env_shape = { .form = GW_FORM_TEXT,
                                           .is = "variable name",
                                           .pattern = "^[A-Za-z_][A-Za-z0-9_]*$" };

static void take_source(struct gw_reader *reader, const struct gw_yaml_node *node,
                        struct gw_settings_credential *out, enum gw_credential_source_kind kind)
{
    if (out->source_name != NULL)
        gw_complain(reader, node, "\"value\": give one of env and file, not both");
    free(out->source_name);
    out->source = kind;
    out->source_name = gw_reader_copy(reader, node, node->text);
}

/* What stands here may be the secret itself, by mistake: it is not repeated. */
static void read_env(struct gw_reader *reader, const struct gw_key *key,
                     const struct gw_yaml_node *node, void *into)
{
    static const char bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    if (!gw_reader_text(reader, key->name, node))
        return;
    if (strspn(node->text, bytes) != node->length || strchr("0123456789", node->text[0]) != NULL)
        gw_complain(reader, node,
                    "\"env\": not the name of a variable (the value itself does not belong here)");
    else
        take_source(reader, node, into, GW_SOURCE_ENV);
}

static void read_file(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    if (!gw_reader_text(reader, key->name, node))
        return;
    if (node->text[0] != '/')
        gw_complain(reader, node,
                    "\"file\": expected a path that begins with \"/\" (the value itself does not "
                    "belong here)");
    else if (gw_scalar_path(reader, key->name, node))
        take_source(reader, node, into, GW_SOURCE_FILE);
}

/* clang-format off */
static const struct gw_key value_keys[] = {
    { "env", read_env, 0, &env_shape, NULL,
      "the environment variable that holds it; read once at start, and wiped", 0 },
    { "file", read_file, 0, &gw_shape_path, NULL,
      "the file that holds it; read at start and on each reload, one line end at its end is dropped", 0 },
    { .name = "command" },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape value_shape = {
    .form = GW_FORM_MAP, .keys = value_keys, .min = 1, .max = 1
};

static void read_value(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    struct gw_settings_credential *out = into;
    out->line = node->line;
    out->column = node->column;
    if (node->kind == GW_YAML_TEXT && !gw_yaml_tree_is_null(node)) {
        gw_complain(reader, node,
                    "\"value\": a secret does not stand in this file; say where it is, as in "
                    "{ env: NAME } or { file: /path }");
        return;
    }
    if (gw_reader_map(reader, key->name, value_keys, node, out) && out->source_name == NULL)
        gw_complain(reader, node, "\"value\": give one of env and file");
}

/* ---- credentials ---------------------------------------------------------------------------- */

/* clang-format off */
#define AT(field) offsetof(struct gw_settings_credential, field)
const struct gw_key gw_credential_keys[] = {
    { "host", read_host, AT(host), &gw_shape_host, NULL,
      "the hosts that may be sent it: a name, or `.suffix`", GW_KEY_REQUIRED },
    { "header", read_header, AT(header), &header_shape, NULL,
      "the header that carries it; whatever the client sent there is replaced", GW_KEY_REQUIRED },
    { "scheme", gw_read_word, AT(scheme), &scheme_shape, "raw",
      "`raw`: the value as it is; `bearer`: `Bearer VALUE`; `basic`: `Basic` and base64 of `user:VALUE`", 0 },
    { "user", read_user, AT(user), &user_shape, NULL,
      "the user name of `scheme: basic`", 0 },
    { "value", read_value, 0, &value_shape, NULL,
      "where the secret is", GW_KEY_REQUIRED },
    { "allow_plaintext", gw_read_flag, AT(allow_plaintext), &gw_shape_flag, "false",
      "may be sent over plain HTTP, to a host in `plaintext_upstream`", 0 },
    { .name = "refresh_s" },
    { .name = NULL },
};
#undef AT
/* clang-format on */

static bool read_one(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                     struct gw_settings_credential *out)
{
    if (!gw_reader_map(reader, what, gw_credential_keys, node, out))
        return false;
    const struct gw_yaml_node *user = gw_yaml_tree_find(node, "user");
    if (user == NULL && out->scheme == GW_SCHEME_BASIC)
        gw_complain(reader, node, "\"%s\": scheme basic needs the key \"user\"", what);
    else if (user != NULL && out->scheme != GW_SCHEME_BASIC)
        gw_complain(reader, user, "\"user\": only scheme basic has one");
    else
        return true;
    return false;
}

void gw_read_credentials(struct gw_reader *reader, const struct gw_yaml_node *node)
{
    struct gw_settings *settings = reader->settings;
    if (node->kind != GW_YAML_MAP) {
        gw_complain(reader, node, "\"credentials\": expected names, and what each is");
        return;
    }
    settings->credentials =
        gw_reader_array(reader, node, node->length, sizeof *settings->credentials);
    reader->credentials = gw_reader_array(reader, node, node->length, sizeof *reader->credentials);
    if (settings->credentials == NULL || reader->credentials == NULL)
        return;
    for (const struct gw_yaml_node *name = node->first; name != NULL; name = name->next->next) {
        size_t index = settings->credential_count;
        struct gw_settings_credential *out = &settings->credentials[index];
        if ((out->name = gw_reader_copy(reader, name, name->text)) == NULL)
            return;
        settings->credential_count++;
        bool named = gw_reader_name(reader, "credential", name);
        reader->credentials[index].name = name;
        reader->credentials[index].whole =
            read_one(reader, named ? out->name : "credential", gw_yaml_tree_value(name->next), out)
            && named;
    }
}
