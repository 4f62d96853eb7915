/* base/check.c */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void gw_check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "namzu-gw: broken promise: %s (%s:%d)\n", condition, file, line);
    abort();
}
