/* gateway/config/scalars.h - readers of single values; the key's shape has the bounds and words.
 *
 * Text is text whatever it looks like: `no`, `1.10` and `010` are not converted. Numbers are
 * decimal digits without quotes, signs, leading zeros or exponents, since every other spelling
 * means different things to different readers of YAML. A quoted number is text, and refused. */
#pragma once
#include "gateway/config/reader.h"

gw_key_read gw_read_text;     /* char *: a copy; what was there is freed */
gw_key_read gw_read_path;     /* char *: absolute */
gw_key_read gw_read_number32; /* uint32_t */
gw_key_read gw_read_number64; /* uint64_t */
gw_key_read gw_read_flag;     /* bool */
gw_key_read gw_read_word;     /* int, an enum's: the word's value */

/* The same without a key, for members of lists. False: complained, and `out` untouched. */
bool gw_scalar_number(struct gw_reader *reader, const char *what, const struct gw_shape *shape,
                      const struct gw_yaml_node *node, uint64_t *out);
bool gw_scalar_word(struct gw_reader *reader, const char *what, const struct gw_shape *shape,
                    const struct gw_yaml_node *node, int *out);
bool gw_scalar_path(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node);
bool gw_scalar_cidr(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                    struct gw_cidr *out);
/* A host of a setting for which a port would mean nothing. */
bool gw_scalar_host(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                    struct gw_host_pattern *out);
/* IP, IP:PORT or [IPv6]:PORT; `port` is filled in where none is written, 0: one must be. */
bool gw_scalar_endpoint(struct gw_reader *reader, const char *what, const struct gw_yaml_node *node,
                        uint16_t port, struct gw_endpoint *out);
