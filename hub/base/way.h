/* SPDX-License-Identifier: Apache-2.0 */
/* way: which way copies go to another CPU. What pays depends on what the two CPUs share, which no
 * processor says and a hypervisor changes while a program runs: so it is measured while copying,
 * and a few of each thousand copies go another way, to see whether that pays by now
 * (docs/adr/0024). They do so in a row, since each way finds the lines where the one before it has
 * left them.
 *
 * One of these for each sender and kind of copy. One thread at a time. */
#ifndef HUB_BASE_WAY_H
#define HUB_BASE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hub_way_kind {
    HUB_WAY_NEAR, /* stored as any bytes, into memory that was used last */
    HUB_WAY_FAR,  /* past the caches (streaming_copy.h) */
    HUB_WAY_COLD, /* as any bytes, into memory that was used longest ago: no CPU has it in its own
                     cache */
    HUB_WAY_KINDS
};

struct hub_way {
    uint64_t cost[HUB_WAY_KINDS]; /* of a MiB, in ns; 0: unknown */
    uint64_t begun_ns, bytes;     /* of the copies that are timed together, when and so far */
    uint16_t trial, between;      /* copies in a row: on trial; of the way that pays, until then */
    uint16_t timed, timed_of;     /* the last so many of each so many */
    uint16_t at;                  /* copies of this row so far */
    uint8_t kinds;                /* the first so many of the ways there are */
    uint8_t now, pays, tried;     /* enum hub_way_kind; the last that was on trial */
    bool settled;                 /* each has been tried */
};

/* For single copies that are waited for, of which the same memory is used again each time. */
void hub_way_init_alone(struct hub_way *way);

/* For the many copies of a stream. `cold`: can they go to what was used longest ago? */
void hub_way_init_stream(struct hub_way *way, bool cold);

/* How is the next copy to go, and is it to be timed? */
enum hub_way_kind hub_way_next(const struct hub_way *way);
bool hub_way_is_timed(const struct hub_way *way);

/* It has been made: `size` bytes, from when to when; 0: it was not timed. Of a stream several are
 * timed together with what lies between them, where the sender waits for its reader. */
void hub_way_note(struct hub_way *way, size_t size, uint64_t begun_ns, uint64_t ended_ns);

/* As memcpy, the way that is next. */
void hub_way_copy(struct hub_way *way, void *to, const void *from, size_t size);

#endif
