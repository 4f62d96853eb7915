/* gateway/common/role.c */
#include "gateway/common/role.h"

#include "base/check.h"
#include "base/number.h"

static const char *const texts[GW_ROLES] = {
    [GW_ROLE_LAUNCHER] = "launcher",
    [GW_ROLE_LOG_WRITER] = "log-writer",
    [GW_ROLE_PROXY] = "proxy",
};

static struct gw_confinement confinement; /* set once, while the command line is read */

const char *gw_role_text(enum gw_role role)
{
    gw_check(role >= GW_ROLE_LAUNCHER && role < GW_ROLES);
    return texts[role];
}

bool gw_role_parse(struct gw_slice text, enum gw_role *out)
{
    for (enum gw_role role = GW_ROLE_LAUNCHER; role < GW_ROLES; role++)
        if (gw_slice_equal(text, gw_slice_of(texts[role]))) {
            *out = role;
            return true;
        }
    return false;
}

struct gw_confinement gw_role_confinement(void)
{
    return confinement;
}

bool gw_role_set_user(struct gw_slice text)
{
    struct gw_slice uid_text, gid_text = text;
    uint64_t uid, gid;
    if (!gw_slice_next(&gid_text, ':', &uid_text)
        || !gw_number_parse(uid_text, 1, UINT32_MAX - 1, &uid)
        || !gw_number_parse(gid_text, 1, UINT32_MAX - 1, &gid))
        return false;
    confinement =
        (struct gw_confinement){ .change_user = true, .uid = (uid_t)uid, .gid = (gid_t)gid };
    return true;
}
