/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/dynamic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/host.h>
#include <rapahub/lifecycle.h>

#include "cluster/core/dispatch.h"
#include "hub/base/clock.h"

#define AGAIN_NS (20 * HUB_MILLISECOND) /* until a container is asked again */
#define TEXT_MAX 512

struct choice {
    struct hub_list link, waiting;
    struct cluster_dynamic *dynamic;
    struct cluster_send_call call;
    uint32_t container; /* that is asked */
    uint64_t again_ns;
    bool asked;   /* the host has the question */
    bool dropped; /* its end is not wanted */
    uint8_t bytes[CLUSTER_EFFECTS_BODY_MAX];
};

static struct cluster_resolve resolve_of(const struct choice *choice)
{
    const struct cluster_dispatch *parts = cluster_core_parts(choice->dynamic->core);

    return (struct cluster_resolve){parts->pools, parts->map, parts->locals, parts->node,
                                    &parts->catch_up};
}

/* Takes it out of all lists; a question that is open finds it dropped. */
static struct cluster_send_call take_out(struct choice *choice)
{
    hub_list_remove(&choice->link);
    hub_list_remove(&choice->waiting);
    choice->dropped = true;
    return choice->call;
}

static void forget(struct choice *choice)
{
    if (!choice->asked)
        free(choice);
}

static void fail(struct choice *choice, int status)
{
    struct cluster_dynamic *dynamic = choice->dynamic;
    const struct cluster_send_call call = take_out(choice);

    dynamic->hooks->failed(dynamic->user, &call, status);
    forget(choice);
}

/* ---- the answer ---- */

/* The answer is judged as a query of a caller is. r[impl cluster.dynamic.answer] */
static int judge(const struct choice *choice, const struct cluster_resolve_query *query)
{
    const struct cluster_resolve resolve = resolve_of(choice);
    struct cluster_resolve_members members;
    char text[TEXT_MAX];
    int status;

    if (query->mode == CLUSTER_MODE_DYNAMIC)
        status = rapahub_fail(RAPAHUB_EINVAL, "", "it answers Dynamic, which is no answer");
    else
        status = cluster_resolve_members(&resolve, choice->call.pool, query, &members);
    if (status == 0)
        return 0;
    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    return rapahub_fail(status, "cluster.dynamic.answer",
                        "the callback `route` of container %u: %s", choice->container, text);
}

static void take_query(struct choice *choice, const struct rapahub_query *answer)
{
    struct cluster_dynamic *dynamic = choice->dynamic;
    const struct cluster_resolve_query query = {(uint8_t)answer->mode, answer->number,
                                                answer->offset, answer->count};
    int status = judge(choice, &query);

    if (status < 0) {
        fail(choice, status);
        return;
    }
    choice->call.query = query;
    (void)take_out(choice);
    dynamic->hooks->chosen(dynamic->user, &choice->call);
    forget(choice);
}

/* ---- the question ---- */

/* Its guest has died, or takes nothing now. */
static bool may_be_asked_again(int status)
{
    static const int codes[] = {
        RAPAHUB_EDIED,   RAPAHUB_ERESTARTING, RAPAHUB_ESTOPPED, RAPAHUB_EDEGRADED, RAPAHUB_EPLUGGED,
        RAPAHUB_ECLOSED, RAPAHUB_ESTALE,      RAPAHUB_ENOENT,   RAPAHUB_EAGAIN,    RAPAHUB_EBUSY};
    bool found = false;

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        found |= status == codes[i];
    return found;
}

static bool is_late(const struct choice *choice)
{
    return hub_clock_now() >= choice->call.deadline_ns;
}

static void ask_later(struct choice *choice)
{
    rapahub_clear_error();
    choice->again_ns = hub_clock_after(AGAIN_NS);
    hub_list_append(&choice->dynamic->waiting, &choice->waiting);
}

static void on_answered(void *user, int status, const void *result)
{
    struct choice *choice = user;

    choice->asked = false;
    choice->dynamic->asks--;
    if (choice->dropped)
        free(choice);
    else if (status == 0)
        take_query(choice, result);
    else if (may_be_asked_again(status) && !is_late(choice))
        ask_later(choice);
    else
        fail(choice, status);
}

static struct rapahub_route route_of(const struct choice *choice)
{
    const struct cluster_dispatch *parts = cluster_core_parts(choice->dynamic->core);
    const struct cluster_pools_pool *pool = cluster_pools_find(parts->pools, choice->call.pool);

    return (struct rapahub_route){.method_id = choice->call.method,
                                  .number = choice->call.query.number,
                                  .node = parts->node,
                                  .containers = pool ? pool->containers : 0};
}

/* A container that serves is asked, or else one that will. r[impl cluster.dynamic.ask] */
static int ask(struct choice *choice)
{
    const struct cluster_resolve resolve = resolve_of(choice);
    const struct cluster_resolve_query local = {.mode = CLUSTER_MODE_LOCAL};
    const struct rapahub_route route = route_of(choice);
    const struct rapahub_question question = {.kind = RAPAHUB_QUESTION_ROUTE, .route = &route};
    struct rapahub_step step = {.on_done = on_answered, .user = choice};
    struct cluster_resolve_members members;
    uint64_t left = hub_clock_left(choice->call.deadline_ns);
    int status = cluster_resolve_members(&resolve, choice->call.pool, &local, &members);

    if (status < 0)
        return status;
    choice->container = members.first;
    step.target =
        (struct rapahub_container_id){cluster_ids_pool_of(choice->call.pool), members.first};
    step.timeout_ns = left > 0 ? left : 1;
    choice->asked = true;
    choice->dynamic->asks++;
    status = rapahub_host_ask_async(choice->dynamic->host, &step, &question);
    if (status < 0) {
        choice->asked = false;
        choice->dynamic->asks--;
    }
    return status;
}

static void ask_again(struct choice *choice)
{
    int status;

    hub_list_remove(&choice->waiting);
    status = is_late(choice)
                 ? rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.dynamic.ask",
                                "no container of the pool has said in time where the call goes")
                 : ask(choice);
    if (status < 0 && may_be_asked_again(status))
        ask_later(choice);
    else if (status < 0)
        fail(choice, status);
}

/* ---- choices ---- */

void cluster_dynamic_init(struct cluster_dynamic *dynamic)
{
    hub_list_init(&dynamic->open);
    hub_list_init(&dynamic->waiting);
}

int cluster_dynamic_begin(struct cluster_dynamic *dynamic, const struct cluster_send_call *call)
{
    struct choice *choice = calloc(1, sizeof *choice);
    int status;

    if (!choice)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
    choice->dynamic = dynamic;
    choice->call = *call;
    if (call->body.bytes.size > 0)
        memcpy(choice->bytes, call->body.bytes.data, call->body.bytes.size);
    choice->call.body.bytes.data = choice->bytes;
    hub_list_init(&choice->waiting);
    hub_list_append(&dynamic->open, &choice->link);
    status = ask(choice);
    if (status < 0 && may_be_asked_again(status)) {
        ask_later(choice);
        status = 0;
    }
    if (status < 0) {
        (void)take_out(choice);
        forget(choice);
    }
    return status;
}

bool cluster_dynamic_cancel(struct cluster_dynamic *dynamic, uint64_t number)
{
    HUB_LIST_EACH (&dynamic->open, link) {
        struct choice *choice = HUB_LIST_ITEM(link, struct choice, link);

        if (choice->call.number != number)
            continue;
        fail(choice, rapahub_fail(RAPAHUB_ECANCELED, "", "the call was cancelled"));
        return true;
    }
    return false;
}

uint64_t cluster_dynamic_step(struct cluster_dynamic *dynamic, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;
    size_t left = 0;

    HUB_LIST_EACH (&dynamic->waiting, link)
        left++;
    while (left-- > 0) {
        struct choice *choice = HUB_LIST_ITEM(dynamic->waiting.next, struct choice, waiting);

        if (choice->again_ns > now_ns) {
            next_ns = choice->again_ns;
            break;
        }
        ask_again(choice);
    }
    if (next_ns == HUB_NEVER && !hub_list_empty(&dynamic->waiting))
        next_ns = HUB_LIST_ITEM(dynamic->waiting.next, struct choice, waiting)->again_ns;
    return next_ns;
}

void cluster_dynamic_close(struct cluster_dynamic *dynamic)
{
    struct hub_list *link;

    while (!hub_list_empty(&dynamic->open)) {
        link = dynamic->open.next;
        (void)take_out(HUB_LIST_ITEM(link, struct choice, link));
        forget(HUB_LIST_ITEM(link, struct choice, link));
    }
}
