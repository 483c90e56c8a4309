/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/successor.h"

#include <stdio.h>
#include <string.h>

#include "host/guest/guest_record.h"
#include "host/guest/guest_table.h"
#include "host/guest/supervision.h"
#include "host/guest/watch.h"
#include "host/lives/guests.h"
#include "host/lives/launch.h"
#include "host/lives/printed.h"
#include "host/observe/observe.h"
#include "host/process/fd_store.h"

#define NAME_MOST 57 /* bytes kept of the guest's name */

static void set_name(struct host_guest *successor, const char *name, const char *suffix)
{
    snprintf(successor->name, sizeof successor->name, "%.*s%s", NAME_MOST, name, suffix);
}

int host_successor_create(const struct host_guest *of, const struct rapahub_upgrade_options *to,
                          struct host_guest **out)
{
    const struct rapahub_guest_options options = {.chimod = to->chimod,
                                                  .module_fd = to->module_fd,
                                                  .name = of->name,
                                                  .plain = (const char *const *)of->module.plain,
                                                  .trust = of->trust};
    struct host_guest *successor = NULL;
    uint32_t place;
    int r = host_options_check_guest(&options);

    if (r == 0)
        r = host_guest_record_create(HOST_SUPERVISION(of->host), &options, &successor);
    if (r < 0)
        return r;
    host_fd_store_hear(of->life); /* includes what it stored before the upgrade was asked for */
    r = host_fd_store_copy(of->keep, &successor->keep);
    if (r < 0) {
        host_guest_record_release(&successor);
        return r;
    }
    set_name(successor, of->name, ".next");
    successor->supervision = of->supervision;
    if (successor->supervision.ready == RAPAHUB_READY_ATTACH)
        successor->supervision.ready = RAPAHUB_READY_MESSAGE; /* READY tells its name and methods */
    successor->limits = of->limits;
    successor->totals.lives = of->totals.lives;
    r = host_guest_table_enter(successor, &place);
    if (r < 0) {
        host_guest_record_release(&successor);
        return r;
    }
    host_routes_write(&of->host->owner.registry.routes);
    host_guest_table_name(successor);
    host_routes_unlock(&of->host->owner.registry.routes);
    *out = successor;
    return 0;
}

int host_successor_start(struct host_guest *successor)
{
    struct host_life *life;
    int r = host_launch(successor, &life);

    if (r < 0)
        return r;
    successor->totals.lives++;
    host_printed_begin(life);
    host_guest_move(successor, HOST_GUEST_STARTING, "beside the one it follows");
    host_guests_begin(life);
    host_watch_begin(HOST_SUPERVISION(successor->host));
    return 0;
}

#define EXCHANGE(a, b)                 \
    do {                               \
        __typeof__(a) exchanged = (a); \
                                       \
        (a) = (b);                     \
        (b) = exchanged;               \
    } while (0)

/* The guest keeps its own counts, and gets those of its old process now. */
static void take_figures(struct host_guest *guest, const struct host_life *old)
{
    guest->totals.calls += hub_calls_answered(old->connection.calls);
    host_figures_add(&guest->totals.figures, &old->connection);
}

/* r[impl supervise.upgrade.child] */
void host_successor_exchange(struct host_guest *guest, struct host_guest *successor)
{
    take_figures(guest, guest->life);
    EXCHANGE(guest->life, successor->life);
    EXCHANGE(guest->id, successor->id);
    EXCHANGE(guest->methods, successor->methods);
    EXCHANGE(guest->module, successor->module);
    guest->life->guest = guest;
    successor->life->guest = successor;
    guest->totals.lives = successor->totals.lives;
    guest->life->incarnation = guest->child.incarnation;
    memcpy(guest->life->name, guest->name, sizeof guest->life->name); /* no call has used it yet */
    set_name(successor, guest->name, ".old");
    host_guest_table_name(successor);
}

void host_successor_retire(struct host_guest *successor)
{
    successor->child.asked = true;
    host_guests_ask(successor);
}

/* A successor that ends by itself is left to its time-outs: a kill would lose its last words and
 * its exit status. */
void host_successor_kill(struct host_guest *successor)
{
    successor->child.asked = true;
    if (successor->life && hub_observe(&successor->life->goodbye.leaving) == 0)
        host_guests_end(successor->life, HOST_CAUSE_NONE, "it is not to take over");
}

/* While a thread waits for a change of it, it stays; its entry is freed when that is needed. */
void host_successor_drop(struct host_guest *successor)
{
    if (!successor->life && successor->pins == 0)
        host_guest_table_drop(successor);
}
