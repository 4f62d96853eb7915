/* gateway/supervisor/check.c - `--check`: what would happen, without making anything. */
#define _GNU_SOURCE /* geteuid under -std=c11 */
#include <stdio.h>
#include <unistd.h>

#include "gateway/config/config.h"
#include "gateway/supervisor/credential_source.h"
#include "gateway/supervisor/listener.h"
#include "gateway/supervisor/proxy_user.h"
#include "gateway/supervisor/supervisor.h"

static const char *const kinds[] = {
    [GW_POLICY_DENY_ALL] = "deny-all",
    [GW_POLICY_ALLOW_ALL] = "allow-all",
    [GW_POLICY_STATIC] = "static",
};

static void print_policies(const struct gw_settings *settings)
{
    for (size_t i = 0; i < settings->policy_count; i++) {
        const struct gw_settings_policy *policy = &settings->policies[i];
        struct gw_error err = GW_ERROR_NONE;
        struct gw_image image;
        char digest[GW_DIGEST_TEXT];
        gw_digest_print(&policy->digest, digest);
        if (gw_image_open(policy->image, policy->image_length, &image, &err))
            printf("policy %s: %s, %zu hosts, %zu credentials, sha256:%s\n", policy->name,
                   kinds[policy->kind], gw_image_host_count(&image),
                   gw_image_credential_count(&image), digest);
        else
            printf("policy %s: %s\n", policy->name, err.text);
    }
}

static void print_networks(const struct gw_settings *settings)
{
    for (size_t i = 0; i < settings->network_count; i++) {
        const struct gw_settings_network *network = &settings->networks[i];
        char endpoint[GW_ENDPOINT_TEXT_MAX];
        gw_endpoint_print(&network->listen, network->listen.port, endpoint);
        printf("network %s: listens on %s, policy %s\n", network->name, endpoint,
               settings->policies[network->policy].name);
    }
}

static void print_warnings(const struct gw_settings *settings)
{
    for (size_t i = 0; i < settings->warning_count; i++)
        printf("warning: %s\n", settings->warnings[i]);
    for (size_t i = 0; i < settings->credential_count; i++) {
        struct gw_error err = GW_ERROR_NONE;
        if (!gw_credential_is_there(&settings->credentials[i], &err))
            printf("warning: %s (needed at start)\n", err.text);
        else if (gw_credential_file_is_open(&settings->credentials[i]))
            printf("warning: credential %s: everybody may read %s\n", settings->credentials[i].name,
                   settings->credentials[i].source_name);
    }
}

static bool print_user(const struct gw_settings *settings)
{
    struct gw_error err = GW_ERROR_NONE;
    struct gw_proxy_user user;
    if (!gw_proxy_user_resolve(settings->user, &user, &err)) {
        fprintf(stderr, "%s: %s\n", settings->path, err.text);
        return false;
    }
    if (!user.confine.change_user)
        printf("warning: not root: proxies started from here would keep our uid (%u)\n",
               (unsigned)geteuid());
    else if (settings->user != NULL)
        printf("proxies run as %s (uid %u)\n", settings->user, (unsigned)user.confine.uid);
    else
        printf("proxies run as a uid of their own, chosen at start (now %u)\n",
               (unsigned)user.confine.uid);
    gw_proxy_user_fini(&user);
    return true;
}

int gw_supervisor_check(const char *config_path)
{
    struct gw_config_errors errors = { 0 };
    struct gw_settings *settings = gw_config_load(config_path, &errors);
    bool good = settings != NULL;
    if (settings == NULL)
        gw_config_errors_print(&errors, stderr);
    else {
        good = print_user(settings);
        print_policies(settings);
        print_networks(settings);
        print_warnings(settings);
        if (good)
            printf("%s: ok\n", config_path);
    }
    gw_config_errors_fini(&errors);
    gw_settings_free(settings);
    return good ? GW_EXIT_OK : GW_EXIT_CONFIG;
}
