/* SPDX-License-Identifier: Apache-2.0 */
/* way: which of two ways copies go to another CPU: stored as any bytes (near), or past the caches
 * (far.h). What pays depends on what the two CPUs share, which no processor says and a hypervisor
 * changes while a program runs: so it is measured while copying, and a few of each thousand copies
 * go the way that did not pay, to see whether it does by now (docs/adr/0024).
 *
 * One of these for each sender and kind of copy; zeroed it knows nothing. One thread at a time. */
#ifndef HUB_BASE_WAY_H
#define HUB_BASE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_way {
    uint64_t cost[2]; /* of a MiB, near and far, in ns; 0: unknown */
    uint32_t copies;  /* so far; it wraps */
    bool far;         /* what pays, by these */
};

/* Is the next copy to go far, and is it to be timed? */
bool hub_way_goes_far(const struct hub_way *way);
bool hub_way_is_timed(const struct hub_way *way);

/* It has been made: `size` bytes, in so many ns; 0: it was not timed. */
void hub_way_note(struct hub_way *way, size_t size, uint64_t ns);

/* As memcpy, the way that pays. */
void hub_way_copy(struct hub_way *way, void *to, const void *from, size_t size);

#endif
