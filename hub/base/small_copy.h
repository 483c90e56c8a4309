/* SPDX-License-Identifier: Apache-2.0 */
/* small_copy: small copies whose size is known only at run time. A call of memcpy would take longer
 * than the copy. */
#ifndef HUB_BASE_SMALL_COPY_H
#define HUB_BASE_SMALL_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies at most 32 bytes, as the first and the last of them, which may overlap. Some bytes may be
 * read twice: if another process may write them, only the copy may be examined. */
static inline __attribute__((always_inline)) void hub_small_copy_copy(void *to, const void *from,
                                                                      size_t size)
{
    char *out = to;
    const char *in = from;

    if (size >= 16) {
        memcpy(out, in, 16);
        memmove(out + size - 16, in + size - 16, 16);
    } else if (size >= 8) {
        uint64_t first, last;

        memcpy(&first, in, 8);
        memcpy(&last, in + size - 8, 8);
        memcpy(out, &first, 8);
        memcpy(out + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;

        memcpy(&first, in, 4);
        memcpy(&last, in + size - 4, 4);
        memcpy(out, &first, 4);
        memcpy(out + size - 4, &last, 4);
    } else if (size > 0) {
        char middle = in[size / 2], last = in[size - 1];

        out[0] = in[0];
        out[size / 2] = middle;
        out[size - 1] = last;
    }
}

#endif
