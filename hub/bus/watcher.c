/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread.h"
#include "hub/bus/blocker.h"
#include "hub/bus/spsc.h"

#define LOOK (10 * HUB_MILLISECOND) /* at a position that is claimed and not published */

enum watcher_state { WATCHER_RESTS, WATCHER_WATCHES, WATCHER_ENDS };

struct watched {
    struct hub_ring_view view;
    struct hub_a64 head; /* the position that is watched */
};

struct hub_watcher {
    const struct rapahub_region *region;
    bool many;                    /* positions of the only ring are claimed */
    struct hub_a32 state;         /* enum watcher_state; the thread rests on it */
    struct hub_listener listener; /* `tell` NULL: none */
    struct hub_a64 until_ns;      /* nothing is told before; 0: at once */
    int fd;                       /* -1: none */
    pthread_t thread;
    uint32_t count;
    struct watched rings[];
};

static void tell(const struct hub_watcher *watcher)
{
    const uint64_t one = 1;
    ssize_t r;

    if (watcher->listener.tell) {
        watcher->listener.tell(watcher->listener.user);
        return;
    }
    do
        r = write(watcher->fd, &one, sizeof one);
    while (r < 0 && errno == EINTR);
}

static bool is_claimed(const struct hub_watcher *watcher)
{
    const struct watched *ring = &watcher->rings[0];

    return watcher->many && hub_observe64(&ring->view.ring->tail) > hub_observe64(&ring->head);
}

/* There is a message, or the consumer has to take back what a dead producer left. */
static bool is_something(const struct hub_watcher *watcher)
{
    for (uint32_t i = 0; i < watcher->count; i++)
        if (!hub_spsc_is_empty(&watcher->rings[i].view, hub_observe64(&watcher->rings[i].head)))
            return true;
    return is_claimed(watcher) &&
           hub_blocker_is_dead(watcher->region, hub_observe64(&watcher->rings[0].head));
}

/* Rests until there may be something to tell; false: it is armed no more. */
static bool await_time(struct hub_watcher *watcher)
{
    uint64_t until = hub_load_relaxed64(&watcher->until_ns);

    while (hub_observe(&watcher->state) == WATCHER_WATCHES && hub_clock_left(until) > 0)
        (void)hub_futex_wait_private(&watcher->state, WATCHER_WATCHES, until);
    return hub_observe(&watcher->state) == WATCHER_WATCHES;
}

/* Sleeps where a waiting consumer sleeps; a wake is for all. */
static void watch(struct hub_watcher *watcher)
{
    const struct hub_sleep *sleep = &watcher->rings[0].view.not_empty;

    while (await_time(watcher)) {
        uint32_t sequence = hub_sleep_arm(sleep);

        if (is_something(watcher)) {
            if (hub_claim(&watcher->state, WATCHER_WATCHES, WATCHER_RESTS))
                tell(watcher);
        } else if (hub_observe(&watcher->state) == WATCHER_WATCHES) {
            hub_sleep_for(sleep, sequence, is_claimed(watcher) ? hub_clock_after(LOOK) : HUB_NEVER);
        }
    }
}

static void *run(void *user)
{
    struct hub_watcher *watcher = user;
    uint32_t state;

    while ((state = hub_observe(&watcher->state)) != WATCHER_ENDS) {
        if (state == WATCHER_WATCHES)
            watch(watcher);
        else
            (void)hub_futex_wait_private(&watcher->state, WATCHER_RESTS, HUB_NEVER);
    }
    return NULL;
}

static void aim(struct hub_watcher *watcher, const struct hub_fanin_reader *reader)
{
    for (uint32_t i = 0; i < watcher->count; i++)
        hub_publish64(&watcher->rings[i].head, reader->rings[i].head);
}

int hub_watcher_start(const struct hub_fanin_reader *reader, const struct hub_listener *listener,
                      struct hub_watcher **out)
{
    struct hub_watcher *watcher =
        calloc(1, sizeof *watcher + reader->count * sizeof *watcher->rings);
    int r;

    if (!watcher)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the watcher of a region");
    watcher->region = reader->rings[0].producer.region;
    watcher->many = reader->rings[0].many;
    watcher->count = reader->count;
    for (uint32_t i = 0; i < reader->count; i++)
        watcher->rings[i].view = reader->rings[i].view;
    aim(watcher, reader);
    watcher->state.word = WATCHER_WATCHES;
    watcher->listener = listener ? *listener : (struct hub_listener){NULL, NULL};
    watcher->fd = listener ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = !listener && watcher->fd < 0 ? -errno : hub_thread_start(&watcher->thread, run, watcher);
    if (r == 0) {
        *out = watcher;
        return 0;
    }
    if (watcher->fd >= 0)
        close(watcher->fd);
    free(watcher);
    return rapahub_fail(r, "", "cannot start the watcher of a region");
}

void hub_watcher_stop(struct hub_watcher *watcher)
{
    if (!watcher)
        return;
    (void)hub_exchange(&watcher->state, WATCHER_ENDS);
    hub_futex_wake_private(&watcher->state);
    hub_sleep_wake_all(&watcher->rings[0].view.not_empty);
    (void)pthread_join(watcher->thread, NULL);
    if (watcher->fd >= 0)
        close(watcher->fd);
    free(watcher);
}

int hub_watcher_fd(const struct hub_watcher *watcher)
{
    return watcher->fd;
}

/* A thread that watches already told nothing since: only one that rests has. */
void hub_watcher_arm(struct hub_watcher *watcher, const struct hub_fanin_reader *reader)
{
    uint64_t told;

    if (hub_observe(&watcher->state) == WATCHER_WATCHES)
        return;
    if (watcher->fd >= 0 && read(watcher->fd, &told, sizeof told) < 0 && errno == EAGAIN)
        return; /* it is about to tell */
    aim(watcher, reader);
    (void)hub_exchange(&watcher->state, WATCHER_WATCHES);
    hub_futex_wake_private(&watcher->state);
}

void hub_watcher_pause(struct hub_watcher *watcher, uint64_t until_ns)
{
    hub_store_relaxed64(&watcher->until_ns, until_ns);
}
