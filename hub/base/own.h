/* SPDX-License-Identifier: Apache-2.0 */
/* own: resources that are released when the variable that holds them goes out of scope.
 *
 * `OWN(hub_segment) struct hub_segment *s = NULL;` calls hub_segment_release(&s) on every way out.
 * Such a variable is initialised where it is declared. A release function accepts the empty value
 * (NULL, -1) and keeps errno. TAKE(s) returns the resource and leaves the variable empty; only so
 * does a resource leave its scope.
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

/* Closes the descriptor of `OWN(hub_fd) int fd = -1;`. */
void hub_fd_release(int *fd);

/* Frees the memory of `OWN(hub_memory) char *text = NULL;`. */
void hub_memory_release(void *pointer_to_pointer);

#endif
