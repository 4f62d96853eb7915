/* tests/unit/config/config_support.h - configurations from text, with sources that do not depend on
 * the machine. "$DATA" in the text stands for tests/data/config. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "gateway/config/config.h"
#include "gateway/config/sources.h"

#define SUPPORT_DESCRIPTORS 1000

void support_sources(struct gw_config_sources *sources);

/* Fails the test when there is an error. */
struct gw_settings *support_load(const char *yaml);

/* The errors of the text, "line:column: text\n" each (the caller frees it), with "$DATA" where the
 * folder stood; "" when there is none. */
char *support_errors(const char *yaml);

/* `text` with every `from` replaced; the caller frees it. */
char *support_replace(const char *text, const char *from, const char *to);

struct support_case {
    const char *yaml;
    const char *errors; /* as support_errors() */
    const char *why;
};

/* Fails, after looking at all of them, if one has other errors. */
void support_check(const struct support_case *cases, size_t count);
