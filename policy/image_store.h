/* policy/image_store.h - the memory of an image builder: names and what is said about them, and
 * values. Private to image_builder.c and image_write.c.
 * Compact arrays and one text pool: about 60 bytes a name, however many names there are. */
#pragma once
#include "policy/image_format.h"

#define GW_STORE_NONE UINT32_MAX

struct gw_store_name {
    uint32_t text;  /* into the pool */
    uint32_t hash;  /* kept, so that growing the index does not read every name again */
    uint32_t first; /* its newest entry, or NONE */
    uint8_t length;
};

struct gw_store_entry {
    struct gw_image_record record; /* value: an index in the order of adding */
    uint32_t name;
    uint32_t next; /* an older entry of the same name, or NONE */
};

/* A rule, a credential, a CA name, or the ranges of an exemption, as bytes that compare equal
 * exactly when they mean the same. Owned. */
struct gw_store_value {
    unsigned char *bytes;
    size_t length;
};
struct gw_store_values {
    struct gw_store_value *all;
    size_t count, room;
};

struct gw_store {
    char *text;
    size_t text_length, text_room;
    struct gw_store_name *names;
    size_t name_count, name_room;
    struct gw_store_entry *entries;
    size_t entry_count, entry_room;
    uint32_t *index; /* open addressing over names; NONE: empty; at most half full */
    size_t index_room;
};

void gw_store_fini(struct gw_store *store);

/* GW_STORE_NONE when it is not there. */
uint32_t gw_store_find(const struct gw_store *store, struct gw_slice name);

/* False when out of memory, or beyond what 32-bit offsets reach. */
bool gw_store_add(struct gw_store *store, struct gw_slice name, struct gw_image_record record);

/* Takes out every entry of a kind, and names about which nothing is left to say. Cannot fail. */
void gw_store_drop(struct gw_store *store, enum gw_image_what what);

struct gw_slice gw_store_text(const struct gw_store *store, const struct gw_store_name *name);

/* Makes room for `more` elements; `*room` counts elements. */
bool gw_store_grow(void **array, size_t *room, size_t count, size_t more, size_t size);

void gw_values_fini(struct gw_store_values *values);
/* Copies the bytes unless an equal value is there. GW_STORE_NONE when out of memory. */
uint32_t gw_values_add(struct gw_store_values *values, const void *bytes, size_t length);
