/* gateway/supervisor/log_files.h - the descriptors that the log writer writes to.
 * Opened anew at each load, so that a file that was renamed away is made again. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "gateway/config/settings.h"

struct gw_log_files {
    int access, running; /* owned; -1: none */
};

bool gw_log_files_open(const struct gw_settings *settings, struct gw_log_files *out,
                       struct gw_error *err);
void gw_log_files_close(struct gw_log_files *files);
