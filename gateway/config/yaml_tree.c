#include "gateway/config/yaml_tree.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/text.h"
#include "gateway/config/arena.h"
#include "gateway/config/yaml_text.h"

struct gw_yaml_tree {
    struct gw_arena memory;
    const struct gw_yaml_node *root;
};

struct anchor {
    char *name; /* in the tree */
    struct gw_yaml_node *node;
};

/* A list or mapping whose end has not come yet. */
struct open {
    struct gw_yaml_node *node, *last;
};

struct composer {
    yaml_parser_t parser;
    struct gw_slice yaml;
    struct gw_yaml_tree *tree;
    struct gw_config_errors *errors;
    struct anchor *anchors;
    size_t anchor_count, node_count, aliased;
    struct open open[GW_YAML_DEPTH_MAX];
    size_t depth;
};

void gw_yaml_tree_free(struct gw_yaml_tree *tree)
{
    if (tree != NULL)
        gw_arena_fini(&tree->memory);
    free(tree);
}

/* ---- errors --------------------------------------------------------------------------------- */

static bool refuse(struct composer *c, yaml_mark_t mark, const char *format, ...) GW_PRINTF(3, 4);
static bool refuse(struct composer *c, yaml_mark_t mark, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    gw_config_errors_addv(c->errors, (unsigned)mark.line + 1, (unsigned)mark.column + 1, format,
                          list);
    va_end(list);
    return false;
}

static bool refuse_syntax(struct composer *c)
{
    const yaml_parser_t *p = &c->parser;
    yaml_mark_t mark = p->problem_mark;
    const char *problem = p->problem == NULL ? "it cannot be read" : p->problem;
    const char *context = p->context == NULL ? "" : p->context;
    if (p->error == YAML_MEMORY_ERROR)
        return refuse(c, mark, "out of memory");
    if (p->error == YAML_READER_ERROR) { /* has an offset and no mark */
        unsigned line, column;
        gw_yaml_text_position(c->yaml, p->problem_offset, &line, &column);
        gw_config_errors_add(c->errors, line, column, "not valid YAML: %s", problem);
        return false;
    }
    char there = gw_yaml_text_at(c->yaml, (unsigned)mark.line + 1, (unsigned)mark.column + 1);
    if (there == '\t')
        return refuse(c, mark, "not valid YAML: a tab cannot stand here; indent with spaces");
    if (strcmp(context, "while scanning an alias") == 0)
        return refuse(c, p->context_mark,
                      "not valid YAML: \"*\" begins an alias; the entry for all names below a "
                      "domain is written .example.com");
    if (context[0] == '\0' || p->context_mark.line == mark.line)
        return refuse(c, mark, "not valid YAML: %s%s%s", problem, context[0] == '\0' ? "" : " ",
                      context);
    return refuse(c, mark, "not valid YAML: %s %s that began on line %zu", problem, context,
                  p->context_mark.line + 1);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static struct gw_yaml_node *new_node(struct composer *c, enum gw_yaml_kind kind, yaml_mark_t mark)
{
    if (++c->node_count > GW_YAML_NODES_MAX) {
        refuse(c, mark,
               "more than %d nodes; put long host lists into a file and name it with "
               "allowed_hosts_file",
               GW_YAML_NODES_MAX);
        return NULL;
    }
    struct gw_yaml_node *node = gw_arena_take(&c->tree->memory, sizeof *node);
    if (node == NULL) {
        refuse(c, mark, "out of memory");
        return NULL;
    }
    *node = (struct gw_yaml_node){
        .kind = kind,
        .line = (uint32_t)mark.line + 1,
        .column = (uint32_t)mark.column + 1,
        .weight = 1,
    };
    return node;
}

static bool is_key_next(const struct open *open)
{
    return open->node->kind == GW_YAML_MAP && open->node->weight % 2 == 1;
}

/* Hangs the node on the innermost open list or mapping. Until that is closed, its `weight` counts
 * members. */
static bool add_member(struct composer *c, struct gw_yaml_node *node, yaml_mark_t mark)
{
    if (c->depth == 0) {
        c->tree->root = node;
        return true;
    }
    struct open *open = &c->open[c->depth - 1];
    if (is_key_next(open)) {
        if (node->kind != GW_YAML_TEXT)
            return refuse(c, mark, "a key must be text");
        if (node->plain && strcmp(node->text, "<<") == 0)
            refuse(c, mark, "merge keys (<<) are not supported; write the keys out");
    }
    if (open->last == NULL)
        open->node->first = node;
    else
        open->last->next = node;
    open->last = node;
    open->node->weight++;
    return true;
}

static bool remember_anchor(struct composer *c, const yaml_char_t *name, struct gw_yaml_node *node,
                            yaml_mark_t mark)
{
    if (name == NULL)
        return true;
    for (size_t i = 0; i < c->anchor_count; i++)
        if (strcmp(c->anchors[i].name, (const char *)name) == 0)
            return refuse(c, mark, "anchor &%.64s is defined twice", (const char *)name);
    if (c->anchor_count == GW_YAML_ANCHORS_MAX)
        return refuse(c, mark, "more than %d anchors", GW_YAML_ANCHORS_MAX);
    if (c->anchors == NULL)
        c->anchors = calloc(GW_YAML_ANCHORS_MAX, sizeof *c->anchors);
    size_t length = strlen((const char *)name) + 1;
    char *copy = gw_arena_take(&c->tree->memory, length);
    if (c->anchors == NULL || copy == NULL)
        return refuse(c, mark, "out of memory");
    memcpy(copy, name, length);
    c->anchors[c->anchor_count++] = (struct anchor){ copy, node };
    return true;
}

static void complain_of_tag(struct composer *c, const yaml_char_t *tag, yaml_mark_t mark)
{
    if (tag != NULL)
        refuse(c, mark, "the tag %.64s has no meaning here; remove it", (const char *)tag);
}

/* ---- events --------------------------------------------------------------------------------- */

static bool on_alias(struct composer *c, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct gw_yaml_node *target = NULL, *node;
    for (size_t i = 0; i < c->anchor_count; i++)
        if (strcmp(c->anchors[i].name, name) == 0)
            target = c->anchors[i].node;
    if (target == NULL)
        return refuse(c, event->start_mark, "alias *%.64s: there is no anchor &%.64s before it",
                      name, name);
    for (size_t i = 0; i < c->depth; i++)
        if (c->open[i].node == target)
            return refuse(c, event->start_mark, "alias *%.64s refers to what it is a part of",
                          name);
    c->aliased += target->weight; /* both are bounded: no overflow */
    if (c->aliased > GW_YAML_ALIASED_MAX)
        return refuse(c, event->start_mark, "the aliases stand for more than %d nodes",
                      GW_YAML_ALIASED_MAX);
    if ((node = new_node(c, GW_YAML_ALIAS, event->start_mark)) == NULL)
        return false;
    node->first = target;
    node->weight = target->weight;
    return add_member(c, node, event->start_mark);
}

static bool on_scalar(struct composer *c, const yaml_event_t *event)
{
    size_t length = event->data.scalar.length;
    const char *value = (const char *)event->data.scalar.value;
    if (length > GW_YAML_TEXT_MAX)
        return refuse(c, event->start_mark, "text of more than %d bytes", GW_YAML_TEXT_MAX);
    if (memchr(value, '\0', length) != NULL)
        return refuse(c, event->start_mark, "text with a NUL character");
    struct gw_yaml_node *node = new_node(c, GW_YAML_TEXT, event->start_mark);
    if (node == NULL)
        return false;
    char *copy = gw_arena_take(&c->tree->memory, length + 1);
    if (copy == NULL)
        return refuse(c, event->start_mark, "out of memory");
    memcpy(copy, value, length);
    copy[length] = '\0';
    node->text = copy;
    node->length = (uint32_t)length;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    complain_of_tag(c, event->data.scalar.tag, event->start_mark);
    return remember_anchor(c, event->data.scalar.anchor, node, event->start_mark)
           && add_member(c, node, event->start_mark);
}

static bool on_open(struct composer *c, enum gw_yaml_kind kind, const yaml_char_t *anchor,
                    const yaml_char_t *tag, yaml_mark_t mark)
{
    if (c->depth == GW_YAML_DEPTH_MAX)
        return refuse(c, mark, "nested deeper than %d levels", GW_YAML_DEPTH_MAX);
    struct gw_yaml_node *node = new_node(c, kind, mark);
    complain_of_tag(c, tag, mark);
    if (node == NULL || !add_member(c, node, mark) || !remember_anchor(c, anchor, node, mark))
        return false;
    c->open[c->depth++] = (struct open){ .node = node };
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct gw_yaml_node *x = *(struct gw_yaml_node *const *)a;
    const struct gw_yaml_node *y = *(struct gw_yaml_node *const *)b;
    int order = strcmp(x->text, y->text);
    if (order == 0)
        order = x->line != y->line ? (x->line < y->line ? -1 : 1)
                                   : (x->column > y->column) - (x->column < y->column);
    return order;
}

/* Keys are unique (YAML 1.2.2, 3.2.1.3). Whichever of two a parser takes, a reader of the file
 * may have seen the other. */
static bool check_keys(struct composer *c, const struct gw_yaml_node *map, yaml_mark_t mark)
{
    size_t count = 0;
    if (map->length < 2)
        return true;
    const struct gw_yaml_node **keys = calloc(map->length, sizeof *keys);
    if (keys == NULL)
        return refuse(c, mark, "out of memory");
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a key is followed by its value */
    for (const struct gw_yaml_node *key = map->first; key != NULL; key = key->next->next)
        keys[count++] = key;
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (strcmp(keys[i]->text, keys[first]->text) != 0) {
            first = i;
            continue;
        }
        char shown[400];
        struct gw_text text;
        gw_text_init(&text, shown, sizeof shown);
        gw_text_add_json(&text, gw_yaml_tree_text(keys[i]), 64);
        if (keys[first]->line == keys[i]->line)
            gw_config_errors_add(c->errors, keys[i]->line, keys[i]->column,
                                 "key \"%s\" is given twice on line %u; keep one", shown,
                                 keys[i]->line);
        else
            gw_config_errors_add(c->errors, keys[i]->line, keys[i]->column,
                                 "key \"%s\" is given twice, on lines %u and %u; keep one", shown,
                                 keys[first]->line, keys[i]->line);
    }
    free(keys);
    return true;
}

static bool on_close(struct composer *c, yaml_mark_t mark)
{
    struct gw_yaml_node *node = c->open[--c->depth].node;
    uint64_t weight = 1;
    uint32_t members = node->weight - 1;
    for (const struct gw_yaml_node *member = node->first; member != NULL; member = member->next)
        weight += member->weight;
    node->weight = (uint32_t)weight; /* at most all nodes and all aliased ones */
    node->length = node->kind == GW_YAML_MAP ? members / 2 : members;
    return node->kind != GW_YAML_MAP || check_keys(c, node, mark);
}

static bool on_event(struct composer *c, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (c->tree->root != NULL)
            return refuse(c, event->start_mark,
                          "a second document begins here; a configuration is one document");
        return true;
    case YAML_ALIAS_EVENT:
        return on_alias(c, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(c, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(c, GW_YAML_LIST, event->data.sequence_start.anchor,
                       event->data.sequence_start.tag, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_open(c, GW_YAML_MAP, event->data.mapping_start.anchor,
                       event->data.mapping_start.tag, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(c, event->start_mark);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
}

static bool compose(struct composer *c)
{
    yaml_parser_set_encoding(&c->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&c->parser, (const unsigned char *)c->yaml.data, c->yaml.length);
    for (bool going = true; going;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&c->parser, &event))
            return refuse_syntax(c);
        bool fine = on_event(c, &event);
        going = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (!fine)
            return false;
    }
    if (c->tree->root == NULL) {
        gw_config_errors_add(c->errors, 1, 1, "the file is empty; it begins with \"version: 1\"");
        return false;
    }
    return true;
}

struct gw_yaml_tree *gw_yaml_tree_parse(struct gw_slice yaml, struct gw_config_errors *errors)
{
    struct composer c = { .yaml = gw_yaml_text_skip_mark(yaml), .errors = errors };
    struct gw_yaml_tree *result = NULL;
    bool begun = false;
    if (c.yaml.length == 0)
        c.yaml = GW_SLICE("");
    if (c.yaml.length > GW_YAML_BYTES_MAX) {
        gw_config_errors_add(errors, 1, 1, "the file is larger than %u MiB",
                             GW_YAML_BYTES_MAX >> 20);
        goto out;
    }
    if (!gw_yaml_text_check(c.yaml, errors))
        goto out;
    c.tree = calloc(1, sizeof *c.tree);
    begun = c.tree != NULL && yaml_parser_initialize(&c.parser) == 1;
    if (!begun) {
        gw_config_errors_add(errors, 1, 1, "out of memory");
        goto out;
    }
    if (!compose(&c))
        goto out;
    result = c.tree;
    c.tree = NULL; /* handed over to the caller */
out:
    if (begun)
        yaml_parser_delete(&c.parser);
    free(c.anchors);
    gw_yaml_tree_free(c.tree);
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

const struct gw_yaml_node *gw_yaml_tree_root(const struct gw_yaml_tree *tree)
{
    return gw_yaml_tree_value(tree->root);
}

const struct gw_yaml_node *gw_yaml_tree_find(const struct gw_yaml_node *map, const char *key)
{
    if (map->kind != GW_YAML_MAP)
        return NULL;
    for (const struct gw_yaml_node *at = map->first; at != NULL; at = at->next->next)
        if (strcmp(at->text, key) == 0)
            return gw_yaml_tree_value(at->next);
    return NULL;
}

bool gw_yaml_tree_is_null(const struct gw_yaml_node *node)
{
    return node->kind == GW_YAML_TEXT && node->plain
           && (node->length == 0 || strcmp(node->text, "~") == 0
               || strcmp(node->text, "null") == 0);
}
