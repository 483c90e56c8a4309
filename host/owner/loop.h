/* SPDX-License-Identifier: Apache-2.0 */
/* loop: the descriptors and timers of one host behind one pollable descriptor. Owner thread, but
 * for host_loop_wake. A watch may end, or its memory be freed, in any handler: later events of the
 * same turn for it are dropped, because watches are known by numbers that are never used again. */
#ifndef HOST_OWNER_LOOP_H
#define HOST_OWNER_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/id_map.h"
#include "hub/base/list.h"

struct host_watch {
    int fd;
    void (*on)(void *user, uint32_t events); /* EPOLL... */
    void *user;
    uint64_t number; /* 0: not watched */
};

struct host_timer {
    void (*on)(void *user);
    void *user;
    uint64_t due_ns;
    struct hub_list link; /* zeroed: never set */
};

struct host_loop {
    int epoll, timer, bell;
    uint64_t numbers;
    struct hub_id_map *watches;
    struct hub_list timers;
    uint64_t armed_ns;    /* what the timer descriptor is set to */
    bool moved;           /* that may be too late */
    bool handling;        /* what is noted now is looked at in this turn */
    struct hub_a32 woken; /* the bell has a byte, or is being rung */
};

/* At most `watches` descriptors. */
int host_loop_init(struct host_loop *loop, uint32_t watches);
void host_loop_fini(struct host_loop *loop); /* accepts one whose descriptors are -1 */

/* `events` are EPOLLIN and so on. fd, on and user of the watch are set. */
int host_loop_watch(struct host_loop *loop, struct host_watch *watch, uint32_t events);
void host_loop_unwatch(struct host_loop *loop, struct host_watch *watch); /* before the close */

/* on and user of the timer are set. Again: to another time. */
void host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns);
void host_loop_clear(struct host_timer *timer);
bool host_loop_is_set(const struct host_timer *timer);

/* Any thread: the next turn comes at once. */
void host_loop_wake(struct host_loop *loop);

/* Waits at most so long, handles what there is: how many things, or -errno. */
int host_loop_turn(struct host_loop *loop, int timeout_ms);

/* Runs the timers that are due now, without a turn: how many. */
int host_loop_run_timers(struct host_loop *loop);

/* Sets the timer descriptor to the next timer, so that who polls the loop learns of it. */
void host_loop_arm_anew(struct host_loop *loop);

/* The same where any was set since: behind each call that begins nothing is called for it. */
static inline void host_loop_arm(struct host_loop *loop)
{
    if (loop->moved)
        host_loop_arm_anew(loop);
}

#endif
