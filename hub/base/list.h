/* SPDX-License-Identifier: Apache-2.0 */
/* list: a circular list with its links inside the items; the head is a link too. By one link an
 * item is in at most one list. Not thread-safe. */
#ifndef HUB_BASE_LIST_H
#define HUB_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hub_list {
    struct hub_list *next, *previous;
};

/* The item that contains `link` as its `member`. */
#define HUB_LIST_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Visits the links; the current one may be removed. */
#define HUB_LIST_EACH(head, link)                                                             \
    for (struct hub_list *link = (head)->next, *link##_next = (link)->next; (link) != (head); \
         (link) = link##_next, link##_next = (link)->next)

static inline void hub_list_init(struct hub_list *link)
{
    link->next = link->previous = link;
}

static inline bool hub_list_empty(const struct hub_list *head)
{
    return head->next == head;
}

static inline void hub_list_append(struct hub_list *head, struct hub_list *link)
{
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

/* Removes the link and leaves it as a list of its own, so a second removal is harmless. */
static inline void hub_list_remove(struct hub_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    hub_list_init(link);
}

/* Removes and returns the first link, or NULL if the list is empty. */
static inline struct hub_list *hub_list_pop(struct hub_list *head)
{
    struct hub_list *first = head->next;

    if (first == head)
        return NULL;
    hub_list_remove(first);
    return first;
}

#endif
