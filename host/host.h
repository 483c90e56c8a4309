/* SPDX-License-Identifier: Apache-2.0 */
/* host: the whole of one host: all floors, and what a turn of its owner keeps from one to the next.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/host.h>

#include "host/observe/observe.h"

struct rapahub_host {
    struct host_observe observe; /* the rest is the owner's */
    uint32_t glances;            /* turns since one looked at the descriptors */
    uint32_t polls;              /* turns without a wait, one after the other */
    bool unheard;                /* there are lives whose doorbells are not armed */
    struct hub_a32 polled;       /* 1: there were turns that armed no doorbell; any thread */
};

/* See floors.h. */
_Static_assert(offsetof(struct rapahub_host, observe) == 0 &&
                   offsetof(struct host_observe, supervision) == 0 &&
                   offsetof(struct host_supervision, call) == 0 &&
                   offsetof(struct host_call, process) == 0 &&
                   offsetof(struct host_process, owner) == 0 &&
                   offsetof(struct host_owner, registry) == 0,
               "all floors begin where the host does");

#define HOST_WHOLE(host) HOST_FLOOR(rapahub_host, host)

#endif
