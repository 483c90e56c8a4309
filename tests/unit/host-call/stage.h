/* SPDX-License-Identifier: Apache-2.0 */
/* stage: the floor of calls with one guest that is ready, its present life on a link of this
 * process, and its only container. The calling thread owns the host; nobody runs at the other end.
 */
#ifndef TESTS_UNIT_HOST_CALL_STAGE_H
#define TESTS_UNIT_HOST_CALL_STAGE_H

#include "host/call/call.h"
#include "host/process/guest.h"
#include "tests/unit/link/pair.h"

struct stage {
    struct host_call host; /* first: so it is found from the host */
    struct host_guest guest, *guests[1];
    struct host_life life;
    struct pair pair;
    struct host_container *container;
    /* what the two calls of upper floors answer, and what they were asked */
    int look, call, until;
    bool uncalled;
    unsigned looks, calls, deadlines;
    struct rapahub_container_id called;
    uint64_t deadline_ns;
};

static const struct rapahub_container_id stage_here = {{1, 2}, 3};

static inline int stage_look(const struct host_guest *guest, bool *calls)
{
    struct stage *stage = (struct stage *)(void *)guest->host;

    stage->looks++;
    *calls = stage->uncalled;
    return stage->look;
}

static inline int stage_call(struct host_call *host, struct rapahub_container_id target,
                             uint64_t deadline_ns)
{
    struct stage *stage = (struct stage *)(void *)host;

    stage->calls++;
    stage->called = target;
    stage->deadline_ns = deadline_ns;
    return stage->call;
}

static inline int stage_until(struct host_owner *host, uint64_t deadline_ns)
{
    struct stage *stage = (struct stage *)(void *)host;

    stage->deadlines++;
    stage->deadline_ns = deadline_ns;
    return stage->until;
}

static inline struct host_container *stage_add(struct stage *stage, struct rapahub_container_id id)
{
    const struct rapahub_container_options options = {.id = id, .pool_name = "pool"};
    struct host_registry *registry = &stage->host.process.owner.registry;
    struct host_container *container;

    assert_int_equal(host_containers_add(&registry->containers, &options, &container), 0);
    hub_list_append(&stage->guest.containers, &container->of_guest);
    container->guest = &stage->guest;
    container->state = HOST_CONTAINER_READY;
    return container;
}

static inline struct stage *stage_open(void)
{
    static const struct host_call_hooks hooks = {.look = stage_look, .call = stage_call};
    static const struct host_turns turns = {.until = stage_until};
    struct stage *stage = test_calloc(1, sizeof *stage);
    struct host_owner *owner = &stage->host.process.owner;
    struct hub_limits limits = pair_limits();

    pair_open(&stage->pair, &limits, 0);
    owner->registry.callers.number = 1;
    host_routes_init(&owner->registry.routes);
    host_containers_init(&owner->registry.containers);
    host_threads_init(&owner->threads);
    owner->turns = &turns;
    stage->host.hooks = &hooks;
    owner->registry.guests = stage->guests;
    owner->registry.guests_max = 1;
    stage->guests[0] = &stage->guest;
    stage->guest.host = &stage->host.process;
    stage->guest.state = HOST_GUEST_READY;
    memcpy(stage->guest.name, "kv", sizeof "kv");
    stage->guest.methods = host_methods_create();
    assert_non_null(stage->guest.methods);
    stage->guest.life = &stage->life;
    hub_list_init(&stage->guest.containers);
    stage->life.connection.link = stage->pair.host.connection.link;
    stage->life.connection.calls = stage->pair.host.connection.calls;
    stage->container = stage_add(stage, stage_here);
    return stage;
}

static inline void stage_close(struct stage *stage)
{
    struct host_owner *owner = &stage->host.process.owner;

    assert_int_equal(hub_observe(&stage->guest.methods->holders), 1);
    host_methods_release(&stage->guest.methods);
    host_containers_fini(&owner->registry.containers);
    host_threads_fini(&owner->threads);
    host_routes_fini(&owner->registry.routes);
    pair_close(&stage->pair);
    test_free(stage);
}

#endif
