/* policy/image_store.c */
#include "policy/image_store.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_SEED 0
#define INDEX_ROOM_FIRST 64

void gw_store_fini(struct gw_store *store)
{
    free(store->text);
    free(store->names);
    free(store->entries);
    free(store->index);
    *store = (struct gw_store){ 0 };
}

bool gw_store_grow(void **array, size_t *room, size_t count, size_t more, size_t size)
{
    size_t wanted = *room < 16 ? 16 : *room;
    if (more > GW_STORE_NONE - 1 || count > GW_STORE_NONE - 1 - more)
        return false; /* an index of 32 bits could not reach it */
    if (count + more <= *room)
        return true;
    while (wanted < count + more)
        wanted += wanted / 2;
    void *grown = realloc(*array, wanted * size);
    if (grown == NULL)
        return false;
    *array = grown;
    *room = wanted;
    return true;
}

struct gw_slice gw_store_text(const struct gw_store *store, const struct gw_store_name *name)
{
    return (struct gw_slice){ store->text + name->text, name->length };
}

/* The place of a name in the index, or the empty place where it belongs. The room is a power of
 * two and never full. */
static size_t place_of(const struct gw_store *store, uint32_t hash, struct gw_slice name)
{
    size_t mask = store->index_room - 1, at = hash & mask;
    for (; store->index[at] != GW_STORE_NONE; at = (at + 1) & mask) {
        const struct gw_store_name *found = &store->names[store->index[at]];
        if (found->hash == hash && gw_slice_equal(gw_store_text(store, found), name))
            break;
    }
    return at;
}

uint32_t gw_store_find(const struct gw_store *store, struct gw_slice name)
{
    if (store->index_room == 0)
        return GW_STORE_NONE;
    return store->index[place_of(store, (uint32_t)gw_image_hash(INDEX_SEED, name), name)];
}

static void fill_index(struct gw_store *store)
{
    size_t mask = store->index_room - 1;
    memset(store->index, 0xff, store->index_room * sizeof *store->index);
    for (size_t i = 0; i < store->name_count; i++) {
        size_t at = store->names[i].hash & mask;
        while (store->index[at] != GW_STORE_NONE)
            at = (at + 1) & mask;
        store->index[at] = (uint32_t)i;
    }
}

static bool grow_index(struct gw_store *store)
{
    if (store->name_count + 1 <= store->index_room / 2)
        return true;
    size_t room = store->index_room == 0 ? INDEX_ROOM_FIRST : store->index_room * 2;
    uint32_t *grown = malloc(room * sizeof *grown);
    if (grown == NULL)
        return false;
    free(store->index);
    store->index = grown;
    store->index_room = room;
    fill_index(store);
    return true;
}

/* Finds or adds. */
static uint32_t intern(struct gw_store *store, struct gw_slice name)
{
    void *text = store->text, *names = store->names;
    bool grown = gw_store_grow(&text, &store->text_room, store->text_length, name.length, 1);
    store->text = text;
    grown = grown
            && gw_store_grow(&names, &store->name_room, store->name_count, 1, sizeof *store->names);
    store->names = names;
    if (!grown || !grow_index(store))
        return GW_STORE_NONE;
    uint32_t hash = (uint32_t)gw_image_hash(INDEX_SEED, name);
    size_t at = place_of(store, hash, name);
    if (store->index[at] != GW_STORE_NONE)
        return store->index[at];
    uint32_t added = (uint32_t)store->name_count++;
    memcpy(store->text + store->text_length, name.data, name.length);
    store->names[added] = (struct gw_store_name){
        .text = (uint32_t)store->text_length,
        .hash = hash,
        .first = GW_STORE_NONE,
        .length = (uint8_t)name.length,
    };
    store->text_length += name.length;
    store->index[at] = added;
    return added;
}

bool gw_store_add(struct gw_store *store, struct gw_slice name, struct gw_image_record record)
{
    void *entries = store->entries;
    bool grown =
        gw_store_grow(&entries, &store->entry_room, store->entry_count, 1, sizeof *store->entries);
    store->entries = entries;
    uint32_t owner = grown ? intern(store, name) : GW_STORE_NONE;
    if (owner == GW_STORE_NONE)
        return false;
    store->entries[store->entry_count] =
        (struct gw_store_entry){ record, owner, store->names[owner].first };
    store->names[owner].first = (uint32_t)store->entry_count++;
    return true;
}

/* Keeps the entries of all other kinds, and hangs them on their names anew. */
static void keep_entries(struct gw_store *store, enum gw_image_what dropped)
{
    size_t kept = 0;
    for (size_t i = 0; i < store->name_count; i++)
        store->names[i].first = GW_STORE_NONE;
    for (size_t i = 0; i < store->entry_count; i++) {
        struct gw_store_entry entry = store->entries[i];
        if (entry.record.what == dropped)
            continue;
        entry.next = store->names[entry.name].first;
        store->names[entry.name].first = (uint32_t)kept;
        store->entries[kept++] = entry;
    }
    store->entry_count = kept;
}

void gw_store_drop(struct gw_store *store, enum gw_image_what what)
{
    size_t names = 0, text = 0;
    keep_entries(store, what);
    for (size_t i = 0; i < store->name_count; i++) {
        struct gw_store_name name = store->names[i];
        if (name.first == GW_STORE_NONE)
            continue;
        memmove(store->text + text, store->text + name.text, name.length);
        name.text = (uint32_t)text;
        text += name.length;
        for (uint32_t at = name.first; at != GW_STORE_NONE; at = store->entries[at].next)
            store->entries[at].name = (uint32_t)names;
        store->names[names++] = name;
    }
    store->text_length = text;
    store->name_count = names;
    if (store->index_room > 0)
        fill_index(store);
}

void gw_values_fini(struct gw_store_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->all[i].bytes);
    free(values->all);
    *values = (struct gw_store_values){ 0 };
}

uint32_t gw_values_add(struct gw_store_values *values, const void *bytes, size_t length)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->all[i].length == length && memcmp(values->all[i].bytes, bytes, length) == 0)
            return (uint32_t)i;
    void *all = values->all;
    bool grown = gw_store_grow(&all, &values->room, values->count, 1, sizeof *values->all);
    values->all = all;
    unsigned char *copy = grown ? malloc(length + 1) : NULL;
    if (copy == NULL)
        return GW_STORE_NONE;
    if (length > 0)
        memcpy(copy, bytes, length);
    values->all[values->count] = (struct gw_store_value){ copy, length };
    return (uint32_t)values->count++;
}
