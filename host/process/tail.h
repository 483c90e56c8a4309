/* SPDX-License-Identifier: Apache-2.0 */
/* tail: the last lines of an endless text, in a fixed number of bytes. Pure. */
#ifndef HOST_PROCESS_TAIL_H
#define HOST_PROCESS_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty; its memory is allocated with the first line. */
struct host_tail {
    char *data; /* a ring of bytes */
    size_t max;
    uint64_t written; /* bytes written ever */
};

void host_tail_release(struct host_tail *tail);

/* Adds a line, given without its end, and keeps as many earlier lines as fit with it in `max`
 * bytes. If there is no memory nothing is kept. */
void host_tail_add(struct host_tail *tail, size_t max, const char *line);

/* Copies the last whole lines, each ended by a line feed, that fit in `size` bytes with a 0 after
 * them, and returns their bytes without it. If not even one line fits, its end is copied. */
size_t host_tail_read(const struct host_tail *tail, char *to, size_t size);

/* Returns the bytes kept. */
size_t host_tail_size(const struct host_tail *tail);

#endif
