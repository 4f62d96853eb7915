/* gateway/proxy/binding.c */
#include "gateway/proxy/binding.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/macros.h"
#include "gateway/common/wire.h"

enum kind { IMAGE, BUNDLE, CREDENTIAL };

struct item {
    struct gw_list link;
    enum kind kind;
    union {
        struct gw_policy_map *policy;
        struct {
            char *id;
            struct gw_sealed_map pem;
            struct gw_trust *trust; /* parsed once, shared by all that name the bundle */
        } bundle;
        struct gw_credential *credential;
    } of;
};

struct gw_stash {
    struct gw_list items;
};

static void policy_unref(struct gw_policy_map *policy)
{
    if (policy == NULL || --policy->references > 0)
        return;
    gw_sealed_unmap(&policy->map);
    free(policy);
}

static void item_free(struct item *item)
{
    gw_list_remove(&item->link);
    switch (item->kind) {
    case IMAGE:
        policy_unref(item->of.policy);
        break;
    case BUNDLE:
        free(item->of.bundle.id);
        gw_trust_unref(item->of.bundle.trust);
        gw_sealed_unmap(&item->of.bundle.pem);
        break;
    case CREDENTIAL:
        gw_credential_unref(item->of.credential);
        break;
    }
    free(item);
}

struct gw_stash *gw_stash_new(void)
{
    struct gw_stash *stash = calloc(1, sizeof *stash);
    if (stash != NULL)
        gw_list_init(&stash->items);
    return stash;
}

void gw_stash_free(struct gw_stash *stash)
{
    if (stash == NULL)
        return;
    while (!gw_list_empty(&stash->items))
        item_free(gw_container_of(stash->items.next, struct item, link));
    free(stash);
}

static bool take_image(struct item *item, struct gw_message *message, struct gw_error *err)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    struct gw_slice digest = gw_wire_bytes(&reader);
    struct gw_policy_map *policy = calloc(1, sizeof *policy);
    item->kind = IMAGE;
    item->of.policy = policy;
    if (policy == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory for a policy image");
        return false;
    }
    policy->references = 1;
    if (!gw_wire_done(&reader) || digest.length != GW_DIGEST_BYTES || message->fd_count != 1) {
        gw_error_set(err, GW_ERR_PEER, "malformed IMAGE message");
        return false;
    }
    memcpy(policy->digest.bytes, digest.data, GW_DIGEST_BYTES);
    gw_digest_print(&policy->digest, policy->digest_text);
    return gw_sealed_map(message->fds[0], &policy->map, err)
           && gw_image_open(policy->map.data, policy->map.length, &policy->image, err);
}

static bool take_bundle(struct item *item, struct gw_message *message, struct gw_error *err)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    struct gw_slice id = gw_wire_bytes(&reader);
    item->kind = BUNDLE;
    item->of.bundle.id = strndup(id.data == NULL ? "" : id.data, id.length);
    if (!gw_wire_done(&reader) || message->fd_count != 1 || item->of.bundle.id == NULL) {
        gw_error_set(err, GW_ERR_PEER, "malformed CA_BUNDLE message");
        return false;
    }
    return gw_sealed_map(message->fds[0], &item->of.bundle.pem, err);
}

static bool take_credential(struct item *item, struct gw_message *message, struct gw_error *err)
{
    struct gw_wire_reader reader;
    gw_wire_reader_init(&reader, message->payload);
    uint64_t id = gw_wire_u64(&reader);
    struct gw_slice value = gw_wire_bytes(&reader), bare = gw_wire_bytes(&reader);
    item->kind = CREDENTIAL;
    if (gw_wire_done(&reader))
        item->of.credential = gw_credential_new(id, value, bare);
    /* The receive buffer held the value too. */
    gw_secret_wipe((char *)(uintptr_t)message->payload.data, message->payload.length);
    if (item->of.credential == NULL)
        gw_error_set(err, GW_ERR_PEER, "a CREDENTIAL message could not be taken");
    return item->of.credential != NULL;
}

bool gw_stash_take(struct gw_stash *stash, struct gw_message *message, struct gw_error *err)
{
    struct item *item = calloc(1, sizeof *item);
    if (item == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return false;
    }
    gw_list_init(&item->link);
    bool taken = message->type == GW_MSG_IMAGE       ? take_image(item, message, err)
                 : message->type == GW_MSG_CA_BUNDLE ? take_bundle(item, message, err)
                                                     : take_credential(item, message, err);
    if (taken)
        gw_list_append(&stash->items, &item->link);
    else
        item_free(item);
    return taken;
}

static struct gw_policy_map *find_policy(struct gw_stash *stash, const struct gw_digest *digest)
{
    gw_list_each (at, after, &stash->items) {
        struct item *item = gw_container_of(at, struct item, link);
        if (item->kind == IMAGE && gw_digest_equal(&item->of.policy->digest, digest))
            return item->of.policy;
    }
    return NULL;
}

static struct item *find_bundle(struct gw_stash *stash, struct gw_slice id)
{
    gw_list_each (at, after, &stash->items) {
        struct item *item = gw_container_of(at, struct item, link);
        if (item->kind == BUNDLE && gw_slice_equal(gw_slice_of(item->of.bundle.id), id))
            return item;
    }
    return NULL;
}

static struct gw_credential *
find_credential(struct gw_stash *stash, const struct gw_snapshot *snapshot, struct gw_slice name)
{
    for (uint32_t i = 0; i < snapshot->credential_count; i++) {
        if (!gw_slice_equal(gw_slice_of(snapshot->credentials[i].name), name))
            continue;
        gw_list_each (at, after, &stash->items) {
            struct item *item = gw_container_of(at, struct item, link);
            if (item->kind == CREDENTIAL && item->of.credential->id == snapshot->credentials[i].id)
                return item->of.credential;
        }
    }
    return NULL;
}

static struct gw_trust *make_trust(struct gw_stash *stash, const struct gw_config *config,
                                   struct gw_slice id, struct gw_error *err)
{
    struct item *bundle = find_bundle(stash, id);
    if (bundle == NULL) {
        gw_error_set(err, GW_ERR_PEER, "CA bundle \"%.*s\" was not sent", (int)id.length, id.data);
        return NULL;
    }
    struct gw_trust **trust = &bundle->of.bundle.trust;
    bool min_tls13 = config->snapshot->tls.min_tls13;
    if (*trust != NULL && gw_trust_min_tls13(*trust) != min_tls13) {
        gw_trust_unref(*trust);
        *trust = NULL;
    }
    struct gw_slice pem = { bundle->of.bundle.pem.data, bundle->of.bundle.pem.length };
    if (*trust == NULL)
        *trust = gw_trust_new(bundle->of.bundle.id, pem, min_tls13, err);
    return *trust == NULL ? NULL : gw_trust_ref(*trust);
}

static bool make_binding(struct gw_stash *stash, struct gw_config *config, uint32_t index,
                         struct gw_error *err)
{
    struct gw_binding *binding = &config->bindings[index];
    const struct gw_snapshot_network *network = &config->snapshot->networks[index];
    struct gw_policy_map *policy = find_policy(stash, &network->image);
    binding->network = network;
    if (policy == NULL) {
        gw_error_set(err, GW_ERR_PEER, "the image of network \"%s\" was not sent", network->name);
        return false;
    }
    policy->references++;
    binding->policy = policy;
    binding->credential_count = gw_image_credential_count(&policy->image);
    binding->trust_count = gw_image_ca_count(&policy->image);
    binding->credentials = calloc(binding->credential_count + 1, sizeof(struct gw_credential *));
    binding->trusts = calloc(binding->trust_count + 1, sizeof(struct gw_trust *));
    if (binding->credentials == NULL || binding->trusts == NULL) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return false;
    }
    for (size_t i = 0; i < binding->credential_count; i++) {
        struct gw_slice name = gw_image_credential(&policy->image, i).name;
        struct gw_credential *credential = find_credential(stash, config->snapshot, name);
        if (credential != NULL)
            binding->credentials[i] = gw_credential_ref(credential);
    }
    for (size_t i = 0; i < binding->trust_count; i++) {
        binding->trusts[i] = make_trust(stash, config, gw_image_ca(&policy->image, i), err);
        if (binding->trusts[i] == NULL)
            return false;
    }
    return true;
}

struct gw_config *gw_config_make(struct gw_stash *stash, struct gw_snapshot *snapshot,
                                 struct gw_error *err)
{
    struct gw_config *config = calloc(1, sizeof *config);
    if (config == NULL) {
        gw_snapshot_free(snapshot);
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        return NULL;
    }
    config->references = 1;
    config->snapshot = snapshot;
    config->bindings = calloc(snapshot->network_count + 1, sizeof *config->bindings);
    bool made = config->bindings != NULL;
    if (made) {
        config->trust = make_trust(stash, config, gw_slice_of(snapshot->tls.default_ca), err);
        made = config->trust != NULL;
    }
    for (uint32_t i = 0; made && i < snapshot->network_count; i++)
        made = make_binding(stash, config, i, err);
    if (!made) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory"); /* kept only if nothing said more */
        gw_config_unref(config);
        return NULL;
    }
    return config;
}

static bool uses_policy(const struct gw_config *config, const struct gw_policy_map *policy)
{
    for (uint32_t i = 0; i < config->snapshot->network_count; i++)
        if (config->bindings[i].policy == policy)
            return true;
    return false;
}

static bool uses_credential(const struct gw_config *config, uint64_t id)
{
    for (uint32_t i = 0; i < config->snapshot->credential_count; i++)
        if (config->snapshot->credentials[i].id == id)
            return true;
    return false;
}

static bool uses_bundle(const struct gw_config *config, const char *id)
{
    if (strcmp(gw_trust_id(config->trust), id) == 0)
        return true;
    for (uint32_t i = 0; i < config->snapshot->network_count; i++)
        for (size_t j = 0; j < config->bindings[i].trust_count; j++)
            if (strcmp(gw_trust_id(config->bindings[i].trusts[j]), id) == 0)
                return true;
    return false;
}

void gw_stash_trim(struct gw_stash *stash, const struct gw_config *config)
{
    gw_list_each (at, after, &stash->items) {
        struct item *item = gw_container_of(at, struct item, link);
        bool used = item->kind == IMAGE    ? uses_policy(config, item->of.policy)
                    : item->kind == BUNDLE ? uses_bundle(config, item->of.bundle.id)
                                           : uses_credential(config, item->of.credential->id);
        if (!used)
            item_free(item);
    }
}

struct gw_config *gw_config_ref(struct gw_config *config)
{
    config->references++;
    return config;
}

static void binding_fini(struct gw_binding *binding)
{
    for (size_t i = 0; binding->credentials != NULL && i < binding->credential_count; i++)
        gw_credential_unref(binding->credentials[i]);
    for (size_t i = 0; binding->trusts != NULL && i < binding->trust_count; i++)
        gw_trust_unref(binding->trusts[i]);
    free(binding->credentials);
    free(binding->trusts);
    policy_unref(binding->policy);
}

void gw_config_unref(struct gw_config *config)
{
    if (config == NULL || --config->references > 0)
        return;
    for (uint32_t i = 0; config->bindings != NULL && i < config->snapshot->network_count; i++)
        binding_fini(&config->bindings[i]);
    free(config->bindings);
    gw_trust_unref(config->trust);
    gw_snapshot_free(config->snapshot);
    free(config);
}

const struct gw_binding *gw_config_binding(const struct gw_config *config, uint32_t slot)
{
    for (uint32_t i = 0; i < config->snapshot->network_count; i++)
        if (config->snapshot->networks[i].slot == slot)
            return &config->bindings[i];
    return NULL;
}

struct gw_trust *gw_binding_trust(const struct gw_config *config, const struct gw_binding *binding,
                                  const struct gw_verdict *verdict)
{
    return verdict->ca >= 0 && (size_t)verdict->ca < binding->trust_count
               ? binding->trusts[verdict->ca]
               : config->trust;
}

bool gw_binding_stamps(const struct gw_binding *binding, const struct gw_verdict *verdict,
                       struct gw_stamp stamps[GW_VERDICT_CREDENTIALS_MAX])
{
    for (uint32_t i = 0; i < verdict->credential_count; i++) {
        size_t index = verdict->credentials[i];
        struct gw_image_credential known = gw_image_credential(&binding->policy->image, index);
        if (index >= binding->credential_count || binding->credentials[index] == NULL)
            return false;
        stamps[i] = (struct gw_stamp){ .header = known.header,
                                       .name = known.name,
                                       .credential = binding->credentials[index] };
    }
    return true;
}

uint64_t gw_binding_stamp_key(const struct gw_binding *binding, const struct gw_verdict *verdict)
{
    uint64_t key = 0;
    for (uint32_t i = 0; i < verdict->credential_count; i++) {
        size_t index = verdict->credentials[i];
        if (index < binding->credential_count && binding->credentials[index] != NULL)
            key = key * 0x100000001b3ull + binding->credentials[index]->id + 1; /* FNV-1's prime */
    }
    return key;
}
