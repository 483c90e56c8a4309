/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/futexes.h"

#include <errno.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/thread.h"

#define LONGEST (3600 * HUB_SECOND)     /* every event wakes it */
#define AGAIN   (100 * HUB_MICROSECOND) /* if the kernel has no memory for a sleep */

/* The words of the thread's next sleep. */
struct looks {
    struct hub_futex_look of[HUB_FUTEX_LOOKS_MAX];
    uint32_t count;
    uint64_t until_ns;
};

/* A guest that changes or wakes its word again and again without need is ignored for a while, like
 * one that rings so. r[impl hub.wait.flood] */
uint64_t host_futexes_look(struct host_futex *futex, const struct hub_a32 *woken, uint64_t now,
                           struct hub_futex_look *out)
{
    const struct hub_link_counters *counters = hub_link_counters(futex->link);

    *out = (struct hub_futex_look){hub_link_head(futex->link), 0, true};
    out->value = hub_observe(out->word);
    if (out->value != futex->seen || woken == out->word)
        hub_flood_note(&futex->flood, now,
                       hub_load_relaxed64(&counters->sent) +
                           hub_load_relaxed64(&counters->received));
    futex->seen = out->value;
    return hub_flood_until(&futex->flood);
}

/* ---- the thread ---- */

static void look_at(struct host_futex *futex, const struct hub_a32 *woken, uint64_t now,
                    struct looks *looks)
{
    uint64_t deaf = host_futexes_look(futex, woken, now, &looks->of[looks->count]);

    if (deaf <= now) {
        hub_link_moved(futex->link);
        looks->count++;
    } else if (deaf < looks->until_ns) {
        looks->until_ns = deaf;
    }
}

/* The heads are read first: a later change ends the next sleep at once. The links exist as long as
 * the lock is held; the kernel itself notices a word that is no longer mapped. */
static void look(struct host_futexes *futexes, const struct hub_a32 *woken, struct looks *looks)
{
    uint64_t now = hub_clock_now();

    looks->count = 1;
    looks->until_ns = now + LONGEST;
    hub_mutex_lock(&futexes->lock);
    looks->of[0] =
        (struct hub_futex_look){&futexes->changes, hub_observe(&futexes->changes), false};
    for (uint32_t i = 0; i < futexes->count; i++)
        look_at(futexes->all[i], woken, now, looks);
    hub_mutex_unlock(&futexes->lock);
}

static void *run_thread(void *user)
{
    struct host_futexes *futexes = user;
    const struct hub_a32 *woken = NULL;
    struct looks looks;

    for (;;) {
        int r;

        look(futexes, woken, &looks);
        /* after the heads were read: a later request to end changes a word that was read already */
        if (hub_observe(&futexes->end) != 0)
            return NULL;
        r = hub_futex_wait_any(looks.of, looks.count, looks.until_ns);
        woken = r > 0 ? looks.of[r].word : NULL;
        if (r == -ENOMEM)
            hub_clock_pause(AGAIN);
    }
}

/* ---- the owner's side ---- */

/* After it the thread checks the list again before it sleeps. */
static void tell(struct host_futexes *futexes)
{
    hub_add(&futexes->changes, 1);
    hub_futex_wake_private(&futexes->changes);
}

/* A sleep on a word with another value shows at once whether the kernel supports it. */
static int start(struct host_futexes *futexes)
{
    const struct hub_futex_look other = {&futexes->changes, ~hub_load_relaxed(&futexes->changes),
                                         false};
    int r = hub_futex_wait_any(&other, 1, HUB_NEVER);

    return r == -EAGAIN ? hub_thread_start(&futexes->thread, run_thread, futexes) : r;
}

static bool begin(struct host_futexes *futexes)
{
    int r;

    if (futexes->open || futexes->refused)
        return futexes->open;
    r = start(futexes);
    futexes->open = r == 0;
    futexes->refused = r != 0;
    if (r != 0)
        rapahub_log(RAPAHUB_LOG_WARN, "futexes",
                    "guests that ring no doorbell are looked at each millisecond: %s",
                    rapahub_error_name(r));
    return futexes->open;
}

void host_futexes_init(struct host_futexes *futexes)
{
    *futexes = (struct host_futexes){.count = 0};
    hub_mutex_init(&futexes->lock, HUB_MUTEX_FUTEXES);
}

bool host_futexes_watch(struct host_futexes *futexes, struct host_futex *futex)
{
    if (!begin(futexes))
        return false;
    hub_mutex_lock(&futexes->lock);
    if (futexes->count < HOST_FUTEXES_MAX) {
        futex->seen = hub_observe(hub_link_head(futex->link));
        futexes->all[futexes->count++] = futex;
        futex->watched = true;
    }
    hub_mutex_unlock(&futexes->lock);
    if (futex->watched)
        tell(futexes);
    return futex->watched;
}

void host_futexes_forget(struct host_futexes *futexes, struct host_futex *futex)
{
    uint32_t i = 0;

    if (!futex->watched)
        return;
    futex->watched = false;
    hub_mutex_lock(&futexes->lock);
    while (futexes->all[i] != futex)
        i++;
    futexes->all[i] = futexes->all[--futexes->count];
    hub_mutex_unlock(&futexes->lock);
    tell(futexes);
}

void host_futexes_close(struct host_futexes *futexes)
{
    if (futexes->open) {
        hub_publish(&futexes->end, 1);
        tell(futexes);
        pthread_join(futexes->thread, NULL);
        futexes->open = false;
    }
    hub_mutex_fini(&futexes->lock);
}
