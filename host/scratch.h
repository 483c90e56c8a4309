/* SPDX-License-Identifier: Apache-2.0 */
/* scratch: memory of a thread that calls: where arguments are encoded, and where the last result
 * lies until the next call. Freed when the thread ends, or with the host. */
#ifndef HOST_SCRATCH_H
#define HOST_SCRATCH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "host/life.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/link/calls.h"

struct host_scratches {
    pthread_key_t key;
    bool open;
    struct hub_mutex lock;
    struct hub_list all GUARDED_BY(lock);
};

/* Where arguments are encoded. */
struct host_buffer {
    struct host_scratch *from; /* NULL: nothing was taken */
    uint8_t *data;
    size_t capacity;
};

struct host_scratch {
    struct host_scratches *owner;
    struct host_buffer buffer;
    struct hub_answer shown, spare;
    struct host_life *life; /* whose memory `shown` shows; held; NULL: our own */
    struct hub_list link;
};

int host_scratch_open(struct host_scratches *scratches);
void host_scratch_close(struct host_scratches *scratches); /* no thread is inside */

/* The calling thread's; NULL with the diagnosis where there is no memory. */
struct host_scratch *host_scratch_get(struct host_scratches *scratches);

/* Takes the thread's buffer, of at least `size` bytes: a call that begins while it is away, inside
 * of a turn of the owner, gets another one. False for no memory, with the diagnosis. */
bool host_scratch_take(struct host_scratch *scratch, size_t size, struct host_buffer *out);
void host_scratch_give(struct host_buffer *buffer); /* harmless twice */

/* An answer's buffer to fill. A call made while another one of this thread waits gets one of its
 * own. host_scratch_show makes it the thread's last result; the one before is lost. */
struct hub_answer host_scratch_answer(struct host_scratch *scratch);
void host_scratch_show(struct host_scratch *scratch, struct hub_answer *answer);

/* The same for one of `life` that may be shown where it lies: the life is held as long. */
void host_scratch_show_of(struct host_scratch *scratch, struct hub_answer *answer,
                          struct host_life *life);

/* What lies in memory of a guest is looked at no more: the thread's next call begins. */
void host_scratch_hide(struct host_scratch *scratch);

/* Nobody looks at a result any more. No thread is inside. */
void host_scratch_hide_all(struct host_scratches *scratches);

#endif
