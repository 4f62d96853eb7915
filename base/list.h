/* base/list.h - an intrusive, circular, doubly linked list.
 * A member that is in no list points at itself, so removing twice is harmless. */
#pragma once
#include <stdbool.h>

struct gw_list {
    struct gw_list *next, *previous;
};

static inline void gw_list_init(struct gw_list *list)
{
    list->next = list->previous = list;
}

static inline bool gw_list_empty(const struct gw_list *list)
{
    return list->next == list;
}

static inline void gw_list_append(struct gw_list *list, struct gw_list *member)
{
    member->next = list;
    member->previous = list->previous;
    list->previous->next = member;
    list->previous = member;
}

static inline void gw_list_remove(struct gw_list *member)
{
    member->previous->next = member->next;
    member->next->previous = member->previous;
    gw_list_init(member);
}

/* Walks the list; `at` itself may be removed by the body, `after` may not. */
#define gw_list_each(at, after, list)                                        \
    for (struct gw_list *at = (list)->next, *after = at->next; at != (list); \
         at = after, after = at->next)
