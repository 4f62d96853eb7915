/* tests/fuzz/host_pattern_fuzz.c - what is accepted prints back to something equal and matches its
 * own host; a refusal always says why, and what it tells to write instead is accepted. */
#include <stdint.h>

#include "base/check.h"
#include "policy/host_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct gw_error *err)
{
    static const char before[] = "write \"";
    struct gw_host_pattern pattern;
    struct gw_error ignored = GW_ERROR_NONE;
    gw_check(err->code != GW_ERR_NONE && err->text[0] != '\0');
    for (const char *at = err->text; *at != '\0'; at++)
        gw_check((unsigned char)*at >= 0x20 && *at != 0x7f);
    /* The last one: the entry itself, which is shown in front, may hold these words. */
    const char *told = NULL;
    for (const char *at = err->text; (at = strstr(at, before)) != NULL; at++)
        told = at + sizeof before - 1;
    const char *end = told == NULL ? NULL : strchr(told, '"');
    if (end == NULL || end - told > 253)
        return;
    struct gw_slice remedy = { told, (size_t)(end - told) };
    if (memchr(remedy.data, '\\', remedy.length) != NULL)
        return; /* part of the entry after all */
    gw_check(gw_host_pattern_parse(remedy, &pattern, &ignored));
}

static void check_accepted(const struct gw_host_pattern *first)
{
    struct gw_host_pattern second, wide;
    struct gw_error err = GW_ERROR_NONE;
    char printed[GW_HOST_TEXT_MAX + 16];
    size_t length = gw_host_pattern_print(first, printed, sizeof printed);
    gw_check(gw_host_pattern_parse((struct gw_slice){ printed, length }, &second, &err));
    gw_check(first->suffix == second.suffix && first->port == second.port
             && gw_host_equal(&first->host, &second.host));
    gw_check(gw_host_pattern_matches(first, &first->host));
    gw_check(gw_host_pattern_covers(first, &second) && gw_host_pattern_overlaps(first, &second));
    gw_check(!first->suffix || first->host.class == GW_HOST_NAME);
    /* A suffix of the name without its first label covers it, and not the other way round. */
    const char *dot = first->host.class == GW_HOST_NAME
                          ? memchr(first->host.text, '.', first->host.length)
                          : NULL;
    if (dot == NULL
        || !gw_host_pattern_parse(
            (struct gw_slice){ dot, first->host.length - (size_t)(dot - first->host.text) }, &wide,
            &err))
        return;
    gw_check(gw_host_pattern_covers(&wide, first) && !gw_host_pattern_covers(first, &wide));
    gw_check(gw_host_pattern_matches(&wide, &first->host));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_host_pattern pattern;
    struct gw_error err = GW_ERROR_NONE;
    if (gw_host_pattern_parse((struct gw_slice){ (const char *)data, size }, &pattern, &err))
        check_accepted(&pattern);
    else
        check_refusal(&err);
    return 0;
}
