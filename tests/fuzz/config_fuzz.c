/* tests/fuzz/config_fuzz.c - any bytes, read as a configuration.
 * Either there are settings and no error, and every policy is an image that opens; or there are
 * none and at least one error with text, in the order of the file. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "gateway/config/config.h"
#include "gateway/config/sources.h"

#define CERTIFICATE                                                      \
    "-----BEGIN CERTIFICATE-----\n"                                      \
    "MIIBlDCCATugAwIBAgIUfcQecDJPkMZxwZwmuYC2gtsNAgIwCgYIKoZIzj0EAwIw\n" \
    "MIIBlDCCATugAwIBAgIUfcQecDJPkMZxwZwmuYC2gtsNAgIwCgYIKoZIzj0EAwIw\n" \
    "-----END CERTIFICATE-----\n"

/* The same on every machine, and nothing is left behind. */
static void make_file(struct gw_slice text, char path[64])
{
    int file = memfd_create("config_fuzz", 0);
    gw_check(file >= 0);
    gw_check(write(file, text.data, text.length) == (ssize_t)text.length);
    snprintf(path, 64, "/proc/self/fd/%d", file);
}

static const struct gw_config_sources *sources(void)
{
    static char resolv_conf[64], ca_file[64];
    static struct gw_config_sources made;
    if (made.ca_file == NULL) {
        make_file(GW_SLICE("nameserver 192.0.2.53\n"), resolv_conf);
        make_file(GW_SLICE(CERTIFICATE), ca_file);
        made = (struct gw_config_sources){ .resolv_conf = resolv_conf,
                                           .ca_file = ca_file,
                                           .descriptor_limit = 1024 };
    }
    return &made;
}

static void check_settings(const struct gw_settings *settings)
{
    gw_check(settings->network_count > 0 && settings->dns.server_count > 0);
    gw_check(settings->tls.ca < settings->ca_count);
    for (size_t i = 0; i < settings->network_count; i++) {
        gw_check(settings->networks[i].policy < settings->policy_count);
        gw_check(settings->networks[i].listen.port != 0);
    }
    for (size_t i = 0; i < settings->policy_count; i++) {
        const struct gw_settings_policy *policy = &settings->policies[i];
        struct gw_error err = GW_ERROR_NONE;
        struct gw_image image;
        gw_check(gw_image_open(policy->image, policy->image_length, &image, &err));
        gw_check(gw_image_kind(&image) == policy->kind);
    }
    for (size_t i = 0; i < settings->credential_count; i++)
        gw_check(settings->credentials[i].source_name != NULL);
}

static void check_errors(const struct gw_config_errors *errors)
{
    gw_check(errors->count > 0);
    for (size_t i = 0; i < errors->count; i++) {
        gw_check(errors->list[i].text[0] != '\0');
        gw_check(i == 0 || errors->list[i].line >= errors->list[i - 1].line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_config_errors errors;
    struct gw_slice text = { (const char *)data, size };
    struct gw_settings *settings = gw_config_parse_with("fuzz.yaml", text, sources(), &errors);
    if (settings != NULL) {
        gw_check(errors.count == 0);
        check_settings(settings);
    } else {
        check_errors(&errors);
    }
    gw_settings_free(settings);
    gw_config_errors_fini(&errors);
    return 0;
}
