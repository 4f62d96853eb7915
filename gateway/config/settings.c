#include "gateway/config/settings.h"

#include <stdlib.h>

static void free_network_lists(struct gw_settings *settings)
{
    for (size_t i = 0; i < settings->dns.host_count; i++)
        free(settings->dns.hosts[i].addresses);
    free(settings->dns.hosts);
    free(settings->dns.servers);
    for (size_t i = 0; i < settings->network_count; i++)
        free(settings->networks[i].name);
    free(settings->networks);
}

static void free_credentials(struct gw_settings *settings)
{
    for (size_t i = 0; i < settings->credential_count; i++) {
        struct gw_settings_credential *credential = &settings->credentials[i];
        free(credential->name);
        free(credential->host);
        free(credential->header);
        free(credential->user);
        free(credential->source_name);
    }
    free(settings->credentials);
}

void gw_settings_free(struct gw_settings *settings)
{
    if (settings == NULL)
        return;
    free(settings->path);
    free(settings->user);
    free(settings->state_dir);
    free(settings->log.access);
    free(settings->log.running);
    free(settings->deny_cidrs);
    free_network_lists(settings);
    free_credentials(settings);
    for (size_t i = 0; i < settings->ca_count; i++) {
        free(settings->cas[i].path);
        free(settings->cas[i].pem);
    }
    free(settings->cas);
    for (size_t i = 0; i < settings->policy_count; i++) {
        free(settings->policies[i].name);
        free(settings->policies[i].image);
    }
    free(settings->policies);
    for (size_t i = 0; i < settings->warning_count; i++)
        free(settings->warnings[i]);
    free(settings->warnings);
    free(settings);
}
