/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in a host that refuses each. */
#include <rapahub/error.h>
#include <rapahub/route.h>

#include "cluster/node/calls/runs.h"
#include "tests/support/testing.h"

#define MOST 8
#define RUN  7 /* the id of the effect */

static bool no_memory; /* for events */

int __real_cluster_event_queue_add_urgent(struct cluster_event_queue *queue,
                                          const struct cluster_event *event);
int __wrap_cluster_event_queue_add_urgent(struct cluster_event_queue *queue,
                                          const struct cluster_event *event);
int __wrap_cluster_event_queue_add_urgent(struct cluster_event_queue *queue,
                                          const struct cluster_event *event)
{
    return no_memory ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an event")
                     : __real_cluster_event_queue_add_urgent(queue, event);
}

int __wrap_rapahub_host_call_raw(struct rapahub_host *host, const struct rapahub_raw_call *call,
                                 rapahub_on_raw *on_done, void *user,
                                 struct rapahub_request_id *out);
int __wrap_rapahub_host_call_raw(struct rapahub_host *host, const struct rapahub_raw_call *call,
                                 rapahub_on_raw *on_done, void *user,
                                 struct rapahub_request_id *out)
{
    (void)host;
    (void)call;
    (void)on_done;
    (void)user;
    (void)out;
    return rapahub_fail(RAPAHUB_EPLUGGED, "", "the container is plugged");
}

static void on_ended(void *user, uint64_t origin)
{
    (void)user;
    (void)origin;
}

static const struct cluster_nested_hooks hooks = {on_ended};

static void open_runs(struct cluster_runs *runs, struct cluster_pool_records **pools)
{
    *runs = (struct cluster_runs){.count = 0};
    hub_list_init(&runs->open);
    assert_int_equal(cluster_event_queue_create(&runs->events), 0);
    assert_int_equal(cluster_buffers_create(MOST, 4096, &runs->buffers), 0);
    assert_int_equal(cluster_node_calls_create(MOST, 5, &runs->calls), 0);
    assert_int_equal(cluster_nested_create(MOST, 3, &hooks, NULL, &runs->nested), 0);
    assert_int_equal(cluster_pool_records_create(1, pools), 0);
    runs->pools = *pools;
}

static void close_runs(struct cluster_runs *runs, struct cluster_pool_records *pools)
{
    cluster_pool_records_release(&pools);
    cluster_nested_release(&runs->nested);
    cluster_node_calls_release(&runs->calls);
    cluster_buffers_release(&runs->buffers);
    cluster_event_queue_release(&runs->events);
}

static void begin(struct cluster_runs *runs)
{
    const struct cluster_effect effect = {.kind = CLUSTER_EFFECT_RUN, .id = RUN, .uid = {77, 1}};

    cluster_runs_begin(runs, &effect);
}

static void a_run_that_is_refused_has_ended(void **state)
{
    struct cluster_runs runs;
    struct cluster_pool_records *pools;
    const struct cluster_event *event;

    (void)state;
    open_runs(&runs, &pools);
    begin(&runs);
    event = cluster_event_queue_take(runs.events);
    assert_non_null(event);
    assert_int_equal(event->kind, CLUSTER_EVENT_RUN);
    assert_int_equal(event->id, RUN);
    assert_int_equal(event->status, RAPAHUB_EPLUGGED);
    cluster_event_queue_done(runs.events);
    assert_false(cluster_event_queue_has_lost(runs.events));
    close_runs(&runs, pools);
}

/* r[verify cluster.node.lost] */
static void the_end_of_a_run_is_not_lost_in_silence(void **state)
{
    struct cluster_runs runs;
    struct cluster_pool_records *pools;

    (void)state;
    open_runs(&runs, &pools);
    no_memory = true;
    begin(&runs);
    no_memory = false;
    assert_true(cluster_event_queue_has_lost(runs.events));
    close_runs(&runs, pools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_refused_has_ended),
        cmocka_unit_test(the_end_of_a_run_is_not_lost_in_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
