/* gateway/supervisor/running_snapshot.h - the part of a configuration that proxies are told. */
#pragma once
#include "gateway/supervisor/running.h"

/* A sealed memfd (common/snapshot.h), decoded once to be sure that proxies will take it; or -1. */
int gw_running_snapshot(const struct gw_running *running, const char *via_token,
                        struct gw_error *err);
