/* SPDX-License-Identifier: Apache-2.0 */
/* host: the whole of one host: all floors, and the state that its owner keeps between turns. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/host.h>

#include "host/observe/observe.h"

struct rapahub_host {
    struct host_observe observe; /* this and the rest are the owner's */
    uint32_t glances;            /* turns since the last that looked at the descriptors */
    uint32_t polls;              /* turns in a row without a wait */
    bool unheard;                /* some lives have an unarmed doorbell */
    struct hub_a32 polled;       /* 1: some turns armed no doorbell; any thread */
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
