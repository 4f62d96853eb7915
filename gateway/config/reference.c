/* gateway/config/reference.c - the key tables as Markdown. */
#include <inttypes.h>

#include "base/text.h"
#include "gateway/config/config.h"
#include "gateway/config/key_table.h"
#include "gateway/config/reference_text.h"

#define PATH_ROOM 256

/* ---- types ---------------------------------------------------------------------------------- */

static void print_words(FILE *out, const struct gw_word *word)
{
    const char *before = "";
    for (; word->text != NULL; word++) {
        if (word->value == GW_WORD_LATER)
            continue;
        fprintf(out, "%s`%s`", before, word->text);
        before = ", ";
    }
}

static void print_type(FILE *out, const struct gw_shape *shape)
{
    switch (shape->form) {
    case GW_FORM_TEXT:
        fputs(shape->is, out);
        break;
    case GW_FORM_WORD:
        print_words(out, shape->words);
        break;
    case GW_FORM_NUMBER:
        if (shape->words != NULL)
            fprintf(out, "`%s`, or ", shape->words->text);
        if (shape->min == shape->max)
            fprintf(out, "%" PRIu64, shape->min);
        else
            fprintf(out, "%" PRIu64 " to %" PRIu64, shape->min, shape->max);
        break;
    case GW_FORM_FLAG:
        fputs("`true`, `false`", out);
        break;
    case GW_FORM_LIST:
        fputs("list: ", out);
        print_type(out, shape->item);
        break;
    case GW_FORM_MAP:
        fputs("keys, see below", out);
        break;
    case GW_FORM_NAMED:
        fprintf(out, "by %s: ", shape->is);
        print_type(out, shape->item);
        break;
    case GW_FORM_EITHER:
        print_type(out, shape->item);
        fputs(", or ", out);
        print_type(out, shape->other);
        break;
    }
}

/* ---- sections ------------------------------------------------------------------------------- */

static void print_table(FILE *out, const struct gw_key *keys)
{
    fputs("\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n", out);
    for (const struct gw_key *key = keys; key->name != NULL; key++) {
        if (key->read == NULL)
            continue;
        fprintf(out, "| `%s` | ", key->name);
        print_type(out, key->shape);
        if (key->flags & GW_KEY_REQUIRED)
            fputs(" | required | ", out);
        else if (key->initial != NULL)
            fprintf(out, " | `%s` | ", key->initial);
        else
            fputs(" | | ", out);
        fprintf(out, "%s |\n", key->text);
    }
}

static void print_section(FILE *out, const char *path, const struct gw_shape *shape);

/* The mappings that a value is made of, each with a section of its own. */
static void print_inner(FILE *out, const char *path, const struct gw_shape *shape)
{
    char inner[PATH_ROOM];
    struct gw_text text;
    gw_text_init(&text, inner, sizeof inner);
    switch (shape->form) {
    case GW_FORM_MAP:
        print_section(out, path, shape);
        break;
    case GW_FORM_LIST:
        gw_text_addf(&text, "%s[]", path);
        print_inner(out, inner, shape->item);
        break;
    case GW_FORM_NAMED:
        gw_text_addf(&text, "%s.NAME", path);
        print_inner(out, inner, shape->item);
        break;
    case GW_FORM_EITHER:
        print_inner(out, path, shape->other);
        break;
    case GW_FORM_TEXT:
    case GW_FORM_WORD:
    case GW_FORM_NUMBER:
    case GW_FORM_FLAG:
        break;
    }
}

static void print_section(FILE *out, const char *path, const struct gw_shape *shape)
{
    const char *words = gw_reference_text_of(path);
    if (path[0] == '\0')
        fputs("\n## The file\n", out);
    else
        fprintf(out, "\n## %s\n", path);
    print_table(out, shape->keys);
    if (words[0] != '\0')
        fprintf(out, "\n%s", words);
    for (const struct gw_key *key = shape->keys; key->name != NULL; key++) {
        char inner[PATH_ROOM];
        struct gw_text text;
        if (key->read == NULL)
            continue;
        gw_text_init(&text, inner, sizeof inner);
        gw_text_addf(&text, "%s%s%s", path, path[0] == '\0' ? "" : ".", key->name);
        print_inner(out, inner, key->shape);
    }
}

/* ---- what is not there yet ------------------------------------------------------------------ */

static void print_later(FILE *out, const char *path, const struct gw_shape *shape)
{
    char inner[PATH_ROOM];
    struct gw_text text;
    if (shape->item != NULL) {
        gw_text_init(&text, inner, sizeof inner);
        gw_text_addf(&text, "%s%s", path, shape->form == GW_FORM_NAMED ? ".NAME" : "");
        print_later(out, inner, shape->item);
    }
    if (shape->other != NULL)
        print_later(out, path, shape->other);
    for (const struct gw_word *word = shape->words; word != NULL && word->text != NULL; word++)
        if (word->value == GW_WORD_LATER)
            fprintf(out, "- `%s: %s`\n", path, word->text);
    for (const struct gw_key *key = shape->keys; key != NULL && key->name != NULL; key++) {
        gw_text_init(&text, inner, sizeof inner);
        gw_text_addf(&text, "%s%s%s", path, path[0] == '\0' ? "" : ".", key->name);
        if (key->read == NULL)
            fprintf(out, "- `%s`\n", inner);
        else
            print_later(out, inner, key->shape);
    }
}

void gw_config_print_reference(FILE *out)
{
    static const struct gw_shape root = { .form = GW_FORM_MAP, .keys = gw_root_keys };
    fputs(gw_reference_text_intro, out);
    print_section(out, "", &root);
    fputs("\n## Not in this version\n\nKnown, and refused:\n\n", out);
    print_later(out, "", &root);
    fputs("- `networks.NAME.listen: unix:PATH`\n", out);
}
