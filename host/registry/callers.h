/* SPDX-License-Identifier: Apache-2.0 */
/* callers: the callers of a host, which are its memory for each thread that calls; see caller.h.
 * They are at the very beginning of a host, because their number tells a forked child that it has
 * no host: see forked.h. */
#ifndef HOST_REGISTRY_CALLERS_H
#define HOST_REGISTRY_CALLERS_H

#include <pthread.h>
#include <stdint.h>

#include "hub/base/line.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"

#define HOST_CALLER_LINE HUB_LINE

struct host_callers {
    uint64_t number; /* 1 and above, unique among open hosts; 0: closed; see forked.h */
    uint8_t alone[HOST_CALLER_LINE - sizeof(uint64_t)];
    pthread_key_t key;
    struct hub_mutex lock;
    struct hub_list all GUARDED_BY(lock);
};

#endif
