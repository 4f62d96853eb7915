/* gateway/config/settings.h - the configuration file as plain structs.
 * Made whole by gw_config_load() or not at all; never changed afterwards. Policies are compiled
 * while they are read, since only that tells whether they can be enforced. Credential values are
 * not here: only where they come from. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/common/digest.h"
#include "gateway/common/limits.h"
#include "gateway/common/log.h"
#include "policy/host_pattern.h"
#include "policy/policy_image.h"

struct gw_endpoint {
    struct gw_ip_address address;
    uint16_t port;
};

struct gw_settings_hosts {
    struct gw_host host;
    struct gw_ip_address *addresses;
    size_t address_count;
};

enum gw_credential_scheme { GW_SCHEME_RAW, GW_SCHEME_BEARER, GW_SCHEME_BASIC };
enum gw_credential_source_kind { GW_SOURCE_ENV, GW_SOURCE_FILE };

struct gw_settings_credential {
    char *name;
    char *host;   /* pattern text, parsed once to be valid */
    char *header; /* lower case */
    enum gw_credential_scheme scheme;
    char *user; /* basic only */
    enum gw_credential_source_kind source;
    char *source_name; /* of the variable, or path of the file */
    bool allow_plaintext;
    unsigned line, column; /* of its value, for errors that come later */
};

struct gw_settings_ca {
    char *path;
    char id[GW_DIGEST_TEXT]; /* digest of its bytes: what images and snapshots call it */
    char *pem;               /* owned */
    size_t length;
};

struct gw_settings_policy {
    char *name;
    enum gw_policy_kind kind;
    void *image; /* compiled; owned */
    size_t image_length;
    struct gw_digest digest; /* of the image */
    unsigned line, column;
};

struct gw_settings_network {
    char *name;
    struct gw_endpoint listen;
    bool wildcard;
    size_t policy;                         /* index */
    uint32_t max_connections, max_tunnels; /* 0: no limit */
    uint64_t lifetime_s;
    unsigned line, column;
};

struct gw_settings {
    char *path;
    /* gateway: */
    unsigned processes; /* 0: one a CPU */
    char *user;         /* NULL: auto */
    char *state_dir;    /* NULL: none */
    struct {
        char *access;  /* "-": standard output; NULL: no access log */
        char *running; /* "-": standard error (default), else a path */
        enum gw_log_level level;
    } log;
    struct {
        struct gw_endpoint *servers; /* at least one, the system's if the file names none */
        size_t server_count;
        uint32_t timeout_ms, tries, deadline_ms, max_ttl_s, resolution_delay_ms;
        struct gw_settings_hosts *hosts;
        size_t host_count;
    } dns;
    struct {
        size_t ca; /* index of the default bundle in cas */
        bool min_tls13;
    } tls;
    struct gw_limits limits;
    struct gw_cidr *deny_cidrs; /* of the gateway, compiled into every policy */
    size_t deny_cidr_count;
    struct gw_settings_ca *cas;
    size_t ca_count;
    struct gw_settings_credential *credentials;
    size_t credential_count;
    struct gw_settings_policy *policies;
    size_t policy_count;
    struct gw_settings_network *networks;
    size_t network_count;
    /* Things that are in force and that an operator should hear about at start ("policy open: …").
     * One line each. */
    char **warnings;
    size_t warning_count;
};

void gw_settings_free(struct gw_settings *settings);
