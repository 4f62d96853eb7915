/* gateway/supervisor/credential_source.h - where credential values come from, and what they become
 * in a header field.
 *
 * A variable is read once and wiped where it stands, so that neither /proc/PID/environ nor a child
 * shows it; a reload uses what was read then. A file is read at each load. Values live in struct
 * gw_secret from the first moment on; no error ever holds one. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/secret.h"
#include "gateway/config/settings.h"

/* Both together, with the framing, fit into one message of the channel. */
#define GW_CREDENTIAL_VALUE_MAX 12288
#define GW_CREDENTIAL_USER_MAX 512

struct gw_credential_value {
    struct gw_secret field;  /* "Bearer x": what the header will hold */
    struct gw_secret secret; /* "x": what an answer must not show */
};

struct gw_environment_values; /* variables that were read */

struct gw_environment_values *gw_environment_values_new(void);
void gw_environment_values_free(struct gw_environment_values *values);

/* Refused: a source that is not there, a value that is empty, too long or has control bytes (a
 * final line end is cut off from files, and from files alone). `err` names the credential. */
bool gw_credential_read(struct gw_environment_values *values,
                        const struct gw_settings_credential *credential,
                        struct gw_credential_value *out, struct gw_error *err);

void gw_credential_value_fini(struct gw_credential_value *value);
bool gw_credential_value_equal(const struct gw_credential_value *a,
                               const struct gw_credential_value *b);

/* For --check: could the value be read here and now? Nothing is kept or wiped. */
bool gw_credential_is_there(const struct gw_settings_credential *credential, struct gw_error *err);

/* May others than its owner and group read the file? */
bool gw_credential_file_is_open(const struct gw_settings_credential *credential);
