/* gateway/common/role.h - what a process of ours is, and what it finds when it starts.
 * Every process but the supervisor is exec'd as `namzu-gw --role=NAME:PROCESS` with an environment
 * that the launcher builds, its channel on descriptor 3, and further descriptors by role. */
#pragma once
#include <stdbool.h>

#include "base/slice.h"
#include "gateway/common/confinement.h"

enum gw_role { GW_ROLE_LAUNCHER = 1, GW_ROLE_LOG_WRITER, GW_ROLE_PROXY, GW_ROLES };

#define GW_FD_CHANNEL 3
/* proxy and launcher */
#define GW_FD_LOG 4 /* log socket, writing end */
/* proxy */
#define GW_FD_SHARED 5 /* counters.h */

const char *gw_role_text(enum gw_role role); /* "launcher", "log-writer", "proxy" */
bool gw_role_parse(struct gw_slice text, enum gw_role *out);

/* Who this process is to become: `--user=UID:GID` of its command line, which the launcher adds when
 * the gateway was started as root. A role's main passes it to gw_confine(). */
struct gw_confinement gw_role_confinement(void);
/* "UID:GID", numbers from 1; false otherwise. main() calls it before the role's main. */
bool gw_role_set_user(struct gw_slice text);

/* One main a role; each returns the exit status. Its argument is the name of the
 * process, such as "proxy-0". */
int gw_launcher_main(const char *process);
int gw_log_writer_main(const char *process);
int gw_proxy_main(const char *name);
