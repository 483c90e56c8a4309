/* SPDX-License-Identifier: Apache-2.0 */
/* way: chooses how bytes are copied to another CPU. The cheapest kind of copy depends on what the
 * two CPUs share, which no processor reports and which a hypervisor changes while a program runs.
 * So copies are timed, and a small part of them goes another way, to see whether that kind is
 * cheaper by now (docs/adr/0024). Copies of one kind are made in a row, because each kind finds the
 * cache lines where the kind before it left them.
 *
 * Each sender has one of these structs for each sort of traffic; one thread at a time uses it. */
#ifndef HUB_BASE_WAY_H
#define HUB_BASE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hub_way_kind {
    HUB_WAY_NEAR, /* ordinary stores, into the memory that was used last */
    HUB_WAY_FAR,  /* a streaming copy (streaming_copy.h) */
    HUB_WAY_COLD, /* ordinary stores, into the memory that was used longest ago, which no CPU has in
                     its own cache */
    HUB_WAY_KINDS
};

struct hub_way {
    uint64_t cost[HUB_WAY_KINDS]; /* ns for a MiB; 0: unknown */
    uint64_t begun_ns, bytes;     /* the copies that are timed together: start, and bytes so far */
    uint16_t trial, between; /* lengths of rows, in copies: of a row on trial, and of the row of the
                                cheapest kind between two trials */
    uint16_t timed, timed_of; /* of each `timed_of` copies the last `timed` are timed, as one */
    uint16_t at;              /* copies made in this row */
    uint8_t kinds;            /* number of kinds in use, from the first on */
    uint8_t now, pays, tried; /* enum hub_way_kind: in use, cheapest, last on trial */
    bool settled;             /* each kind has been tried once */
};

/* For single copies that are waited for, and that use the same memory each time. */
void hub_way_init_alone(struct hub_way *way);

/* For the many copies of a stream. `cold` says whether they can go to the memory that was used
 * longest ago. */
void hub_way_init_stream(struct hub_way *way, bool cold);

/* Return the kind of the next copy, and whether it must be timed. */
enum hub_way_kind hub_way_next(const struct hub_way *way);
bool hub_way_is_timed(const struct hub_way *way);

/* Records that the next copy was made: `size` bytes, from `begun_ns` to `ended_ns`, which are 0 if
 * it was not timed. The copies of a stream that are timed together include the time between them,
 * in which the sender waits for its reader. */
void hub_way_note(struct hub_way *way, size_t size, uint64_t begun_ns, uint64_t ended_ns);

/* Copies like memcpy, by the kind that is next, and records it. */
void hub_way_copy(struct hub_way *way, void *to, const void *from, size_t size);

#endif
