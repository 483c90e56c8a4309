/* SPDX-License-Identifier: Apache-2.0 */
/* loop: the descriptors and timers of one host, combined into one pollable descriptor. Owner
 * thread, except host_loop_wake. Any handler may end a watch or free its memory: later events of
 * the same turn for it are dropped, because watches have numbers that are never reused. */
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
    uint64_t armed_ns;    /* the time to which the timer descriptor is set */
    bool moved;           /* that time may be too late */
    bool handling;        /* timers set now are checked in this turn */
    struct hub_a32 woken; /* the bell has a byte, or is being written */
};

/* Makes a loop for at most `watches` descriptors. */
int host_loop_init(struct host_loop *loop, uint32_t watches);
void host_loop_fini(struct host_loop *loop); /* allows one whose descriptors are -1 */

/* Adds a watch, whose fd, on and user are set. `events` are EPOLLIN and so on. */
int host_loop_watch(struct host_loop *loop, struct host_watch *watch, uint32_t events);
/* before the descriptor is closed */
void host_loop_unwatch(struct host_loop *loop, struct host_watch *watch);

/* Sets a timer, whose on and user are set. Setting it again changes its time. */
void host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns);
void host_loop_clear(struct host_timer *timer);
bool host_loop_is_set(const struct host_timer *timer);

/* Makes the next turn come at once. Any thread. */
void host_loop_wake(struct host_loop *loop);

/* Waits at most `timeout_ms`, handles the events, and returns their number, or -errno. */
int host_loop_turn(struct host_loop *loop, int timeout_ms);

/* Runs the timers that are due now, without a turn, and returns their number. */
int host_loop_run_timers(struct host_loop *loop);

/* Sets the timer descriptor to the next timer, so that a poll of the loop notices it. */
void host_loop_arm_anew(struct host_loop *loop);

/* The same if a timer was set since. After a call that sets none, no function is called. */
static inline void host_loop_arm(struct host_loop *loop)
{
    if (loop->moved)
        host_loop_arm_anew(loop);
}

#endif
