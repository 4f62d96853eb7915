/* base/macros.h - the few macros that every module uses. */
#pragma once
#include <stddef.h>

/* Number of elements of an array (not of a pointer). */
#define GW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* From a pointer to a member back to the struct that embeds it. */
#define gw_container_of(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define GW_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))
#define GW_UNUSED __attribute__((unused))
