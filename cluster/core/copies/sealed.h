/* SPDX-License-Identifier: Apache-2.0 */
/* sealed: which copy a life begins with that has none of its own: the newest one of the holders
 * that were sealed for it. A single one is enough, since all of them have each call that was
 * answered.
 */
#ifndef CLUSTER_CORE_COPIES_SEALED_H
#define CLUSTER_CORE_COPIES_SEALED_H

#include <stdint.h>

struct cluster_sealed {
    uint32_t node;
    uint64_t token, seq; /* its newest copy; 0, 0: it has none */
    uint64_t size;       /* bytes of the file with it */
};

/* Returns the place of the one with the newest copy, by token and seq; `count`: none has any. */
uint32_t cluster_sealed_newest(const struct cluster_sealed *sealed, uint32_t count);

#endif
