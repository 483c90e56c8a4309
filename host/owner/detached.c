/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/detached.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "host/owner/owner.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"

#define END_MOST (2 * HUB_SECOND)

struct made {
    struct host_detached detached;
    rapahub_on_done *on_done;
    void *user;
    const void *(*result)(const void *argument); /* NULL: on_done is given none */
    alignas(max_align_t) uint8_t argument[];
};

static struct host_detached *over(struct host_owner *host)
{
    HUB_LIST_EACH (&host->detached, link) {
        struct host_detached *detached = HUB_LIST_ITEM(link, struct host_detached, link);

        if (detached->task->is_over(detached->argument))
            return detached;
    }
    return NULL;
}

static void end(struct host_owner *host, struct host_detached *detached)
{
    int r;

    hub_list_remove(&detached->link);
    r = detached->task->end(host, detached->argument);
    host->callbacks++;
    detached->on_over(detached, r);
    host->callbacks--;
}

/* on_over may take turns, in which other tasks end: so the search begins anew each time. */
int host_detached_settle(struct host_owner *host)
{
    int count = 0;

    for (struct host_detached *detached; (detached = over(host)); count++)
        end(host, detached);
    return count;
}

void host_detached_rouse(struct host_owner *host)
{
    if (over(host))
        host_loop_wake(&host->loop);
}

static void on_made_over(struct host_detached *detached, int r)
{
    struct made *made = HUB_LIST_ITEM(&detached->link, struct made, detached.link);

    made->on_done(made->user, r, r == 0 && made->result ? made->result(made->argument) : NULL);
    free(made);
}

/* Ends the tasks that are not over in time. Only those that were made are ended: the others are
 * upgrades, and calls may still refer to one that is not over. */
static void end_late(struct host_owner *host)
{
    HUB_LIST_EACH (&host->detached, link) {
        struct host_detached *detached = HUB_LIST_ITEM(link, struct host_detached, link);

        if (detached->on_over == on_made_over)
            end(host, detached);
        else
            rapahub_log(RAPAHUB_LOG_ERROR, "upgrade", "one did not end with its host");
    }
}

void host_detached_end_all(struct host_owner *host)
{
    uint64_t deadline = hub_clock_after(END_MOST);
    int r = 0;

    host->ends = true; /* the end of a task may begin the next one, for ever */
    while (r >= 0 && !hub_list_empty(&host->detached) && hub_clock_left(deadline) > 0)
        r = host_wait_until(host, deadline);
    end_late(host);
}

static int run_begin(struct host_owner *host, void *argument)
{
    struct host_detached *detached = argument;
    int r = host->ends ? rapahub_fail(RAPAHUB_ESTALE, "", "the host ends")
                       : detached->task->begin(host, detached->argument);

    if (r < 0)
        return r;
    hub_list_append(&host->detached, &detached->link);
    host_detached_rouse(host);
    if (host->depth == 0) /* otherwise the turn arms it when it ends */
        host_loop_arm(&host->loop);
    return 0;
}

int host_detached_begin(struct host_owner *host, struct host_detached *detached)
{
    return host_threads_run(host, run_begin, detached);
}

int host_detached_begin_in_turn(struct host_owner *host, struct host_detached *detached,
                                uint64_t deadline_ns)
{
    return host_threads_ask(host, run_begin, detached, deadline_ns);
}

int host_detached_make(struct host_owner *host, const struct host_detached_plan *plan)
{
    struct made *made = calloc(1, sizeof *made + plan->size);
    int r;

    if (!made)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a task of the host");
    memcpy(made->argument, plan->argument, plan->size);
    made->on_done = plan->on_done;
    made->user = plan->user;
    made->result = plan->result;
    made->detached = (struct host_detached){
        .task = plan->task, .argument = made->argument, .on_over = on_made_over};
    r = plan->in_turn_until_ns != 0
            ? host_detached_begin_in_turn(host, &made->detached, plan->in_turn_until_ns)
            : host_detached_begin(host, &made->detached);
    if (r < 0)
        free(made);
    return r;
}
