/* gateway/proxy/sweep.h - closing what the configuration now in force refuses, and nothing else. */
#pragma once
#include "gateway/proxy/proxy.h"

struct gw_swept {
    unsigned tunnels, exchanges, pooled;
};

struct gw_swept gw_sweep(struct gw_proxy *proxy);
