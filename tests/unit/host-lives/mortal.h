/* SPDX-License-Identifier: Apache-2.0 */
/* mortal: a host whose floors call each other as in hooks.c, with one supervised guest and its
 * life. The life's link ends in this thread; an eventfd stands for its pidfd, and is readable when
 * the process has died. No process is started: `mortal_starts` counts what was decided. */
#ifndef TESTS_UNIT_HOST_LIVES_MORTAL_H
#define TESTS_UNIT_HOST_LIVES_MORTAL_H

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "host/call/streaming.h"
#include "host/guest/activation.h"
#include "host/guest/exit_command.h"
#include "host/lives/after_exit.h"
#include "host/lives/death.h"
#include "host/lives/guests.h"
#include "host/lives/startup.h"
#include "hub/call/call_ends.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "tests/unit/host-observe/stage.h"
#include "tests/unit/link/pair.h"

#define MORTAL_EVENTS 16

struct mortal {
    struct host_observe *host;
    struct pair pair;
    struct host_group group; /* shared: nobody else's */
    struct host_guest *guest;
    struct host_life *life; /* NULL: it was freed */
    /* what the embedder was told */
    unsigned events, deaths;
    struct {
        enum rapahub_event_kind kind;
        char cause[128], rule[64];
        uint32_t restarts, restarts_max, calls_lost;
        uint64_t due_ns;
    } told[MORTAL_EVENTS];
};

static unsigned mortal_starts;

static void mortal_start(struct host_guest *guest)
{
    (void)guest;
    mortal_starts++;
}

static bool mortal_nobody(struct host_supervision *host)
{
    (void)host;
    return false;
}

static void mortal_on_event(void *user, const struct rapahub_event *event)
{
    struct mortal *mortal = user;
    unsigned at = mortal->events++;

    assert_true(at < MORTAL_EVENTS);
    mortal->told[at].kind = event->kind;
    snprintf(mortal->told[at].cause, sizeof mortal->told[at].cause, "%s", event->cause);
    snprintf(mortal->told[at].rule, sizeof mortal->told[at].rule, "%s", event->rule);
    mortal->told[at].restarts = event->restarts;
    mortal->told[at].restarts_max = event->restarts_max;
    mortal->told[at].calls_lost = event->calls_lost;
    mortal->told[at].due_ns = event->due_ns;
}

static void mortal_on_death(void *user, struct rapahub_guest_id guest, const char *cause)
{
    (void)guest;
    (void)cause;
    ((struct mortal *)user)->deaths++;
}

static const struct host_supervision_hooks mortal_hooks = {
    .lives = {.attached = host_guests_attached,
              .ready = host_guests_ready,
              .open = host_guests_open,
              .leaving = host_guests_leaving,
              .stuck = host_guests_abort,
              .may_be_dead = host_death_look,
              .on_pidfd = host_death_on_pidfd,
              .on_bell = host_death_on_bell},
    .decisions = {.start = mortal_start,
                  .move = host_after_exit_moved,
                  .ask = host_guests_ask,
                  .finish = host_exit_command_kill,
                  .end = host_guests_end},
    .listeners = {.added = tell_added, .deciding = tell_deciding, .decided = tell_decided},
    .anonymous_guests = mortal_nobody};

/* The segment and the guest's end of the link are the pair's; the host's end is the life's. */
static void mortal_open_link(struct mortal *mortal)
{
    const struct hub_limits limits = pair_limits();
    struct end *end = &mortal->pair.host;

    pair_open(&mortal->pair, &limits, 0);
    hub_connection_close(&end->connection);
    hub_slots_fini(&end->pool);
    mortal->group.shared = true;
    mortal->group.segment = end->segment;
    assert_int_equal(hub_slots_init_host(&mortal->group.pool, end->segment), 0);
    hub_slots_endow(&mortal->group.pool, mortal->pair.peer);
}

static void mortal_close_link(struct mortal *mortal)
{
    pair_close_end(&mortal->pair.guest);
    hub_slots_fini(&mortal->group.pool);
    hub_segment_release(&mortal->pair.host.segment);
}

/* A life as it is after its launch: its process exists, and has not attached. */
UNUSED static void mortal_begin(struct mortal *mortal)
{
    struct host_process *process = HOST_PROCESS(mortal->host);
    struct host_life *life = host_life_create(mortal->guest, &process->owner.loop);

    assert_non_null(life);
    mortal->life = life;
    life->host = process;
    life->incarnation = mortal->guest->child.incarnation;
    life->segment.view = mortal->pair.host.view;
    life->segment.group = &mortal->group;
    life->doorbell.fd = mortal->pair.host.doorbell;
    mortal->pair.host.doorbell = -1;
    life->id = (struct rapahub_guest_id){
        .group = 1, .peer = mortal->pair.peer, .epoch = mortal->pair.epoch};
    life->segment.peer_state = HUB_PEER_RESERVED;
    life->process.pidfd = eventfd(0, EFD_CLOEXEC);
    life->process.pid = 4711;
    life->born_ns = hub_clock_now();
    snprintf(life->name, sizeof life->name, "%s", mortal->guest->name);
    assert_int_equal(host_streaming_connect(HOST_CALL(mortal->host), life), 0);
    host_guests_begin(life);
}

UNUSED static struct mortal *mortal_open(struct rapahub_supervision how)
{
    struct mortal *mortal = test_calloc(1, sizeof *mortal);
    struct host_process *process;

    mortal_starts = 0;
    how.kill_mode = RAPAHUB_KILL_PROCESS;
    mortal->host = observe_new();
    mortal->host->supervision.hooks = &mortal_hooks;
    process = HOST_PROCESS(mortal->host);
    host_events_init(&process->owner.events);
    process->owner.events.on_event = mortal_on_event;
    process->owner.events.user = mortal;
    hub_list_init(&mortal->host->supervision.call.relays);
    mortal_open_link(mortal);
    mortal->guest = stage_add(&mortal->host->supervision, HOST_SUPERVISION_ROOT, "calc", how);
    mortal->guest->on_death = mortal_on_death;
    mortal->guest->on_death_user = mortal;
    mortal->guest->child.initial = false; /* it is no trial */
    mortal_begin(mortal);
    return mortal;
}

/* The life attaches and serves. */
UNUSED static void mortal_serve(struct mortal *mortal)
{
    host_guests_attached(mortal->life);
    host_guests_ready(mortal->life);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
}

UNUSED static struct mortal *mortal_serving(struct rapahub_supervision how)
{
    struct mortal *mortal = mortal_open(how);

    mortal_serve(mortal);
    return mortal;
}

/* The kernel says that its process has ended, and how. */
UNUSED static void mortal_die(struct mortal *mortal, int code, int status)
{
    mortal->life->exit.how = (struct hub_exit){code, status};
    hub_publish(&mortal->life->exit.known, 1);
    assert_int_equal(eventfd_write(mortal->life->process.pidfd, 1), 0);
    host_death_look(mortal->life);
}

UNUSED static void mortal_crash(struct mortal *mortal)
{
    mortal_die(mortal, CLD_KILLED, SIGSEGV);
}

/* Frees what has ended, as a turn does. */
UNUSED static void mortal_sweep(struct mortal *mortal)
{
    host_death_sweep(mortal->host);
    if (hub_list_empty(&HOST_PROCESS(mortal->host)->ended) &&
        hub_list_empty(&HOST_PROCESS(mortal->host)->lives))
        mortal->life = NULL;
}

UNUSED static void mortal_close(struct mortal *mortal)
{
    if (mortal->life && mortal->life->death.proven_ns == 0)
        mortal_crash(mortal);
    mortal->events = 0;
    host_events_fini(&HOST_OWNER(mortal->host)->events);
    HOST_PROCESS(mortal->host)->closing = true;
    (void)host_death_deliver(mortal->host);
    mortal_sweep(mortal);
    assert_null(mortal->life);
    mortal->guest->life = NULL;
    mortal_close_link(mortal);
    mortal->host->supervision.hooks = &stage_hooks;
    observe_free(mortal->host);
    test_free(mortal);
}

/* Tells the events; returns how many there are so far. */
UNUSED static unsigned mortal_events(struct mortal *mortal)
{
    (void)host_events_deliver(HOST_OWNER(mortal->host));
    return mortal->events;
}

/* As the loop does when the guest's time has come. */
UNUSED static void mortal_time_out(struct mortal *mortal)
{
    struct host_timer *timer = &mortal->guest->timer;

    assert_true(host_loop_is_set(timer));
    host_loop_clear(timer);
    timer->due_ns = hub_clock_now();
    timer->on(timer->user);
}

/* How long it is until then. */
UNUSED static uint64_t mortal_time_left(const struct mortal *mortal)
{
    return host_loop_is_set(&mortal->guest->timer) ? hub_clock_left(mortal->guest->timer.due_ns)
                                                   : HUB_NEVER;
}

#endif
