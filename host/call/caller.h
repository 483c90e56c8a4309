/* SPDX-License-Identifier: Apache-2.0 */
/* caller: memory of a thread that calls: where arguments are encoded, and where the last result
 * lies until the next call. Freed when the thread ends, or with the host. */
#ifndef HOST_CALL_CALLER_H
#define HOST_CALL_CALLER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "host/call/free_list.h"
#include "host/process/life.h"
#include "host/registry/containers.h"
#include "host/registry/scratches.h"
#include "hub/base/line.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"
#include "hub/call/direct_call.h"
#include "hub/wire/raw.h"

/* Where arguments are encoded. */
struct host_buffer {
    struct host_caller *from; /* NULL: nothing was taken */
    uint8_t *data;
    size_t capacity;
};

struct host_caller {
    struct host_callers *owner;
    pthread_t thread;
    struct host_buffer buffer;
    struct hub_answer shown, spare;
    struct host_life *life; /* whose memory `shown` shows; held; NULL: our own */
    struct hub_list link;
    void *piece;                  /* of a shelf, which the thread keeps for itself; NULL: none */
    struct host_free_list *shelf; /* gets it when the thread ends */

    /* Where this thread called last; see route_cache.h. The two pointers are set while it is
     * outside, and are good as long as the host's version is that. */
    struct hub_a32 inside;
    struct hub_answer
        quick;             /* the last result of a small call: its own, while others come and go */
    struct hub_answer few; /* the same of one that came in a descriptor, in `small` */
    struct hub_direct_order order; /* of such a call; but for a timeout, made once */
    struct hub_a64 place_life, place_container;
    struct rapahub_container_id target;
    uint64_t handle;
    uint32_t version;         /* 0: nowhere */
    uint32_t version_at_rest; /* that, where it is outside and nothing is shown; else 0 */
    _Alignas(HUB_LINE) uint8_t small[2 * HUB_LINE]; /* its bytes begin with the second line */
};

/* Where an answer in a descriptor goes. */
static inline uint8_t *host_caller_small(struct host_caller *scratch)
{
    return scratch->small + HUB_RAW_RESPONSE_PHASE;
}

int host_caller_open(struct host_callers *scratches);
void host_caller_close(struct host_callers *scratches); /* no thread is inside */

/* The one that the calling thread has asked for last, and of which that was. Before it has asked:
 * of none that there can be, nor of a closed one. */
#define HOST_CALLER_NEVER UINT64_MAX
struct host_caller_last {
    uint64_t number;
    struct host_caller *scratch;
};
extern _Thread_local struct host_caller_last host_caller_last_of_thread
    __attribute__((tls_model("initial-exec"))); /* no function is called to find it */

/* The calling thread's; NULL with the diagnosis where there is no memory, or, in a forked child, no
 * host. */
struct host_caller *host_caller_find(struct host_callers *scratches);

static inline struct host_caller *host_caller_get(struct host_callers *scratches)
{
    const struct host_caller_last *last = &host_caller_last_of_thread;

    if (last->number != scratches->number)
        return host_caller_find(scratches);
    if (!last->scratch)
        __builtin_unreachable(); /* both are set at once */
    return last->scratch;
}

/* Takes the thread's buffer, of at least `size` bytes: a call that begins while it is away, inside
 * of a turn of the owner, gets another one. False for no memory, with the diagnosis. */
bool host_caller_take(struct host_caller *scratch, size_t size, struct host_buffer *out);
void host_caller_give(struct host_buffer *buffer); /* harmless twice */

/* An answer's buffer to fill. A call made while another one of this thread waits gets one of its
 * own. host_caller_show makes it the thread's last result; the one before is lost. */
struct hub_answer host_caller_answer(struct host_caller *scratch);
void host_caller_show(struct host_caller *scratch, struct hub_answer *answer);

/* The same for one of `life` that may be shown where it lies: the life is held as long. */
void host_caller_show_of(struct host_caller *scratch, struct hub_answer *answer,
                         struct host_life *life);

/* The same of one that the caller holds, and no more behind it. */
void host_caller_show_held(struct host_caller *scratch, struct hub_answer *answer,
                           struct host_life *life);

/* The same, where `shown` is a view of it already, and showed none before. */
static inline void host_caller_show_there(struct host_caller *scratch, struct host_life *life)
{
    scratch->shown.size = scratch->shown.view.size;
    scratch->life = life;
    scratch->version_at_rest = 0;
}

/* What lies in memory of a guest is looked at no more: the thread's next call begins. */
void host_caller_hide(struct host_caller *scratch);
static inline bool host_caller_shows(const struct host_caller *scratch)
{
    return scratch->life != NULL;
}

/* Is this in memory of the last results of the thread? */
bool host_caller_lends(const struct host_caller *scratch, const void *data);

/* Is that the container that the thread called last? */
bool host_caller_is_to(const struct host_caller *scratch, struct rapahub_container_id target);

void host_caller_set_place(struct host_caller *scratch, struct host_life *life,
                           struct host_container *container, uint32_t version);

/* To be called where one of these has changed. */
static inline void host_caller_note_rest(struct host_caller *scratch)
{
    scratch->version_at_rest =
        hub_load_relaxed(&scratch->inside) == 0 && !scratch->life ? scratch->version : 0;
}

/* The thread is inside of that place: behind it, and behind the fence in it, it looks whether the
 * host's version is still the same; who changes that looks here afterwards, before it frees. */
static inline void host_caller_enter(struct host_caller *scratch)
{
    scratch->version_at_rest = 0;
    (void)hub_exchange_and_fence(&scratch->inside, 1, &scratch->inside);
}

/* Behind it the owner may free the life. Behind the fence in it the thread looks whether the
 * version is another one: either it sees that, and wakes the owner, who may wait for it, or the
 * owner, who changes the version first, sees that it has left. */
static inline void host_caller_leave(struct host_caller *scratch)
{
    (void)hub_exchange_and_fence(&scratch->inside, 0, &scratch->inside);
    host_caller_note_rest(scratch);
}

static inline bool host_caller_is_inside(const struct host_caller *scratch)
{
    return hub_load_relaxed(&scratch->inside) != 0;
}

static inline struct host_life *host_caller_life(const struct host_caller *scratch)
{
    return (struct host_life *)(uintptr_t)hub_load_relaxed64(&scratch->place_life);
}

static inline struct host_container *host_caller_container(const struct host_caller *scratch)
{
    return (struct host_container *)(uintptr_t)hub_load_relaxed64(&scratch->place_container);
}

/* How many threads are inside of this life, or of this container. Behind a change of the version.
 */
uint32_t host_caller_inside_life(struct host_callers *scratches, const struct host_life *life);
uint32_t host_caller_inside_container(struct host_callers *scratches,
                                      const struct host_container *container);

/* Nobody looks at a result any more. No thread is inside. */
void host_caller_hide_all(struct host_callers *scratches);

#endif
