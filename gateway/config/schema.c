/* gateway/config/schema.c - the key tables as a JSON Schema (draft 2020-12), for editors.
 * Keys of later versions are left out: the gateway refuses them. */
#include <inttypes.h>

#include "base/text.h"
#include "gateway/config/config.h"
#include "gateway/config/key_table.h"

struct writer {
    FILE *out;
    unsigned depth;
    bool first; /* nothing yet in the innermost object */
};

static void write_shape(struct writer *w, const struct gw_shape *shape, const struct gw_key *key);

static void write_string(struct writer *w, const char *text)
{
    char escaped[2048];
    struct gw_text json;
    gw_text_init(&json, escaped, sizeof escaped);
    gw_text_add_json(&json, gw_slice_of(text), sizeof escaped / 8);
    fprintf(w->out, "\"%s\"", escaped);
}

static void write_name(struct writer *w, const char *name)
{
    fprintf(w->out, "%s\n%*s", w->first ? "" : ",", (int)(2 * w->depth), "");
    w->first = false;
    write_string(w, name);
    fputs(": ", w->out);
}

static void open_object(struct writer *w)
{
    fputc('{', w->out);
    w->depth++;
    w->first = true;
}

static void close_object(struct writer *w)
{
    w->depth--;
    if (!w->first)
        fprintf(w->out, "\n%*s", (int)(2 * w->depth), "");
    fputc('}', w->out);
    w->first = false;
}

static void write_pair(struct writer *w, const char *name, const char *value)
{
    write_name(w, name);
    write_string(w, value);
}

static void write_number(struct writer *w, const char *name, uint64_t number)
{
    write_name(w, name);
    fprintf(w->out, "%" PRIu64, number);
}

static void write_bounds(struct writer *w, const struct gw_shape *shape, const char *min,
                         const char *max)
{
    if (shape->min > 0)
        write_number(w, min, shape->min);
    if (shape->max > 0)
        write_number(w, max, shape->max);
}

static void write_words(struct writer *w, const struct gw_word *word)
{
    const char *before = "";
    write_name(w, "enum");
    fputc('[', w->out);
    for (; word->text != NULL; word++) {
        if (word->value == GW_WORD_LATER)
            continue;
        fputs(before, w->out);
        write_string(w, word->text);
        before = ", ";
    }
    fputc(']', w->out);
}

static void write_number_type(struct writer *w, const struct gw_shape *shape)
{
    if (shape->words != NULL) {
        write_name(w, "anyOf");
        fputs("[{ ", w->out);
        fprintf(w->out, "\"type\": \"integer\", \"minimum\": %" PRIu64 ", \"maximum\": %" PRIu64,
                shape->min, shape->max);
        fputs(" }, { \"const\": ", w->out);
        write_string(w, shape->words->text);
        fputs(" }]", w->out);
        return;
    }
    write_pair(w, "type", "integer");
    write_number(w, "minimum", shape->min);
    write_number(w, "maximum", shape->max);
}

static void write_required(struct writer *w, const struct gw_key *keys)
{
    const char *before = "[";
    for (const struct gw_key *key = keys; key->name != NULL; key++) {
        if (!(key->flags & GW_KEY_REQUIRED))
            continue;
        if (before[0] == '[')
            write_name(w, "required");
        fputs(before, w->out);
        write_string(w, key->name);
        before = ", ";
    }
    if (before[0] != '[')
        fputc(']', w->out);
}

static void write_map(struct writer *w, const struct gw_shape *shape)
{
    write_pair(w, "type", "object");
    write_name(w, "additionalProperties");
    fputs("false", w->out);
    write_required(w, shape->keys);
    write_bounds(w, shape, "minProperties", "maxProperties");
    write_name(w, "properties");
    open_object(w);
    for (const struct gw_key *key = shape->keys; key->name != NULL; key++)
        if (key->read != NULL) {
            write_name(w, key->name);
            write_shape(w, key->shape, key);
        }
    close_object(w);
}

static void write_named(struct writer *w, const struct gw_shape *shape)
{
    write_pair(w, "type", "object");
    write_bounds(w, shape, "minProperties", "maxProperties");
    if (shape->pattern != NULL) {
        write_name(w, "propertyNames");
        open_object(w);
        write_pair(w, "pattern", shape->pattern);
        close_object(w);
    }
    write_name(w, "additionalProperties");
    write_shape(w, shape->item, NULL);
}

static void write_list(struct writer *w, const struct gw_shape *shape, const struct gw_key *key)
{
    if (key != NULL && (key->flags & GW_KEY_NULL_IS_EMPTY)) {
        write_name(w, "type");
        fputs("[\"array\", \"null\"]", w->out);
    } else {
        write_pair(w, "type", "array");
    }
    write_bounds(w, shape, "minItems", "maxItems");
    write_name(w, "items");
    write_shape(w, shape->item, NULL);
}

static void write_either(struct writer *w, const struct gw_shape *shape)
{
    write_name(w, "anyOf");
    fputc('[', w->out);
    write_shape(w, shape->item, NULL);
    fputs(", ", w->out);
    write_shape(w, shape->other, NULL);
    fputc(']', w->out);
}

/* `initial` is YAML; text without quotes and words are the only parts of it that are not JSON. */
static void write_default(struct writer *w, const struct gw_key *key)
{
    bool bare =
        strchr("\"[{0123456789", key->initial[0]) == NULL && key->shape->form != GW_FORM_FLAG;
    write_name(w, "default");
    if (bare)
        write_string(w, key->initial);
    else
        fputs(key->initial, w->out);
}

static void write_shape(struct writer *w, const struct gw_shape *shape, const struct gw_key *key)
{
    open_object(w);
    if (key != NULL && key->text != NULL)
        write_pair(w, "description", key->text);
    switch (shape->form) {
    case GW_FORM_TEXT:
        write_pair(w, "type", "string");
        if (shape->pattern != NULL)
            write_pair(w, "pattern", shape->pattern);
        else
            write_number(w, "minLength", 1);
        break;
    case GW_FORM_WORD:
        write_words(w, shape->words);
        break;
    case GW_FORM_NUMBER:
        write_number_type(w, shape);
        break;
    case GW_FORM_FLAG:
        write_pair(w, "type", "boolean");
        break;
    case GW_FORM_LIST:
        write_list(w, shape, key);
        break;
    case GW_FORM_MAP:
        write_map(w, shape);
        break;
    case GW_FORM_NAMED:
        write_named(w, shape);
        break;
    case GW_FORM_EITHER:
        write_either(w, shape);
        break;
    }
    if (key != NULL && key->initial != NULL)
        write_default(w, key);
    close_object(w);
}

void gw_config_print_schema(FILE *out)
{
    static const struct gw_shape root = { .form = GW_FORM_MAP, .keys = gw_root_keys };
    struct writer w = { .out = out };
    open_object(&w);
    write_pair(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    write_pair(&w, "title", "Configuration of namzu-gw");
    write_map(&w, &root);
    close_object(&w);
    fputc('\n', out);
}
