/* gateway/config/sources.h - what a configuration depends on beside its own text. */
#pragma once
#include <stdint.h>

#include "gateway/config/config.h"

struct gw_config_sources {
    const char *resolv_conf;   /* name servers, when the file names none */
    const char *ca_file;       /* CA bundle, when the file names none */
    uint64_t descriptor_limit; /* RLIMIT_NOFILE's hard limit, of a proxy process */
};

/* The system's. */
void gw_config_sources_init(struct gw_config_sources *sources);

/* gw_config_parse() with other sources than the system's. */
struct gw_settings *gw_config_parse_with(const char *path, struct gw_slice yaml,
                                         const struct gw_config_sources *sources,
                                         struct gw_config_errors *errors);
