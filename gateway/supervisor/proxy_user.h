/* gateway/supervisor/proxy_user.h - who the proxies and the log writer run as. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "gateway/common/confinement.h"

struct gw_proxy_user {
    struct gw_confinement confine; /* change_user false: not root, they keep our uid */
    int lock;                      /* holds an automatic uid for as long as it is open; or -1 */
};

/* `user` NULL: auto, a uid from 61184 to 65519 (which systemd keeps for this) that is in no user
 * database, belongs to no running process and to no other gateway. A name: that user; refused are
 * root, nobody, and anybody else than ourselves when we are not root. */
bool gw_proxy_user_resolve(const char *user, struct gw_proxy_user *out, struct gw_error *err);
void gw_proxy_user_fini(struct gw_proxy_user *user);
