/* gateway/config/key_table.h - a key is one line of a table.
 *
 * A mapping of the file is read by its table, in the order of the table: what a later key depends
 * on stands earlier, wherever the file has it. The JSON Schema (schema.c) and the reference
 * (reference.c) are made from the same tables, so that they cannot say anything else. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "gateway/config/yaml_tree.h"

struct gw_reader;
struct gw_key;

/* Reads `node` into `into` (the struct that the table describes, plus the key's offset), or
 * complains. `node` is resolved, and never NULL. */
typedef void gw_key_read(struct gw_reader *reader, const struct gw_key *key,
                         const struct gw_yaml_node *node, void *into);

enum gw_form {
    GW_FORM_TEXT,
    GW_FORM_WORD,   /* one of some words */
    GW_FORM_NUMBER, /* decimal, without quotes */
    GW_FORM_FLAG,   /* true or false */
    GW_FORM_LIST,
    GW_FORM_MAP,    /* known keys */
    GW_FORM_NAMED,  /* names that the operator chooses, and what each stands for */
    GW_FORM_EITHER, /* `item` or `other` */
};

enum { GW_WORD_LATER = -1 }; /* known, and refused: not in this version */

struct gw_word {
    const char *text;
    int value;
};

/* What a value looks like. */
struct gw_shape {
    enum gw_form form;
    const char *is;              /* for people: "host entry" */
    const char *pattern;         /* TEXT, NAMED (of names): a regular expression, or NULL */
    const struct gw_word *words; /* WORD, ended by NULL; NUMBER: words that may stand for one */
    /* NUMBER: its bounds. LIST, MAP, NAMED: how many members; max 0: any number. */
    uint64_t min, max;
    const struct gw_shape *item; /* LIST, NAMED, EITHER */
    const struct gw_shape *other;
    const struct gw_key *keys; /* MAP, ended by NULL */
};

enum { GW_KEY_REQUIRED = 1, GW_KEY_NULL_IS_EMPTY = 2 };

struct gw_key {
    const char *name;
    gw_key_read *read; /* NULL: known, and refused: not in this version */
    size_t offset;
    const struct gw_shape *shape;
    const char *initial; /* what holds without the key, as YAML; NULL: see the text */
    const char *text;    /* one line for the reference and the schema */
    unsigned flags;
};

extern const struct gw_key gw_root_keys[];
extern const struct gw_key gw_gateway_keys[];
extern const struct gw_key gw_credential_keys[];
extern const struct gw_key gw_policy_keys[];
extern const struct gw_key gw_network_keys[];

#define GW_NAME_PATTERN "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" /* gw_reader_name() */

/* Shapes that several tables use (shapes.c). */
extern const struct gw_shape gw_shape_name, gw_shape_path, gw_shape_host_entry, gw_shape_host,
    gw_shape_hosts, gw_shape_cidr, gw_shape_cidrs, gw_shape_port, gw_shape_ports, gw_shape_flag;
