/* tests/support/policy_text.h - a policy, and what the gateway knows about itself, in one line.
 *
 * A policy is items separated by ';', fed to the builder in the order in which they stand:
 *   kind=allow-all               or deny-all; static without it; must come first
 *   allow=h,.s,h:5432,h~off      entries, each with an SNI mode of its own if there is a '~'
 *   ports=443,80                 plain_ports=80 (may be empty)   sni=match
 *   plaintext=h                  tls=h@bundle
 *   inward=h,h@10.0.0.0/8+fd00::/8
 *   deny=198.51.100.0/24
 *   rule=h|GET,POST|/v1,/v2|encoded     methods and paths may be empty; "encoded" may be left out
 *   cred=name@host@header@plaintext     "plaintext" (allow_plaintext) may be left out
 *
 * What the gateway knows about itself: `addr=127.0.0.1,10.0.0.2;listen=127.0.0.1:3128,*:9464`,
 * where '*' is a wildcard listener; `-` is nothing. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "base/slice.h"
#include "policy/decision.h"
#include "policy/policy_image.h"

/* The image of the policy; `*bytes` is the caller's to free. False, and `err` says why, when the
 * builder refuses an item. An item that this reader does not know fails the test. */
bool gw_policy_text_build(struct gw_slice text, void **bytes, struct gw_image *image,
                          struct gw_error *err);

#define GW_OWN_TEXT_MAX 16

struct gw_own_text {
    struct gw_ip_address addresses[GW_OWN_TEXT_MAX];
    struct gw_own_listener listeners[GW_OWN_TEXT_MAX];
    struct gw_own own; /* points into this struct */
};

/* Fails the test on a mistake. */
void gw_own_text_parse(struct gw_slice text, struct gw_own_text *out);
