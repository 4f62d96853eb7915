/* gateway/config/ca_file.h - a file of CA certificates in PEM (RFC 7468).
 * Looked at closely enough to tell a bundle from a wrong file; the proxies, which alone link a TLS
 * library, parse it in full. */
#pragma once
#include "gateway/config/reader.h"

/* Reads the file and adds it to the settings, once for each content. False and `err` when it cannot
 * be read, holds no certificate, a damaged one, or a private key. */
bool gw_ca_file_add(struct gw_settings *settings, const char *path, size_t *index,
                    struct gw_error *err);

/* How many certificates; 0 and `err` if the text will not do. */
size_t gw_ca_file_check(struct gw_slice pem, struct gw_error *err);
