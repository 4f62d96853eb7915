#define _GNU_SOURCE /* strdup */
#include "gateway/config/reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "gateway/config/near_miss.h"

void gw_complain(struct gw_reader *reader, const struct gw_yaml_node *node, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    gw_config_errors_addv(reader->errors, node->line, node->column, format, list);
    va_end(list);
    reader->complaints++;
}

void gw_reader_warn(struct gw_reader *reader, const char *format, ...)
{
    struct gw_settings *settings = reader->settings;
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    char **grown =
        realloc(settings->warnings, (settings->warning_count + 1) * sizeof *settings->warnings);
    if (grown != NULL)
        settings->warnings = grown;
    char *copy = gw_reader_copy(reader, reader->root, line);
    if (grown != NULL && copy != NULL)
        settings->warnings[settings->warning_count++] = copy;
    else
        free(copy);
}

const char *gw_reader_show(const struct gw_yaml_node *node, char out[GW_SHOWN])
{
    struct gw_text text;
    gw_text_init(&text, out, GW_SHOWN);
    gw_text_add_json(&text, gw_yaml_tree_text(node), 64);
    return out;
}

/* ---- mappings ------------------------------------------------------------------------------- */

static const struct gw_key *find_key(const struct gw_key *keys, const char *name)
{
    for (const struct gw_key *key = keys; key->name != NULL; key++)
        if (strcmp(key->name, name) == 0)
            return key;
    return NULL;
}

static void complain_of_unknown(struct gw_reader *reader, const struct gw_key *keys,
                                const struct gw_yaml_node *name)
{
    struct gw_near_miss miss;
    char shown[GW_SHOWN], hint[GW_NEAR_MISS_TEXT];
    gw_near_miss_init(&miss, gw_yaml_tree_text(name));
    for (const struct gw_key *key = keys; key->name != NULL; key++)
        if (key->read != NULL)
            gw_near_miss_offer(&miss, key->name);
    gw_complain(reader, name, "unknown key \"%s\"%s", gw_reader_show(name, shown),
                gw_near_miss_print(&miss, hint));
}

static void check_names(struct gw_reader *reader, const struct gw_key *keys,
                        const struct gw_yaml_node *map)
{
    for (const struct gw_yaml_node *name = map->first; name != NULL; name = name->next->next) {
        const struct gw_key *key = find_key(keys, name->text);
        if (name->plain && strcmp(name->text, "<<") == 0)
            reader->complaints++; /* refused while the tree was made */
        else if (key == NULL)
            complain_of_unknown(reader, keys, name);
        else if (key->read == NULL)
            gw_complain(reader, name, "\"%s\": not in this version", key->name);
    }
}

static void complain_of_missing(struct gw_reader *reader, const char *what, const char *key,
                                const struct gw_yaml_node *map)
{
    if (what == NULL)
        gw_complain(reader, map, "the key \"%s\" is missing", key);
    else
        gw_complain(reader, map, "\"%s\": the key \"%s\" is missing", what, key);
}

bool gw_reader_map(struct gw_reader *reader, const char *what, const struct gw_key *keys,
                   const struct gw_yaml_node *node, void *into)
{
    size_t before = reader->complaints;
    if (node->kind != GW_YAML_MAP) {
        gw_complain(reader, node, "\"%s\": expected keys with values%s",
                    what == NULL ? "configuration" : what,
                    gw_yaml_tree_is_null(node) ? ", and there is nothing" : "");
        return false;
    }
    check_names(reader, keys, node);
    for (const struct gw_key *key = keys; key->name != NULL; key++) {
        const struct gw_yaml_node *value = gw_yaml_tree_find(node, key->name);
        if (value == NULL && (key->flags & GW_KEY_REQUIRED))
            complain_of_missing(reader, what, key->name, node);
        if (value != NULL && key->read != NULL)
            key->read(reader, key, value, (char *)into + key->offset);
    }
    return reader->complaints == before;
}

/* ---- parts of values ------------------------------------------------------------------------ */

bool gw_reader_list(struct gw_reader *reader, const struct gw_key *key,
                    const struct gw_yaml_node *node)
{
    bool nothing = gw_yaml_tree_is_null(node);
    if (nothing && (key->flags & GW_KEY_NULL_IS_EMPTY))
        return true;
    if (node->kind != GW_YAML_LIST)
        gw_complain(reader, node, "\"%s\": expected a list%s", key->name,
                    nothing                      ? ", and there is nothing"
                    : node->kind == GW_YAML_TEXT ? "; put [ ] around a single entry"
                                                 : "");
    else if (node->length < key->shape->min)
        gw_complain(reader, node, "\"%s\": an empty list says nothing; leave the key out",
                    key->name);
    else if (key->shape->max > 0 && node->length > key->shape->max)
        gw_complain(reader, node, "\"%s\": more than %u", key->name, (unsigned)key->shape->max);
    else
        return true;
    return false;
}

bool gw_reader_text(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node)
{
    if (node->kind == GW_YAML_TEXT && node->length > 0
        && !(node->plain && strcmp(node->text, "~") == 0))
        return true;
    gw_complain(reader, node,
                node->kind == GW_YAML_TEXT ? "\"%s\": expected text, and there is nothing"
                                           : "\"%s\": expected text",
                what);
    return false;
}

static bool is_name(const char *text)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char later[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(text);
    return length >= 1 && length <= 64 && strspn(text, first) > 0 && strspn(text, later) == length;
}

bool gw_reader_name(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node)
{
    char shown[GW_SHOWN];
    if (is_name(node->text))
        return true;
    if (!(node->plain && strcmp(node->text, "<<") == 0)) /* refused while the tree was made */
        gw_complain(reader, node,
                    "\"%s\" cannot name a %s: 1 to 64 letters, digits, \"-\", \"_\" and \".\", "
                    "a letter or digit first",
                    gw_reader_show(node, shown), what);
    return false;
}

void *gw_reader_array(struct gw_reader *reader, const struct gw_yaml_node *node, size_t count,
                      size_t size)
{
    void *array = count == 0 ? NULL : calloc(count, size);
    if (count > 0 && array == NULL)
        gw_complain(reader, node, "out of memory");
    return array;
}

char *gw_reader_copy(struct gw_reader *reader, const struct gw_yaml_node *node, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        gw_complain(reader, node, "out of memory");
    return copy;
}
