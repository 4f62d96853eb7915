/* bench/image.c - a policy of many hosts: how long it takes to compile and to open, how large it
 * is, and what a lookup costs. Prints figures and checks that every answer is right.
 *
 *   bench-image [HOSTS]      default 1000000 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/number.h"
#include "policy/decision.h"
#include "policy/policy_image.h"

enum { LOOKUPS = 1000000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Every third is a suffix, and names have two to five labels. */
static size_t entry_text(uint64_t i, char *out, size_t room)
{
    static const char *const zones[] = { "example", "packages.example", "a.b.internal.example" };
    int length =
        snprintf(out, room, "%sh%llu-%llu.%s", i % 3 == 0 ? "." : "", (unsigned long long)i,
                 (unsigned long long)(i * 2654435761u % 9973), zones[i % 3]);
    return (size_t)length;
}

static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static bool ask(const struct gw_image *image, const char *host)
{
    struct gw_ask question = { .kind = GW_ASK_TUNNEL, .authority.port = 443 };
    struct gw_verdict verdict;
    if (gw_host_parse(gw_slice_of(host), &question.authority.host) != GW_REASON_NONE)
        abort();
    gw_decide(image, NULL, &question, NULL, &verdict);
    return verdict.refusal.reason == GW_REASON_NONE;
}

/* One decision, parsing of the host included, in nanoseconds; aborts on a wrong answer. */
static double time_lookups(const struct gw_image *image, uint64_t hosts, bool present)
{
    char text[256];
    double begun = now();
    for (uint64_t i = 0; i < LOOKUPS; i++) {
        uint64_t which = i * 7919 % hosts;
        entry_text(which, text, sizeof text);
        const char *host = text[0] == '.' ? text + 1 : text;
        if (!present)
            text[text[0] == '.' ? 1 : 0] = 'x';
        if (ask(image, host) != present) {
            fprintf(stderr, "wrong answer for %s\n", host);
            abort();
        }
    }
    return (now() - begun) * 1e9 / LOOKUPS;
}

int main(int argc, char **argv)
{
    uint64_t hosts = 1000000;
    char text[256];
    void *bytes;
    size_t length;
    struct gw_image image;
    struct gw_error err = GW_ERROR_NONE;
    if (argc > 1 && !gw_number_parse(gw_slice_of(argv[1]), 1, 100000000, &hosts)) {
        fprintf(stderr, "usage: %s [HOSTS]\n", argv[0]);
        return 2;
    }
    struct gw_image_builder *builder = gw_image_builder_new(GW_POLICY_STATIC);
    double begun = now();
    for (uint64_t i = 0; builder != NULL && i < hosts; i++) {
        size_t used = entry_text(i, text, sizeof text);
        if (!gw_image_builder_allow(builder, (struct gw_slice){ text, used }, GW_SNI_DEFAULT, &err))
            break;
    }
    double added = now();
    if (builder == NULL || err.code != GW_ERR_NONE
        || !gw_image_builder_finish(builder, &bytes, &length, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double built = now();
    gw_image_builder_free(builder);
    double opening = now();
    if (!gw_image_open(bytes, length, &image, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double opened = now();
    printf("hosts                %llu\n", (unsigned long long)hosts);
    printf("read and checked in  %.2f s\n", added - begun);
    printf("compiled in          %.2f s\n", built - added);
    printf("image                %.1f MiB (%.0f bytes a host)\n", (double)length / 1048576,
           (double)length / (double)hosts);
    printf("opened (validated)   %.3f s\n", opened - opening);
    printf("decision, present    %.0f ns\n", time_lookups(&image, hosts, true));
    printf("decision, absent     %.0f ns\n", time_lookups(&image, hosts, false));
    printf("peak memory          %.0f MiB\n", peak_mib());
    free(bytes);
    return 0;
}
