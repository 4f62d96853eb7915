/* base/check.h - promises made to ourselves, kept in release builds.
 * Nothing that a peer, a file, a resolver or the kernel can cause may reach a gw_check(). */
#pragma once

/* Prints the broken promise to standard error and aborts. Never returns. */
_Noreturn void gw_check_failed(const char *condition, const char *file, int line);

#define gw_check(condition) \
    ((condition) ? (void)0 : gw_check_failed(#condition, __FILE__, __LINE__))
