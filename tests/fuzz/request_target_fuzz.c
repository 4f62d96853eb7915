/* tests/fuzz/request_target_fuzz.c - what is accepted, written anew from its parts, is read as the
 * same parts; nothing that could end the request line or move the host is among them. */
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "policy/request_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(struct gw_slice path)
{
    for (size_t i = 0; i < path.length; i++)
        gw_check(path.data[i] > 0x20 && path.data[i] < 0x7f && path.data[i] != '#'
                 && path.data[i] != '\\');
    gw_check(path.length == 0 || path.data[0] == '/' || path.data[0] == '?');
}

/* scheme://authority, path and query as sent */
static void rebuild(const struct gw_request_target *target)
{
    size_t room = GW_AUTHORITY_TEXT_MAX + 16 + target->path_and_query.length;
    char *text = malloc(room);
    struct gw_request_target again;
    gw_check(text != NULL);
    const char *scheme = target->https ? "https://" : "http://";
    size_t length = strlen(scheme);
    memcpy(text, scheme, length);
    length += gw_authority_print(&target->authority, text + length, room - length);
    if (target->path_and_query.length > 0)
        memcpy(text + length, target->path_and_query.data, target->path_and_query.length);
    length += target->path_and_query.length;
    gw_check(gw_request_target_parse((struct gw_slice){ text, length }, false, &again)
             == GW_REASON_NONE);
    gw_check(again.form == GW_TARGET_ABSOLUTE && again.https == target->https);
    gw_check(gw_authority_equal(&again.authority, &target->authority));
    gw_check(gw_slice_equal(again.path_and_query, target->path_and_query));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_slice text = { (const char *)data, size };
    struct gw_request_target target;
    if (gw_request_target_parse(text, true, &target) == GW_REASON_NONE) {
        gw_check(target.form == GW_TARGET_AUTHORITY && target.authority.port != 0);
        gw_check(target.path_and_query.length == 0 && !target.https);
    }
    if (gw_request_target_parse(text, false, &target) != GW_REASON_NONE)
        return 0;
    check_path(target.path_and_query);
    if (target.form == GW_TARGET_ORIGIN) {
        gw_check(gw_slice_equal(target.path_and_query, text) && text.data[0] == '/');
        return 0;
    }
    gw_check(target.form == GW_TARGET_ABSOLUTE);
    rebuild(&target);
    return 0;
}
