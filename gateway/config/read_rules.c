/* gateway/config/read_rules.c - the rules of a policy: methods and paths of a host. */
#include <stdlib.h>

#include "gateway/config/policy_draft.h"
#include "gateway/config/scalars.h"
#include "policy/path_rule.h"

struct rule {
    const struct gw_yaml_node *host;
    int encoded_slash;             /* 1: allowed */
    const char **methods, **paths; /* owned; the text is the tree's */
    size_t method_count, path_count;
};

static void read_host(struct gw_reader *reader, const struct gw_key *key,
                      const struct gw_yaml_node *node, void *into)
{
    struct gw_host_pattern pattern;
    if (gw_scalar_host(reader, key->name, node, &pattern))
        ((struct rule *)into)->host = node;
}

/* ---- methods -------------------------------------------------------------------------------- */

static const struct gw_shape method_shape = { .form = GW_FORM_TEXT,
                                              .is = "method",
                                              .pattern = "^[!#$%&'*+.^_`|~0-9A-Z-]+$" };
static const struct gw_shape methods_shape = { .form = GW_FORM_LIST,
                                               .item = &method_shape,
                                               .min = 1 };

/* Methods are case-sensitive (RFC 9110 9.1), and all that are in use are upper case: a rule for
 * "get" would never match. */
static bool check_method(struct gw_reader *reader, const struct gw_yaml_node *node)
{
    static const char bytes[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char shown[GW_SHOWN];
    if (!gw_reader_text(reader, "methods", node))
        return false;
    if (strspn(node->text, bytes) != node->length)
        gw_complain(reader, node, "\"methods\": \"%s\" is not a method in upper case",
                    gw_reader_show(node, shown));
    else if (strcmp(node->text, "CONNECT") == 0)
        gw_complain(reader, node,
                    "\"methods\": CONNECT asks for a tunnel, which a host with a rule never gets");
    else if (strcmp(node->text, "TRACE") == 0 || strcmp(node->text, "TRACK") == 0)
        gw_complain(reader, node, "\"methods\": %s is never relayed", node->text);
    else
        return true;
    return false;
}

static void read_methods(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into)
{
    struct rule *rule = into;
    if (!gw_reader_list(reader, key, node)
        || (rule->methods = gw_reader_array(reader, node, node->length, sizeof *rule->methods))
               == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        if (check_method(reader, gw_yaml_tree_value(at)))
            rule->methods[rule->method_count++] = gw_yaml_tree_value(at)->text;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static const struct gw_shape path_shape = { .form = GW_FORM_TEXT,
                                            .is = "path prefix",
                                            .pattern = "^/[^?#]*$" };
static const struct gw_shape paths_shape = { .form = GW_FORM_LIST, .item = &path_shape, .min = 1 };

static bool check_path(struct gw_reader *reader, const struct rule *rule,
                       const struct gw_yaml_node *node)
{
    char shown[GW_SHOWN];
    const char *wrong = NULL;
    if (!gw_reader_text(reader, "paths", node))
        return false;
    if (node->text[0] != '/')
        wrong = "a path begins with \"/\"";
    else if (strpbrk(node->text, "?#") != NULL)
        wrong = "a rule looks at the path alone, not at a query or fragment";
    for (size_t i = 0; i < node->length; i++) {
        unsigned char byte = (unsigned char)node->text[i];
        if (byte < 0x21 || byte > 0x7e)
            wrong = "a path has no blanks, control characters or letters beyond ASCII; write "
                    "them as %XX";
    }
    if (wrong == NULL && gw_path_is_ambiguous(gw_yaml_tree_text(node), rule->encoded_slash == 1))
        wrong = "this path can be read in two ways (dot segments, empty segments, a backslash, an "
                "encoded slash), so that requests for it are always refused";
    if (wrong != NULL)
        gw_complain(reader, node, "\"paths\": \"%s\": %s", gw_reader_show(node, shown), wrong);
    return wrong == NULL;
}

static void read_paths(struct gw_reader *reader, const struct gw_key *key,
                       const struct gw_yaml_node *node, void *into)
{
    struct rule *rule = into;
    if (!gw_reader_list(reader, key, node)
        || (rule->paths = gw_reader_array(reader, node, node->length, sizeof *rule->paths)) == NULL)
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next)
        if (check_path(reader, rule, gw_yaml_tree_value(at)))
            rule->paths[rule->path_count++] = gw_yaml_tree_value(at)->text;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static const struct gw_word slash_words[] = { { "refuse", 0 }, { "allow", 1 }, { NULL, 0 } };
static const struct gw_shape slash_shape = { .form = GW_FORM_WORD, .words = slash_words };

/* clang-format off */
static const struct gw_key rule_keys[] = {
    { "host", read_host, 0, &gw_shape_host, NULL,
      "the hosts that the rule is for: a name, `.suffix`, or an address", GW_KEY_REQUIRED },
    { "methods", read_methods, 0, &methods_shape, NULL,
      "methods that it admits, in upper case; any without the key", 0 },
    { "encoded_slash", gw_read_word, offsetof(struct rule, encoded_slash), &slash_shape, "refuse",
      "whether `%2F` may stand in a path; some registries need it", 0 },
    { "paths", read_paths, 0, &paths_shape, NULL,
      "path prefixes that it admits; any without the key. `/v1` admits `/v1` and what lies below, "
      "`/v1/` only what lies below", 0 },
    { .name = NULL },
};
/* clang-format on */
static const struct gw_shape rule_shape = { .form = GW_FORM_MAP, .keys = rule_keys };
const struct gw_shape gw_shape_rules = { .form = GW_FORM_LIST, .item = &rule_shape };

void gw_read_rules(struct gw_reader *reader, const struct gw_key *key,
                   const struct gw_yaml_node *node, void *into)
{
    struct gw_policy_draft *draft = into;
    if (!gw_reader_list(reader, key, node))
        return;
    for (const struct gw_yaml_node *at = node->first; at != NULL; at = at->next) {
        struct rule rule = { .host = NULL };
        struct gw_error err = GW_ERROR_NONE;
        if (gw_reader_map(reader, key->name, rule_keys, gw_yaml_tree_value(at), &rule)) {
            struct gw_rule_source source = {
                .methods = rule.methods,
                .method_count = rule.method_count,
                .paths = rule.paths,
                .path_count = rule.path_count,
                .allow_encoded_slash = rule.encoded_slash == 1,
            };
            if (!gw_image_builder_rule(draft->builder, gw_yaml_tree_text(rule.host), &source, &err))
                gw_complain(reader, rule.host, "\"%s\": %s", key->name, err.text);
        }
        free(rule.methods);
        free(rule.paths);
    }
}
