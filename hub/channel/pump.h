/* SPDX-License-Identifier: Apache-2.0 */
/* pump: moves bytes from a source to a sink, on a thread of a pool, until the end, a failure or a
 * stop. */
#ifndef HUB_CHANNEL_PUMP_H
#define HUB_CHANNEL_PUMP_H

#include <stddef.h>

#include "hub/base/thread_pool.h"
#include "hub/channel/stream.h"

struct hub_pump;

struct hub_pump_options {
    struct rapahub_source *source; /* both outlive the pump */
    struct rapahub_sink *sink;
    struct hub_thread_pool *pool; /* outlives it as well */
    size_t piece; /* bytes at once; more from a source that lends them and is fast */
    /* Becomes true when a byte or an end comes out of the source; read it after the join. Until
     * then `spared`, the source or the sink, is left as it was, for another pump. NULL: neither. */
    bool *moved;
    const void *spared;
    void (*on_moved)(void *user); /* when bytes moved, on the pump's thread */
    void (*on_end)(void *user);   /* last of all, on the pump's thread */
    void *user;
};

/* Starts a pump. RAPAHUB_ENOMEM, also if the system has no thread left: then nothing was moved. */
int hub_pump_start(const struct hub_pump_options *options, struct hub_pump **out);

/* Makes it end soon, wherever it waits. Any thread. */
void hub_pump_stop(struct hub_pump *pump);

/* Waits for its end and frees it: 0 if everything was moved and the sink was ended; -ECANCELED
 * after a stop; else the failure of the source or of the sink, with its diagnosis; *at_source says
 * which. */
int hub_pump_join(struct hub_pump **pump, bool *at_source);

#endif
