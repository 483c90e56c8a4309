/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/route.h>

#include "cluster/node/calls/router.h"
#include "tests/support/testing.h"

static bool no_memory; /* for events */

int __real_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event);
int __wrap_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event);
int __wrap_cluster_event_queue_add(struct cluster_event_queue *queue,
                                   const struct cluster_event *event)
{
    return no_memory ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an event")
                     : __real_cluster_event_queue_add(queue, event);
}

int __wrap_rapahub_host_set_router(struct rapahub_host *host, const struct rapahub_router *router);
int __wrap_rapahub_host_set_router(struct rapahub_host *host, const struct rapahub_router *router)
{
    (void)host;
    (void)router;
    return 0;
}

/* The core has the call, and its caller wants its streams back. r[verify cluster.node.lost] */
static void a_cancel_is_not_lost_in_silence(void **state)
{
    struct cluster_router_parts parts = {.node = 1};
    struct cluster_router *router;
    const struct cluster_event *event;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&parts.events), 0);
    assert_int_equal(cluster_router_create(&parts, &router), 0);
    cluster_router_cancel(router, 5);
    event = cluster_event_queue_take(parts.events);
    assert_non_null(event);
    assert_int_equal(event->kind, CLUSTER_EVENT_CANCEL);
    assert_int_equal(event->number, 5);
    cluster_event_queue_done(parts.events);
    assert_false(cluster_event_queue_has_lost(parts.events));
    no_memory = true;
    cluster_router_cancel(router, 5);
    no_memory = false;
    assert_true(cluster_event_queue_has_lost(parts.events));
    cluster_router_close(router);
    cluster_router_release(&router);
    cluster_event_queue_release(&parts.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancel_is_not_lost_in_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
