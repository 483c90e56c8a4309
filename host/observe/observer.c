/* SPDX-License-Identifier: Apache-2.0 */
#include "host/observe/observer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/guest/census.h"
#include "host/guest/children.h"
#include "host/observe/observations.h"
#include "host/observe/observe.h"
#include "hub/base/clock.h"

#define EVENTS     1024
#define EVENTS_MAX 65536

/* Held by the owner of the host until no event can follow, and by the reader until it is closed. */
struct rapahub_observer {
    struct host_observations ring;
    struct hub_a32 holders;
    struct hub_a32 closed; /* set by the reader */
    struct hub_a32 ended;  /* set by the owner */
    int bell;
    pid_t process;        /* its process: a forked child has no observer */
    uint32_t number;      /* the supervisor's */
    struct hub_list link; /* in the host's list; owner */
};

static void drop(struct rapahub_observer *observer)
{
    if (hub_add(&observer->holders, UINT32_MAX) != 1)
        return;
    host_observations_fini(&observer->ring);
    if (observer->bell >= 0)
        close(observer->bell);
    free(observer);
}

static void ring_bell(const struct rapahub_observer *observer)
{
    (void)eventfd_write(observer->bell, 1);
}

static void end(struct rapahub_observer *observer)
{
    hub_list_remove(&observer->link);
    hub_publish(&observer->ended, 1);
    ring_bell(observer);
    drop(observer);
}

/* ---- the owner's side ---- */

/* Is the child at this place the supervisor, or below it? */
static bool is_below(const struct host_machine *machine, uint32_t place, uint32_t number)
{
    while (place != HOST_TREE_NONE && host_machine_child(machine, place)->number != number)
        place = host_machine_child(machine, place)->parent;
    return place != HOST_TREE_NONE;
}

/* r[impl supervise.observer] */
static void tell(struct host_observe *host, uint32_t place, struct rapahub_observation what)
{
    const struct host_child *child;

    if (hub_list_empty(&host->observers))
        return;
    child = host_machine_child(&host->supervision.machine, place);
    what.child.number = child->number;
    what.time_ns = hub_clock_now();
    HUB_LIST_EACH (&host->observers, link) {
        struct rapahub_observer *observer = HUB_LIST_ITEM(link, struct rapahub_observer, link);

        if (hub_observe(&observer->closed)) {
            end(observer);
        } else if (is_below(&host->supervision.machine, place, observer->number)) {
            host_observations_put(&observer->ring, &what);
            ring_bell(observer);
            if (what.change == RAPAHUB_CHANGE_CLOSED && child->number == observer->number)
                end(observer);
        }
    }
}

void host_observer_added(struct host_observe *host, uint32_t place)
{
    tell(host, place, (struct rapahub_observation){.change = RAPAHUB_CHANGE_ADDED});
}

static enum rapahub_change change_of(const struct host_decision *decision)
{
    static const enum rapahub_change changes[] = {
        [HOST_CHILD_STOPPED] = RAPAHUB_CHANGE_STOPPED,
        [HOST_CHILD_STARTING] = RAPAHUB_CHANGE_SPAWN,
        [HOST_CHILD_ATTACHED] = RAPAHUB_CHANGE_ATTACHED,
        [HOST_CHILD_READY] = RAPAHUB_CHANGE_READY,
        [HOST_CHILD_DEGRADED] = RAPAHUB_CHANGE_DEGRADED,
        [HOST_CHILD_STOPPING] = RAPAHUB_CHANGE_STOPPING,
        [HOST_CHILD_EXITED] = RAPAHUB_CHANGE_EXIT,
        [HOST_CHILD_BACKOFF] = RAPAHUB_CHANGE_BACKOFF,
        [HOST_CHILD_FAILED] = RAPAHUB_CHANGE_FAILED,
        [HOST_CHILD_CLOSED] = RAPAHUB_CHANGE_CLOSED,
    };

    if (decision->to == HOST_CHILD_STARTING && decision->from == HOST_CHILD_BACKOFF)
        return RAPAHUB_CHANGE_RESTART;
    if (decision->to == HOST_CHILD_STOPPING && decision->fall == HOST_FALL_ESCALATE)
        return RAPAHUB_CHANGE_ESCALATED;
    return changes[decision->to];
}

void host_observer_moved(struct host_observe *host, const struct host_decision *decision)
{
    tell(host, decision->place,
         (struct rapahub_observation){.change = change_of(decision),
                                      .incarnation = decision->incarnation,
                                      .exit_class = decision->class});
}

void host_observer_reaped(struct host_observe *host, const struct host_life *life)
{
    if (life->guest && life->guest->child.node != HOST_TREE_NONE)
        tell(host, life->guest->child.node,
             (struct rapahub_observation){.change = RAPAHUB_CHANGE_REAPED,
                                          .incarnation = life->incarnation});
}

void host_observer_forget_all(struct host_observe *host)
{
    HUB_LIST_EACH (&host->observers, link)
        drop(HUB_LIST_ITEM(link, struct rapahub_observer, link));
    hub_list_init(&host->observers);
}

void host_observer_end_all(struct host_observe *host)
{
    HUB_LIST_EACH (&host->observers, link)
        end(HUB_LIST_ITEM(link, struct rapahub_observer, link));
}

/* ---- install ---- */

struct installing {
    const struct rapahub_supervisor *supervisor;
    uint32_t max;
    struct rapahub_observer *out;
};

/* An observer that its reader has closed makes room for another. */
static int check_first(struct host_observe *host, uint32_t number)
{
    HUB_LIST_EACH (&host->observers, link) {
        struct rapahub_observer *other = HUB_LIST_ITEM(link, struct rapahub_observer, link);

        if (hub_observe(&other->closed))
            end(other);
        else if (other->number == number)
            return rapahub_fail(-EALREADY, "",
                                "the supervisor has an observer, and the first one "
                                "stays");
    }
    return 0;
}

static struct rapahub_observer *make(uint32_t max)
{
    struct rapahub_observer *made = calloc(1, sizeof *made);

    if (!made) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an observer");
        return NULL;
    }
    hub_list_init(&made->link);
    hub_store_relaxed(&made->holders, 1);
    made->process = getpid(); /* a forked child has no observer */
    made->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->bell < 0)
        rapahub_fail(-errno, "", "cannot make the descriptor of an observer");
    else if (host_observations_init(&made->ring, max) == 0)
        return made;
    drop(made);
    return NULL;
}

/* r[impl supervise.observer.first] */
static int run_observe(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    struct installing *installing = argument;
    uint32_t place;
    int r = host_children_find_supervisor(installing->supervisor, &place);

    if (r == 0)
        r = check_first(host, host_machine_child(&host->supervision.machine, place)->number);
    if (r < 0)
        return r;
    installing->out = make(installing->max);
    if (!installing->out)
        return rapahub_last_error()->code;
    hub_add(&installing->out->holders, 1);
    installing->out->number = host_machine_child(&host->supervision.machine, place)->number;
    hub_list_append(&host->observers, &installing->out->link);
    return 0;
}

static int check_options(const struct rapahub_observer_options *options)
{
    uint32_t max = options->events_max;

    for (int i = 0; i < 8; i++)
        if (options->reserved[i] != 0)
            return rapahub_fail(RAPAHUB_EINVAL, "", "`reserved` of an observer's options is set");
    if (max > EVENTS_MAX || (max & (max - 1)) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "events_max is %u: a power of two, and at most %d, is what it may be",
                            max, EVENTS_MAX);
    return 0;
}

int rapahub_supervisor_observe(struct rapahub_supervisor *supervisor,
                               const struct rapahub_observer_options *options,
                               struct rapahub_observer **out)
{
    struct installing installing = {.supervisor = supervisor, .max = EVENTS};
    int r = options ? check_options(options) : 0;

    if (r < 0)
        return r;
    if (options && options->events_max > 0)
        installing.max = options->events_max;
    r = host_threads_run(HOST_OWNER(host_children_host(supervisor)), run_observe, &installing);
    if (r == 0)
        *out = installing.out;
    return r;
}

/* ---- the reader's side ---- */

/* r[impl hub.host.fork] */
static int check_process(const struct rapahub_observer *observer)
{
    return observer->process == getpid()
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
}

int rapahub_observer_fd(const struct rapahub_observer *observer)
{
    int r = check_process(observer);

    return r < 0 ? r : observer->bell;
}

/* Events that come after this look ring anew. */
int rapahub_observer_read(struct rapahub_observer *observer, struct rapahub_observation *list,
                          size_t max, size_t *out)
{
    bool ended = hub_observe(&observer->ended) != 0;
    eventfd_t count;
    int r = check_process(observer);

    if (r < 0)
        return r;
    (void)eventfd_read(observer->bell, &count);
    *out = host_observations_take(&observer->ring, list, max);
    if (*out == max || ended)
        ring_bell(observer);
    if (*out == 0 && ended && max > 0)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "its supervisor is gone");
    return 0;
}

void rapahub_observer_close(struct rapahub_observer *observer)
{
    if (!observer)
        return;
    hub_publish(&observer->closed, 1);
    drop(observer);
}

/* ---- snapshot ---- */

struct looking {
    const struct rapahub_supervisor *supervisor;
    struct rapahub_child_status *list;
    size_t max;
    struct rapahub_snapshot *out;
};

static uint64_t sequence_of(struct host_observe *host, uint32_t number)
{
    HUB_LIST_EACH (&host->observers, link) {
        const struct rapahub_observer *observer =
            HUB_LIST_ITEM(link, struct rapahub_observer, link);

        if (observer->number == number)
            return hub_load_relaxed64(&observer->ring.sequence);
    }
    return 0;
}

/* A decision that is not told yet would be in the snapshot without its sequence number.
 * r[impl supervise.observer.snapshot] */
static int run_snapshot(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    const struct looking *looking = argument;
    const struct host_machine *machine = &host->supervision.machine;
    uint32_t place, number;
    int r = host_children_find_supervisor(looking->supervisor, &place);

    if (r < 0)
        return r;
    if (host->supervision.deciding || machine->count > 0)
        return rapahub_fail(RAPAHUB_ESTATE, "", "on_budget may look at the status of one child");
    number = host_machine_child(machine, place)->number;
    *looking->out = (struct rapahub_snapshot){.sequence = sequence_of(host, number)};
    for (uint32_t i = 0; i < machine->tree.max; i++) {
        const struct host_child *child = host_machine_child(machine, i);

        if (child->number == 0 || child->state == HOST_CHILD_CLOSED ||
            !is_below(machine, i, number))
            continue;
        if (looking->out->count < looking->max)
            host_census_status(&host->supervision, i, &looking->list[looking->out->count]);
        looking->out->count++;
    }
    return 0;
}

int rapahub_supervisor_snapshot(struct rapahub_supervisor *supervisor,
                                struct rapahub_child_status *list, size_t max,
                                struct rapahub_snapshot *out)
{
    struct looking looking = {supervisor, list, max, out};

    return host_threads_look(HOST_OWNER(host_children_host(supervisor)), run_snapshot, &looking);
}
