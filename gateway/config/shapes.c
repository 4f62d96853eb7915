/* gateway/config/shapes.c - the shapes that several tables use (key_table.h). */
#include "gateway/config/key_table.h"

const struct gw_shape gw_shape_name = { .form = GW_FORM_TEXT,
                                        .is = "name",
                                        .pattern = GW_NAME_PATTERN };
const struct gw_shape gw_shape_path = { .form = GW_FORM_TEXT,
                                        .is = "absolute path",
                                        .pattern = "^/" };
/* What a host may be is policy/host_pattern.h's to say; a pattern here would be a second grammar.
 * Only what is wrong at a glance is kept from editors. */
const struct gw_shape gw_shape_host_entry = { .form = GW_FORM_TEXT,
                                              .is = "host entry",
                                              .pattern = "^[^*/@]+$" };
const struct gw_shape gw_shape_host = { .form = GW_FORM_TEXT,
                                        .is = "host",
                                        .pattern = "^[^*/@]+$" };
const struct gw_shape gw_shape_hosts = { .form = GW_FORM_LIST, .item = &gw_shape_host };
const struct gw_shape gw_shape_cidr = { .form = GW_FORM_TEXT,
                                        .is = "address range",
                                        .pattern = "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" };
const struct gw_shape gw_shape_cidrs = { .form = GW_FORM_LIST, .item = &gw_shape_cidr };
const struct gw_shape gw_shape_port = { .form = GW_FORM_NUMBER, .min = 1, .max = 65535 };
const struct gw_shape gw_shape_ports = { .form = GW_FORM_LIST, .item = &gw_shape_port };
const struct gw_shape gw_shape_flag = { .form = GW_FORM_FLAG };
