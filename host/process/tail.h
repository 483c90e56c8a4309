/* SPDX-License-Identifier: Apache-2.0 */
/* tail: the last lines of a text that goes on and on, in a fixed number of bytes. Pure. */
#ifndef HOST_PROCESS_TAIL_H
#define HOST_PROCESS_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty, and its memory is taken with the first line. */
struct host_tail {
    char *data; /* a ring of bytes */
    size_t max;
    uint64_t written; /* bytes, in all its time */
};

void host_tail_release(struct host_tail *tail);

/* A line, without its end; of the lines before those are kept that still fit in `max` bytes. Where
 * there is no memory nothing is kept. */
void host_tail_add(struct host_tail *tail, size_t max, const char *line);

/* The last lines, whole ones, each ended by a line feed, that fit in `size` bytes with a 0 behind
 * them; returns their bytes without it. Of a line alone that does not fit its end. */
size_t host_tail_read(const struct host_tail *tail, char *to, size_t size);

/* Bytes that are kept. */
size_t host_tail_size(const struct host_tail *tail);

#endif
