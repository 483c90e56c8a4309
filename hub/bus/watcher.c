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

struct hub_watcher {
    const struct rapahub_region *region;
    struct hub_ring_view view;
    bool many;            /* positions of the ring are claimed */
    struct hub_a32 state; /* enum watcher_state; the thread rests on it */
    struct hub_a64 head;  /* the position that it watches */
    int fd;
    pthread_t thread;
};

static void tell(const struct hub_watcher *watcher)
{
    const uint64_t one = 1;
    ssize_t r;

    do
        r = write(watcher->fd, &one, sizeof one);
    while (r < 0 && errno == EINTR);
}

static bool is_claimed(const struct hub_watcher *watcher, uint64_t head)
{
    return watcher->many && hub_observe64(&watcher->view.ring->tail) > head;
}

/* There is a message, or the consumer has to take back what a dead producer left. */
static bool is_something(const struct hub_watcher *watcher, uint64_t head)
{
    return !hub_spsc_is_empty(&watcher->view, head) ||
           (is_claimed(watcher, head) && hub_blocker_is_dead(watcher->region, head));
}

/* Sleeps where a waiting consumer sleeps; a wake is for all. */
static void watch(struct hub_watcher *watcher)
{
    const struct hub_sleep *sleep = &watcher->view.not_empty;

    while (hub_observe(&watcher->state) == WATCHER_WATCHES) {
        uint32_t sequence = hub_sleep_arm(sleep);
        uint64_t head = hub_observe64(&watcher->head);

        if (is_something(watcher, head)) {
            if (hub_claim(&watcher->state, WATCHER_WATCHES, WATCHER_RESTS))
                tell(watcher);
        } else if (hub_observe(&watcher->state) == WATCHER_WATCHES) {
            hub_sleep_for(sleep, sequence,
                          is_claimed(watcher, head) ? hub_clock_after(LOOK) : HUB_NEVER);
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

int hub_watcher_start(const struct hub_ring_reader *reader, struct hub_watcher **out)
{
    struct hub_watcher *watcher = calloc(1, sizeof *watcher);
    int r;

    if (!watcher)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the watcher of a region");
    watcher->region = reader->producer.region;
    watcher->view = reader->view;
    watcher->many = reader->many;
    watcher->head.word = reader->head;
    watcher->state.word = WATCHER_WATCHES;
    watcher->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = watcher->fd < 0 ? -errno : hub_thread_start(&watcher->thread, run, watcher);
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
    hub_sleep_wake_all(&watcher->view.not_empty);
    (void)pthread_join(watcher->thread, NULL);
    close(watcher->fd);
    free(watcher);
}

int hub_watcher_fd(const struct hub_watcher *watcher)
{
    return watcher->fd;
}

/* A thread that watches already told nothing since: only one that rests has. */
void hub_watcher_arm(struct hub_watcher *watcher, uint64_t head)
{
    uint64_t told;

    if (hub_observe(&watcher->state) == WATCHER_WATCHES)
        return;
    if (read(watcher->fd, &told, sizeof told) < 0 && errno == EAGAIN)
        return; /* it is about to tell */
    hub_publish64(&watcher->head, head);
    (void)hub_exchange(&watcher->state, WATCHER_WATCHES);
    hub_futex_wake_private(&watcher->state);
}
