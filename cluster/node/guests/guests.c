/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/guests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/supervise.h>

#include "cluster/node/guests/spec_options.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define EVENTS   64 /* read at once from the observer */
#define TEXT_MAX 192
#define AGAIN_NS (100 * HUB_MILLISECOND) /* until a process is looked at again */

const struct hub_states cluster_guest_states = {
    "cluster.guest",
    {[CLUSTER_GUEST_FETCHING] = {"FETCHING", HUB_TO(CLUSTER_GUEST_STARTING) |
                                                 HUB_TO(CLUSTER_GUEST_FAILED) |
                                                 HUB_TO(CLUSTER_GUEST_CLOSING)},
     [CLUSTER_GUEST_STARTING] = {"STARTING", HUB_TO(CLUSTER_GUEST_NOTING) |
                                                 HUB_TO(CLUSTER_GUEST_FAILED) |
                                                 HUB_TO(CLUSTER_GUEST_CLOSING)},
     [CLUSTER_GUEST_NOTING] = {"NOTING",
                               HUB_TO(CLUSTER_GUEST_READY) | HUB_TO(CLUSTER_GUEST_STARTING) |
                                   HUB_TO(CLUSTER_GUEST_FAILED) | HUB_TO(CLUSTER_GUEST_CLOSING)},
     [CLUSTER_GUEST_READY] = {"READY", HUB_TO(CLUSTER_GUEST_STARTING) |
                                           HUB_TO(CLUSTER_GUEST_FAILED) |
                                           HUB_TO(CLUSTER_GUEST_CLOSING)},
     [CLUSTER_GUEST_FAILED] = {"FAILED", HUB_TO(CLUSTER_GUEST_FETCHING) |
                                             HUB_TO(CLUSTER_GUEST_STARTING) |
                                             HUB_TO(CLUSTER_GUEST_CLOSING)},
     [CLUSTER_GUEST_CLOSING] = {"CLOSING", 0}}};

struct cluster_guests {
    struct cluster_guests_parts parts;
    struct rapahub_supervisor *supervisor;
    struct rapahub_observer *observer;
    struct hub_list all;
    uint32_t count;
};

int cluster_guests_create(const struct cluster_guests_parts *parts, struct cluster_guests **out)
{
    const struct rapahub_supervisor_options options = {.name = "pools", .strategy = RAPAHUB_SIMPLE};
    struct cluster_guests *guests = calloc(1, sizeof *guests);
    struct rapahub_supervisor *root;
    int status;

    *out = guests;
    if (!guests)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the guests of a node");
    guests->parts = *parts;
    hub_list_init(&guests->all);
    status = rapahub_host_supervisor(parts->host, &root);
    if (status == 0)
        status = rapahub_supervisor_create(root, &options, &guests->supervisor);
    if (status == 0)
        status = rapahub_supervisor_observe(guests->supervisor, NULL, &guests->observer);
    if (status < 0)
        cluster_guests_release(out);
    return status;
}

void cluster_guests_stop(struct cluster_guests *guests, uint64_t timeout_ns)
{
    if (guests->supervisor && rapahub_supervisor_stop(guests->supervisor, timeout_ns) < 0)
        rapahub_clear_error();
    guests->supervisor = NULL;
}

void cluster_guests_release(struct cluster_guests **guests)
{
    struct hub_list *link;

    if (*guests) {
        while ((link = hub_list_pop(&(*guests)->all)))
            free(HUB_LIST_ITEM(link, struct cluster_guest, link));
        rapahub_observer_close((*guests)->observer);
    }
    free(*guests);
    *guests = NULL;
}

int cluster_guests_fd(const struct cluster_guests *guests)
{
    return rapahub_observer_fd(guests->observer);
}

/* ---- changes ---- */

static void move(struct cluster_guest *guest, enum cluster_guest_state to)
{
    CHECK(hub_states_may(&cluster_guest_states, guest->state, to));
    guest->state = to;
}

static void free_closed(struct cluster_guest *guest)
{
    struct cluster_guests *guests = guest->guests;

    if (guest->busy || guest->child.number != 0)
        return;
    guests->parts.hooks->closed(guests->parts.user, guest);
    guests->count--;
    hub_list_remove(&guest->link);
    free(guest);
}

static void fail(struct cluster_guest *guest, int status, const char *text)
{
    struct cluster_guests *guests = guest->guests;

    guest->status = status;
    snprintf(guest->text, sizeof guest->text, "%s", text);
    move(guest, CLUSTER_GUEST_FAILED);
    guests->parts.hooks->failed(guests->parts.user, guest);
}

/* The file may name a guest that is gone: the next start looks, and finds none. */
static void ignore_done(void *user, struct cluster_disk_result *result)
{
    (void)user;
    (void)result;
}

static void forget_record(struct cluster_guest *guest)
{
    if (guest->record.pid != 0 &&
        cluster_store_thread_guest_gone(guest->guests->parts.disk, guest->record, ignore_done,
                                        NULL) < 0)
        rapahub_clear_error();
    guest->record = (struct cluster_guest_record){0, 0};
}

/* ---- it is made ---- */

static int add(struct cluster_guest *guest, const struct cluster_pool_records_pool *pool,
               int module)
{
    OWN(hub_memory) struct cluster_spec_options *options = malloc(sizeof *options);
    char name[CLUSTER_KEYS_NAME_MAX + 16], file[CLUSTER_KEYS_NAME_MAX + 16];
    struct rapahub_guest_options how = {.chimod = file, .name = name, .module_fd = module};
    int status;

    if (!options)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the options of a guest");
    status = cluster_spec_options_read(&pool->spec, options);
    if (status < 0)
        return status;
    how.supervision = &options->node.how;
    how.limits = &options->node.limits;
    how.trust = options->node.trust;
    snprintf(file, sizeof file, "%.*s.so", (int)pool->spec.module.size, pool->spec.module.data);
    if (guest->index == 0)
        snprintf(name, sizeof name, "%.*s", (int)pool->spec.name.size, pool->spec.name.data);
    else
        snprintf(name, sizeof name, "%.*s.%" PRIu32, (int)pool->spec.name.size,
                 pool->spec.name.data, guest->index);
    return rapahub_supervisor_add(guest->guests->supervisor, &how, &guest->child);
}

/* The node that leads has no such file either. r[impl cluster.node.modules.here] */
static void fail_module(struct cluster_guest *guest, const struct cluster_pool_records_pool *pool,
                        const struct cluster_disk_result *result)
{
    char text[TEXT_MAX];

    if (result->status != RAPAHUB_ENOENT || !pool) {
        fail(guest, result->status, result->text);
        return;
    }
    snprintf(text, sizeof text,
             "neither its node nor the one that leads has the file of %.*s:%.*s: rapahub module "
             "push FILE",
             (int)pool->spec.module.size, pool->spec.module.data, (int)pool->spec.version.size,
             pool->spec.version.data);
    fail(guest, RAPAHUB_ENOENT, text);
}

static void on_module(void *user, struct cluster_disk_result *result)
{
    struct cluster_guest *guest = user;
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(guest->guests->parts.pools, guest->pool);
    int status = result->status;

    guest->busy = false;
    if (guest->state == CLUSTER_GUEST_CLOSING) {
        free_closed(guest);
        return;
    }
    if (status < 0) {
        fail_module(guest, pool, result);
        return;
    }
    status = pool && guest->guests->supervisor
                 ? add(guest, pool, result->fd)
                 : rapahub_fail(RAPAHUB_ENOPOOL, "", "the pool is gone, or its node stops");
    if (status < 0)
        fail(guest, status, rapahub_last_error()->text);
    else
        move(guest, CLUSTER_GUEST_STARTING);
}

static void fetch(struct cluster_guest *guest)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(guest->guests->parts.pools, guest->pool);
    int status = pool ? cluster_blob_fetches_get(guest->guests->parts.modules,
                                                 pool->spec.digest.data, on_module, guest)
                      : rapahub_fail(RAPAHUB_ENOPOOL, "", "there is no such pool");

    guest->busy = status == 0;
    if (status < 0)
        fail(guest, status, rapahub_last_error()->text);
}

/* ---- it lives and dies ---- */

static void look(struct cluster_guest *guest);

static void on_noted(void *user, struct cluster_disk_result *result)
{
    struct cluster_guest *guest = user;
    struct cluster_guests *guests = guest->guests;

    guest->busy = false;
    if (guest->state == CLUSTER_GUEST_CLOSING) {
        free_closed(guest);
    } else if (guest->state != CLUSTER_GUEST_NOTING) {
        look(guest); /* it has died meanwhile, and may be up again */
    } else if (result->status < 0) {
        fail(guest, result->status, result->text);
    } else {
        move(guest, CLUSTER_GUEST_READY);
        guests->parts.hooks->ready(guests->parts.user, guest);
    }
}

/* A process that is gone by now has ended, which is told. A living one may not be readable for a
 * moment. No event would follow, so it is looked at again. */
static void note(struct cluster_guest *guest, const struct rapahub_child_status *status)
{
    struct cluster_guest_record record = {.pid = status->pid};

    if (guest->busy)
        return;
    if (cluster_machine_start_of(record.pid, &record.start) < 0) {
        rapahub_clear_error();
        guest->again_ns = hub_clock_after(AGAIN_NS);
        return;
    }
    guest->incarnation = status->incarnation;
    guest->life = status->guest;
    move(guest, CLUSTER_GUEST_NOTING);
    if (cluster_store_thread_guest_came(guest->guests->parts.disk, record, on_noted, guest) < 0) {
        fail(guest, rapahub_last_error()->code, rapahub_last_error()->text);
        return;
    }
    guest->busy = true;
    guest->record = record;
}

static void go_down(struct cluster_guest *guest)
{
    struct cluster_guests *guests = guest->guests;
    bool was_ready = guest->state == CLUSTER_GUEST_READY;

    forget_record(guest);
    move(guest, CLUSTER_GUEST_STARTING);
    if (was_ready)
        guests->parts.hooks->down(guests->parts.user, guest);
}

static void give_up(struct cluster_guest *guest)
{
    OWN(hub_memory) struct rapahub_report *report = malloc(sizeof *report);
    bool known =
        report && rapahub_child_report(guest->guests->parts.host, guest->child, 0, report) == 0;

    fail(guest, RAPAHUB_EDIED, known ? report->cause : "its guest is not started again");
}

static bool is_up(const struct rapahub_child_status *status)
{
    return strcmp(status->state, "ready") == 0 || strcmp(status->state, "degraded") == 0;
}

/* Looks at what became of it, by its state now: so a change that was not told does no harm. */
static void look(struct cluster_guest *guest)
{
    struct rapahub_child_status status;

    guest->again_ns = 0;
    if (guest->child.number == 0)
        return;
    if (rapahub_child_status(guest->guests->parts.host, guest->child, &status) < 0 ||
        strcmp(status.state, "closed") == 0) {
        forget_record(guest);
        guest->child.number = 0;
        if (guest->state != CLUSTER_GUEST_CLOSING)
            move(guest, CLUSTER_GUEST_CLOSING);
        free_closed(guest);
        return;
    }
    if ((guest->state == CLUSTER_GUEST_READY || guest->state == CLUSTER_GUEST_NOTING) &&
        (!is_up(&status) || status.incarnation != guest->incarnation))
        go_down(guest);
    if (guest->state == CLUSTER_GUEST_STARTING && is_up(&status))
        note(guest, &status);
    else if (guest->state == CLUSTER_GUEST_STARTING && strcmp(status.state, "failed") == 0)
        give_up(guest);
}

int cluster_guests_step(struct cluster_guests *guests)
{
    struct rapahub_observation events[EVENTS];
    size_t count = EVENTS;
    bool any = false;

    while (count == EVENTS) {
        int status = rapahub_observer_read(guests->observer, events, EVENTS, &count);

        if (status < 0)
            return status;
        any = any || count > 0;
    }
    if (any)
        HUB_LIST_EACH (&guests->all, link)
            look(HUB_LIST_ITEM(link, struct cluster_guest, link));
    return 0;
}

/* A guest may be gone when it was looked at. */
uint64_t cluster_guests_look_again(struct cluster_guests *guests, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;

    HUB_LIST_EACH (&guests->all, link) {
        struct cluster_guest *guest = HUB_LIST_ITEM(link, struct cluster_guest, link);

        if (guest->again_ns != 0 && guest->again_ns <= now_ns)
            look(guest);
    }
    HUB_LIST_EACH (&guests->all, link) {
        const struct cluster_guest *guest = HUB_LIST_ITEM(link, struct cluster_guest, link);

        if (guest->again_ns != 0 && guest->again_ns < next_ns)
            next_ns = guest->again_ns;
    }
    return next_ns;
}

/* ---- its users ---- */

void cluster_guests_revive(struct cluster_guest *guest)
{
    int status;

    if (guest->state != CLUSTER_GUEST_FAILED)
        return;
    if (guest->child.number == 0) {
        move(guest, CLUSTER_GUEST_FETCHING);
        fetch(guest);
        return;
    }
    move(guest, CLUSTER_GUEST_STARTING);
    status = rapahub_child_reset(guest->guests->parts.host, guest->child);
    if (status < 0 && status != RAPAHUB_ETIMEDOUT)
        rapahub_clear_error(); /* it is up, or starts already */
    look(guest);
}

static struct cluster_guest *find(const struct cluster_guests *guests, uint64_t pool,
                                  uint32_t index)
{
    HUB_LIST_EACH (&guests->all, link) {
        struct cluster_guest *guest = HUB_LIST_ITEM(link, struct cluster_guest, link);

        if (guest->pool == pool && guest->index == index && guest->state != CLUSTER_GUEST_CLOSING)
            return guest;
    }
    return NULL;
}

static struct cluster_guest *make(struct cluster_guests *guests, uint64_t pool, uint32_t index)
{
    struct cluster_guest *guest;

    if (guests->count >= guests->parts.guests_max) {
        rapahub_fail(RAPAHUB_EFULL, "cluster.node.begins", "a node has at most %" PRIu32 " guests",
                     guests->parts.guests_max);
        return NULL;
    }
    guest = calloc(1, sizeof *guest);
    if (!guest) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
        return NULL;
    }
    guests->count++;
    *guest = (struct cluster_guest){.guests = guests, .pool = pool, .index = index};
    hub_list_append(&guests->all, &guest->link);
    return guest;
}

struct cluster_guest *cluster_guests_take(struct cluster_guests *guests, uint64_t number,
                                          uint32_t container)
{
    const struct cluster_pool_records_pool *pool =
        cluster_pool_records_find(guests->parts.pools, number);
    struct cluster_guest *guest;
    uint32_t index;

    if (!pool) {
        rapahub_fail(RAPAHUB_ENOPOOL, "", "there is no such pool");
        return NULL;
    }
    index = pool->spec.own_guests ? container : container / CLUSTER_GUESTS_SHARED;
    guest = find(guests, number, index);
    if (!guest) {
        guest = make(guests, number, index);
        if (!guest)
            return NULL;
        guest->users = 1;
        fetch(guest);
        return guest;
    }
    guest->users++;
    cluster_guests_revive(guest);
    return guest;
}

void cluster_guests_drop(struct cluster_guest *guest)
{
    int status;

    if (--guest->users > 0)
        return;
    move(guest, CLUSTER_GUEST_CLOSING);
    if (guest->child.number == 0) {
        free_closed(guest);
        return;
    }
    status = rapahub_child_close(guest->guests->parts.host, guest->child, 0);
    if (status < 0 && status != RAPAHUB_ETIMEDOUT)
        rapahub_clear_error(); /* it is closed */
}
