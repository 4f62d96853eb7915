/* gateway/proxy/binding.h - who is asking, tied to a policy; and the configuration in force.
 *
 * A struct gw_config is everything one INSTALL brought, immutable and counted by reference: a
 * request keeps the one that it began with, a reload swaps the pointer. A network of the
 * configuration file is one kind of binding (identity: its listener). */
#pragma once
#include "gateway/common/channel.h"
#include "gateway/common/sealed.h"
#include "gateway/common/snapshot.h"
#include "gateway/proxy/credential.h"
#include "gateway/proxy/tls.h"
#include "policy/decision.h"

struct gw_policy_map { /* a mapped image, shared by the bindings that use it */
    unsigned references;
    struct gw_digest digest;
    char digest_text[GW_DIGEST_TEXT];
    struct gw_sealed_map map;
    struct gw_image image;
};

struct gw_binding {
    const struct gw_snapshot_network *network; /* of the config's snapshot */
    struct gw_policy_map *policy;              /* a reference */
    struct gw_credential **credentials; /* by index of the image; NULL where no value is known */
    struct gw_trust **trusts;           /* by index of the image */
    size_t credential_count, trust_count;
};

struct gw_config {
    unsigned references;
    struct gw_snapshot *snapshot;
    struct gw_trust *trust;      /* the default one */
    struct gw_binding *bindings; /* by index of snapshot->networks */
};

/* What has arrived for coming installs, and what the present one uses. */
struct gw_stash;

struct gw_stash *gw_stash_new(void);
void gw_stash_free(struct gw_stash *stash);
/* IMAGE, CA_BUNDLE, CREDENTIAL: takes what the message brings; false when it is not whole. */
bool gw_stash_take(struct gw_stash *stash, struct gw_message *message, struct gw_error *err);

/* Builds a configuration out of a snapshot (handed over, also on failure) and the stash. */
struct gw_config *gw_config_make(struct gw_stash *stash, struct gw_snapshot *snapshot,
                                 struct gw_error *err);
/* Lets go of everything in the stash that `config` does not use. */
void gw_stash_trim(struct gw_stash *stash, const struct gw_config *config);

struct gw_config *gw_config_ref(struct gw_config *config);
void gw_config_unref(struct gw_config *config); /* NULL is fine */

/* The binding of the network in `slot`, or NULL when there is none any more. */
const struct gw_binding *gw_config_binding(const struct gw_config *config, uint32_t slot);

/* The trust for a verdict: the private bundle of the host, else the default. */
struct gw_trust *gw_binding_trust(const struct gw_config *config, const struct gw_binding *binding,
                                  const struct gw_verdict *verdict);

/* The stamps of a verdict; false when a credential has no value here (fail closed). */
bool gw_binding_stamps(const struct gw_binding *binding, const struct gw_verdict *verdict,
                       struct gw_stamp stamps[GW_VERDICT_CREDENTIALS_MAX]);

/* Names the credentials' values of a verdict: 0 for none, else different for different ones. */
uint64_t gw_binding_stamp_key(const struct gw_binding *binding, const struct gw_verdict *verdict);
