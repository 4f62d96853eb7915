/* gateway/config/resolv_conf.h - the name servers of the system's resolver file, resolv.conf(5).
 * Nothing else of it is used: search lists would make one name mean several. */
#pragma once
#include "gateway/config/settings.h"

/* The usable `nameserver` lines, in order (malloc'ed, handed over); at least one, or false and
 * `err`. An address with a zone id cannot be used. */
bool gw_resolv_conf_read(const char *path, struct gw_endpoint **servers, size_t *count,
                         struct gw_error *err);
