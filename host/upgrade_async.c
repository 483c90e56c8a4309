/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade_async.h"

#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "host/turn.h"
#include "host/upgrade.h"
#include "hub/base/clock.h"

#define END_MOST (2 * HUB_SECOND)

/* In one piece with the path of the module. */
struct pending {
    struct hub_list link; /* in the host's upgrades */
    struct host_upgrade upgrade;
    struct rapahub_upgrade_options options;
    rapahub_on_upgraded *on_done;
    void *user;
    char chimod[];
};

static struct pending *over(struct rapahub_host *host)
{
    HUB_LIST_EACH (&host->upgrades, link) {
        struct pending *pending = HUB_LIST_ITEM(link, struct pending, link);

        if (host_upgrade_task.is_over(&pending->upgrade))
            return pending;
    }
    return NULL;
}

/* Who is told may take turns, in which others end. */
int host_upgrade_async_settle(struct rapahub_host *host)
{
    int count = 0;

    for (struct pending *pending; (pending = over(host)); count++) {
        int r;

        hub_list_remove(&pending->link);
        r = host_upgrade_task.end(host, &pending->upgrade);
        host->callbacks++;
        pending->on_done(pending->user, r, &pending->upgrade.result);
        host->callbacks--;
        free(pending);
    }
    return count;
}

void host_upgrade_async_end_all(struct rapahub_host *host)
{
    uint64_t deadline = hub_clock_after(END_MOST);
    int r = 0;

    while (r >= 0 && !hub_list_empty(&host->upgrades) && hub_clock_left(deadline) > 0)
        r = host_turn_until(host, deadline);
    if (!hub_list_empty(&host->upgrades))
        rapahub_log(RAPAHUB_LOG_ERROR, "upgrade", "one did not end with its host");
}

static int run_begin(struct rapahub_host *host, void *argument)
{
    struct pending *pending = argument;
    int r = host_upgrade_task.begin(host, &pending->upgrade);

    if (r < 0)
        return r;
    hub_list_append(&host->upgrades, &pending->link);
    if (host->depth == 0) /* else the turn arms it when it ends */
        host_loop_arm(&host->loop);
    return 0;
}

static struct pending *copy_of(const struct rapahub_upgrade_options *options)
{
    size_t size = options && options->chimod ? strlen(options->chimod) + 1 : 0;
    struct pending *pending = calloc(1, sizeof *pending + size);

    if (!pending) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an upgrade");
        return NULL;
    }
    if (size == 0)
        return pending; /* it is refused when it begins */
    pending->options = *options;
    memcpy(pending->chimod, options->chimod, size);
    pending->options.chimod = pending->chimod;
    pending->upgrade.options = &pending->options;
    return pending;
}

int rapahub_host_upgrade_async(struct rapahub_host *host, struct rapahub_guest_id guest,
                               const struct rapahub_upgrade_options *options,
                               rapahub_on_upgraded *on_done, void *user)
{
    struct pending *pending = copy_of(options);
    int r;

    if (!pending)
        return RAPAHUB_ENOMEM;
    pending->upgrade.id = guest;
    pending->on_done = on_done;
    pending->user = user;
    r = host_threads_run(host, run_begin, pending);
    if (r < 0)
        free(pending);
    return r;
}
