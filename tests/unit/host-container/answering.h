/* SPDX-License-Identifier: Apache-2.0 */
/* answering: a floor of calls whose guest answers the questions of a container's life in the turns
 * that its host takes while it waits. It keeps what it was asked. */
#ifndef TESTS_UNIT_HOST_CONTAINER_ANSWERING_H
#define TESTS_UNIT_HOST_CONTAINER_ANSWERING_H

#include "host/container/container_lifecycle.h"
#include "tests/unit/host-call/floor.h"

#define ANSWERING_MOST 16

struct answering {
    struct stage *stage;
    enum hub_lifecycle_method asked[ANSWERING_MOST];
    enum host_container_state then[ANSWERING_MOST]; /* of its container, when it was asked */
    uint8_t last[64]; /* the arguments of the last question, after the handle */
    size_t last_size;
    uint64_t handle; /* of the last question */
    uint32_t count;
    enum hub_lifecycle_method refuses; /* a question that it answers with `refusal` */
    int refusal;
    uint64_t work;      /* left; each question finds one less */
    bool is_mute, dies; /* it answers nothing; another life comes with its next answer */
    void (*in_turn)(struct answering *answering); /* or NULL */
    /* answers a question that has another result than a number; false: it does not; or NULL */
    bool (*put)(struct answering *answering, struct hub_writer *writer,
                enum hub_lifecycle_method method, struct hub_reader *arguments);
    void *test; /* of its test */
    struct host_life next;
};

static struct answering *answering_now;

static const struct rapahub_container_id answering_id = {{4, 5}, 6};

FLOOR_UNUSED static void answering_put(struct answering *answering, struct hub_writer *writer,
                                       enum hub_lifecycle_method method)
{
    const struct rapahub_type *type = hub_lifecycle_table[method].types[0];
    const uint64_t number = method == HUB_LIFECYCLE_WORK ? answering->work : 77;
    const uint8_t health = 3;

    if (method == HUB_LIFECYCLE_HEALTH)
        hub_payload_put(writer, type, &health);
    else if (type->kind != RAPAHUB_KIND_VOID)
        hub_payload_put(writer, type, &number);
    if (method == HUB_LIFECYCLE_WORK && answering->work > 0)
        answering->work--;
}

FLOOR_UNUSED static void answering_note(struct answering *answering,
                                        const struct hub_request *request,
                                        enum hub_lifecycle_method method)
{
    struct hub_reader reader;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    if (method != HUB_LIFECYCLE_BEGIN)
        hub_payload_decode(&reader, &rapahub_type_u64, &answering->handle);
    answering->last_size = hub_reader_left(&reader);
    memcpy(answering->last, reader.at,
           answering->last_size < sizeof answering->last ? answering->last_size
                                                         : sizeof answering->last);
    if (answering->put) /* its test keeps what it was asked */
        return;
    assert_true(answering->count < ANSWERING_MOST);
    answering->then[answering->count] =
        (enum host_container_state)answering->stage->container->state;
    answering->asked[answering->count++] = method;
}

FLOOR_UNUSED static void answering_answer(struct answering *answering, struct hub_request *request)
{
    enum hub_lifecycle_method method = hub_lifecycle_of_id(request->method_id);
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    struct hub_reader reader;
    struct hub_writer writer;
    uint8_t body[1020];

    answering_note(answering, request, method);
    if (answering->is_mute)
        return;
    hub_writer_init(&writer, body, sizeof body);
    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    if (method == answering->refuses)
        response = (struct hub_response){
            .kind = HUB_RESPONSE_USER, .code = answering->refusal, .text = rapahub_string_of("no")};
    else if (!answering->put || !answering->put(answering, &writer, method, &reader))
        answering_put(answering, &writer, method);
    if (answering->dies)
        answering->stage->guest.life = &answering->next;
    assert_int_equal(hub_inbound_calls_answer(answering->stage->pair.guest.connection.served,
                                              request, &response,
                                              (struct rapahub_bytes){body, writer.size}),
                     0);
}

FLOOR_UNUSED static int answering_until(struct host_owner *owner, uint64_t deadline_ns)
{
    struct hub_request *request;

    (void)deadline_ns;
    if (answering_now->in_turn)
        answering_now->in_turn(answering_now);
    while ((request = floor_next(answering_now->stage)))
        answering_answer(answering_now, request);
    (void)hub_link_sweep(answering_now->stage->life.connection.link, UINT32_MAX);
    (void)hub_call_ends_deliver(answering_now->stage->life.connection.calls);
    (void)host_loop_run_timers(&owner->loop);
    (void)host_changes_serve(owner);
    return 0;
}

FLOOR_UNUSED static int answering_turn(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return answering_until(owner, 0);
}

FLOOR_UNUSED static uint32_t answering_serve(struct host_call *host, struct host_life *life,
                                             uint32_t most)
{
    (void)host;
    (void)life;
    (void)most;
    return 0;
}

FLOOR_UNUSED static struct answering *answering_open(void)
{
    static const struct host_turns turns = {answering_turn, answering_until};
    static const struct host_call_hooks hooks = {.look = stage_look,
                                                 .call = stage_call,
                                                 .serve = answering_serve,
                                                 .serve_queued = answering_serve};
    struct answering *answering = test_calloc(1, sizeof *answering);

    answering_now = answering;
    answering->refuses = HUB_LIFECYCLE_COUNT;
    answering->refusal = -7;
    answering->stage = floor_open();
    answering->stage->host.process.owner.turns = &turns;
    host_changes_init(&answering->stage->host.process.owner.changes);
    hub_list_init(&answering->stage->host.process.owner.detached);
    answering->stage->host.hooks = &hooks;
    answering->stage->guest.id = (struct rapahub_guest_id){.group = 1, .peer = 2, .epoch = 3};
    return answering;
}

FLOOR_UNUSED static void answering_close(struct answering *answering)
{
    floor_close(answering->stage);
    test_free(answering);
}

/* The steps of a container, by the public functions. */
FLOOR_UNUSED static struct rapahub_host *answering_handle(struct host_call *host)
{
    return (struct rapahub_host *)(void *)host;
}

FLOOR_UNUSED static int answering_plug(struct host_call *host, struct rapahub_container_id target,
                                       bool plugged)
{
    return rapahub_host_plug(answering_handle(host), target, plugged);
}

FLOOR_UNUSED static int answering_drain(struct host_call *host, struct rapahub_container_id target,
                                        uint64_t timeout_ns)
{
    return rapahub_host_drain(answering_handle(host), target, timeout_ns);
}

FLOOR_UNUSED static int answering_remove(struct host_call *host, struct rapahub_container_id target)
{
    return rapahub_host_remove_container(answering_handle(host), target);
}

/* The container of this id; NULL: there is none. */
FLOOR_UNUSED static struct host_container *answering_find(const struct answering *answering,
                                                          struct rapahub_container_id id)
{
    return host_containers_find(&HOST_REGISTRY(&answering->stage->host)->containers, id);
}

#endif
