/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_async: upgrades whose end is reported by a callback. Any thread that host_threads_run
 * allows. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/owner/detached.h"
#include "host/owner/owner.h"
#include "host/upgrade/upgrade.h"

/* Allocated as one, with the path of the module at its end. */
struct pending {
    struct host_detached detached;
    struct host_upgrade upgrade;
    struct rapahub_upgrade_options options;
    rapahub_on_upgraded *on_done;
    void *user;
    char chimod[];
};

static void on_over(struct host_detached *detached, int r)
{
    struct pending *pending = HUB_LIST_ITEM(&detached->link, struct pending, detached.link);

    pending->on_done(pending->user, r, &pending->upgrade.result);
    free(pending);
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
        return pending; /* its begin refuses it */
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
    pending->detached = (struct host_detached){
        .task = &host_upgrade_task, .argument = &pending->upgrade, .on_over = on_over};
    r = host_detached_begin(HOST_OWNER(host), &pending->detached);
    if (r < 0)
        free(pending);
    return r;
}
