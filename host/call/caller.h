/* SPDX-License-Identifier: Apache-2.0 */
/* caller: the memory that a host keeps for each thread that calls: a buffer for encoded arguments,
 * the last result until the next call, and the route cache. It is freed when the thread ends, or
 * with the host. A function here is called by the thread whose memory it is, unless it says
 * otherwise. */
#ifndef HOST_CALL_CALLER_H
#define HOST_CALL_CALLER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "host/call/free_list.h"
#include "host/process/life.h"
#include "host/registry/callers.h"
#include "host/registry/containers.h"
#include "hub/base/line.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"
#include "hub/call/direct_call.h"
#include "hub/call/thread_ends.h"
#include "hub/wire/raw.h"

/* A buffer for encoded arguments. */
struct host_buffer {
    struct host_caller *from; /* NULL: nothing was acquired */
    uint8_t *data;
    size_t capacity;
};

struct host_caller {
    struct host_callers *owner;
    pthread_t thread;
    struct host_buffer buffer;
    struct hub_answer shown, spare;
    struct host_life *life; /* the life whose memory `shown` shows; held; NULL: our own memory */
    struct hub_list link;
    struct hub_thread_end end;
    void *piece; /* a piece of a free list that the thread keeps for itself; NULL: none */
    struct host_free_list *free_list; /* receives `piece` when the thread ends */

    /* The target of the thread's last call; see route_cache.h. The two pointers are set while the
     * thread is outside, and are valid as long as the host's version equals `version`. */
    struct hub_a32 inside;
    /* The last result of a cached call. No other kind of result replaces it. */
    struct hub_answer quick;
    struct hub_answer few;         /* the same for one from a descriptor; its data is in `small` */
    struct hub_direct_order order; /* for such calls; only timeout and method id change */
    struct hub_a64 place_life, place_container;
    struct rapahub_container_id target;
    uint64_t handle;
    uint32_t version;         /* 0: no target */
    uint32_t version_at_rest; /* `version`, or 0 while inside or a result is shown */
    /* a result's bytes begin with the second line */
    _Alignas(HUB_LINE) uint8_t small[2 * HUB_LINE];
};

/* Returns where an answer that came in a descriptor is copied to. */
static inline uint8_t *host_caller_small(struct host_caller *caller)
{
    return caller->small + HUB_RAW_RESPONSE_PHASE;
}

int host_caller_open(struct host_callers *callers);
void host_caller_close(struct host_callers *callers); /* no thread is inside */

/* The caller that this thread used last, and the number of its set of callers. Before the first use
 * it is a number that no set ever has, not even a closed one. */
#define HOST_CALLER_NEVER UINT64_MAX
struct host_caller_last {
    uint64_t number;
    struct host_caller *caller;
};
extern _Thread_local struct host_caller_last host_caller_last_of_thread
    __attribute__((tls_model("initial-exec"))); /* no function call is needed to find it */

/* Returns the calling thread's caller. NULL with the diagnosis if there is no memory, or, in a
 * forked child, no host. Any thread. */
struct host_caller *host_caller_find(struct host_callers *callers);

static inline struct host_caller *host_caller_get(struct host_callers *callers)
{
    const struct host_caller_last *last = &host_caller_last_of_thread;

    if (last->number != callers->number)
        return host_caller_find(callers);
    if (!last->caller)
        __builtin_unreachable(); /* both are set at once */
    return last->caller;
}

/* Acquires the thread's buffer, of at least `size` bytes. Until it is returned, a call that begins
 * inside a turn of the owner gets another buffer. Returns false with the diagnosis if there is no
 * memory. */
bool host_caller_take(struct host_caller *caller, size_t size, struct host_buffer *out);
void host_caller_give(struct host_buffer *buffer); /* harmless twice */

/* host_caller_answer returns an answer whose buffer may be filled. A call made while another call
 * of this thread waits gets a buffer of its own. host_caller_show makes the answer the thread's
 * last result; the previous result is lost. */
struct hub_answer host_caller_answer(struct host_caller *caller);
void host_caller_show(struct host_caller *caller, struct hub_answer *answer);

/* Shows an answer of `life`. If it is a view, the life is held as long as it is shown. */
void host_caller_show_of(struct host_caller *caller, struct hub_answer *answer,
                         struct host_life *life);

/* Shows a view of a small call, which is taken over with the hold on the life. Nothing is copied.
 */
void host_caller_show_view(struct host_caller *caller, struct hub_view *view,
                           struct host_life *life);

/* Releases a result that is shown in a guest's memory: the thread's next call begins. */
void host_caller_hide(struct host_caller *caller);
static inline bool host_caller_shows(const struct host_caller *caller)
{
    return caller->life != NULL;
}

/* Returns whether `data` is in memory of the thread's last results. */
bool host_caller_lends(const struct host_caller *caller, const void *data);

/* Returns whether the thread's last call went to this container. */
bool host_caller_is_to(const struct host_caller *caller, struct rapahub_container_id target);

void host_caller_set_place(struct host_caller *caller, struct host_life *life,
                           struct host_container *container, uint32_t version);

/* Updates `version_at_rest`. To be called after `inside`, `life` or `version` has changed. */
static inline void host_caller_note_rest(struct host_caller *caller)
{
    caller->version_at_rest =
        hub_load_relaxed(&caller->inside) == 0 && !caller->life ? caller->version : 0;
}

/* The thread enters its last target. After the fence it checks that the host's version has not
 * changed. A thread that changes the version checks `inside` after that, before it frees
 * anything. */
static inline void host_caller_enter(struct host_caller *caller)
{
    caller->version_at_rest = 0;
    (void)hub_exchange_and_fence(&caller->inside, 1, &caller->inside);
}

/* The thread leaves: the owner may free the life from now on. After the fence the thread checks the
 * version again. Either it sees a new version and wakes the owner, who may wait for it; or the
 * owner, who changes the version first, sees that the thread has left. */
static inline void host_caller_leave(struct host_caller *caller)
{
    (void)hub_exchange_and_fence(&caller->inside, 0, &caller->inside);
    host_caller_note_rest(caller);
}

static inline bool host_caller_is_inside(const struct host_caller *caller)
{
    return hub_load_relaxed(&caller->inside) != 0;
}

static inline struct host_life *host_caller_life(const struct host_caller *caller)
{
    return (struct host_life *)(uintptr_t)hub_load_relaxed64(&caller->place_life);
}

static inline struct host_container *host_caller_container(const struct host_caller *caller)
{
    return (struct host_container *)(uintptr_t)hub_load_relaxed64(&caller->place_container);
}

/* Return how many threads are inside of this life, or of this container. To be called after a
 * change of the version. Any thread. */
uint32_t host_caller_inside_life(struct host_callers *callers, const struct host_life *life);
uint32_t host_caller_inside_container(struct host_callers *callers,
                                      const struct host_container *container);

/* Releases all results that are shown. No thread uses a result any more, and none is inside. */
void host_caller_hide_all(struct host_callers *callers);

#endif
