/* SPDX-License-Identifier: Apache-2.0 */
/* own: a resource ends with the scope of the variable that holds it.
 *
 * `OWN(hub_segment) struct hub_segment *s = NULL;` calls hub_segment_release(&s) on every way out.
 * Initialise where declared. A release function accepts the empty value (NULL, -1) and keeps errno.
 * TAKE(s) hands the resource on and leaves the variable empty: the only way out of the scope.
 */
#ifndef HUB_BASE_OWN_H
#define HUB_BASE_OWN_H

#include <stddef.h>

#define OWN(name) __attribute__((cleanup(name##_release)))

#define TAKE(variable)                                               \
    __extension__({                                                  \
        __typeof__(variable) taken_ = (variable);                    \
        (variable) = _Generic((variable), int : -1, default : NULL); \
        taken_;                                                      \
    })

/* For `OWN(hub_fd) int fd = -1;`: closes it. */
void hub_fd_release(int *fd);

/* For memory from malloc: `OWN(hub_memory) char *text = NULL;`. */
void hub_memory_release(void *pointer_to_pointer);

#endif
