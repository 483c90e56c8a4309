/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/nap.h"

#include <errno.h>

#include "host/process/life.h"
#include "host/process/process.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"

static bool is_awake_by_futex(const struct host_life *life)
{
    return life->death.proven_ns == 0 && life->open && !hub_link_closed(life->connection.link) &&
           hub_link_wakes_by_futex(life->connection.link);
}

/* A single guest that rings would need the thread in between anyway. */
bool host_nap_may(const struct host_process *host)
{
    uint32_t count = 0;

    if (!host->owner.lookout.open || hub_observe(&host->owner.shown) != 0)
        return false;
    HUB_LIST_EACH (&host->lives, link) {
        if (!is_awake_by_futex(HUB_LIST_ITEM(link, struct host_life, link)))
            return false;
        count++;
    }
    return count > 0 && count < HUB_FUTEX_LOOKS_MAX;
}

/* Sets *news if a guest has sent something since the owner's last sleep. A message that was there
 * before does not count: it waits for queued responses, and the thread that sends these wakes the
 * loop. A word that changes after this check ends the sleep at once. False if a guest wakes too
 * often without need, or if the thread of futexes still watches it. */
static bool look(struct host_process *host, struct hub_futex_look *looks, uint32_t *count,
                 bool *news)
{
    uint64_t now = hub_clock_now();

    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);
        struct hub_futex_look *next = &looks[(*count)++];
        uint32_t before = life->futex.seen;

        if (life->futex.watched ||
            host_futexes_look(&life->futex, host->owner.futexes.woken, now, next) > now)
            return false;
        *news = *news || (next->value != before && hub_link_has_news(life->connection.link));
    }
    return true;
}

static void note_news(struct host_process *host)
{
    HUB_LIST_EACH (&host->lives, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (hub_link_has_news(life->connection.link))
            hub_arm(&life->work, HOST_WORK_SWEEP);
    }
}

/* r[impl shm.wakeup.consumer-wait] */
bool host_nap(struct host_process *host, int timeout_ms)
{
    struct hub_futex_look looks[HUB_FUTEX_LOOKS_MAX];
    uint32_t count = 1;
    bool news = false;
    int r = 0;

    looks[0] = (struct hub_futex_look){&host->owner.lookout.told,
                                       hub_observe(&host->owner.lookout.told), false};
    if (!look(host, looks, &count, &news) || !host_lookout_nap(&host->owner.lookout, NULL))
        return false;
    host_loop_arm(&host->owner.loop);
    if (!news)
        r = hub_futex_wait_any(looks, count,
                               hub_clock_after((uint64_t)timeout_ms * HUB_MILLISECOND));
    host->owner.futexes.woken = r > 0 ? looks[r].word : NULL;
    note_news(host);
    return r != -ENOSYS && r != -ENOMEM;
}
