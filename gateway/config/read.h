/* gateway/config/read.h - the readers of the top-level keys, in the order in which they depend on
 * each other: gateway, credentials, policies, networks; then what concerns several of them. */
#pragma once
#include "gateway/config/reader.h"

/* `node` NULL: the key is not there, and the defaults hold. */
void gw_read_gateway(struct gw_reader *reader, const struct gw_yaml_node *node);

extern const struct gw_shape gw_dns_shape;
gw_key_read gw_read_dns; /* into the settings */
/* The system's name servers; complaints are placed at `at`. */
void gw_read_dns_defaults(struct gw_reader *reader, const struct gw_yaml_node *at);

void gw_read_credentials(struct gw_reader *reader, const struct gw_yaml_node *node);
void gw_read_policies(struct gw_reader *reader, const struct gw_yaml_node *node);
void gw_read_networks(struct gw_reader *reader, const struct gw_yaml_node *node);

/* Nothing listens, listeners in each other's way, things that nothing refers to. */
void gw_cross_check(struct gw_reader *reader);
