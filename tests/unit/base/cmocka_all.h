/* tests/unit/base/cmocka_all.h - cmocka.h wants these before it. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
