/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/peer_people.h"

#include <string.h>

#include <rapahub/error.h>

#include "tests/simulation/cluster/peer_rules.h"
#include "tests/simulation/cluster/peer_world.h"

#define world peer_rules_world
#define draw  peer_rules_draw

/* A client sends calls again that are at most so many before its last one. */
#define AGAIN 12

/* ---- calls ---- */

static void choose(struct cluster_send_call *asked, struct call *call)
{
    uint32_t c = draw(CONTAINERS);

    *call = (struct call){.first = c, .count = 1, .open = true};
    switch (draw(9)) {
    case 0:
        asked->query.mode = CLUSTER_MODE_BROADCAST;
        call->first = 0;
        call->count = CONTAINERS;
        call->several = true;
        break;
    case 1:
        asked->query = (struct cluster_resolve_query){CLUSTER_MODE_RANGE, 0, 1, 2};
        call->first = 1;
        call->count = 2;
        call->several = true;
        break;
    case 2:
        asked->query = (struct cluster_resolve_query){CLUSTER_MODE_HASH, draw(1000), 0, 0};
        call->first = (uint32_t)asked->query.number % CONTAINERS;
        break;
    case 3:
        /* Any of the containers of that node. */
        asked->query =
            (struct cluster_resolve_query){CLUSTER_MODE_PHYSICAL, peer_rules_owner(c), 0, 0};
        call->first = 0;
        call->count = CONTAINERS;
        break;
    default:
        asked->query = (struct cluster_resolve_query){.offset = c};
    }
}

static void begin_call(struct cluster_send_call asked, uint32_t node, const struct call *from)
{
    struct call *call = &world.calls[world.calls_count];

    *call = *from;
    memset(call->starts, 0, sizeof call->starts);
    memset(call->ran, 0, sizeof call->ran);
    call->node = node;
    call->boot = world.node[node].boot;
    call->each = 0;
    asked.number = world.calls_count++;
    asked.deadline_ns = peer_rules_clock(node) + (1 + draw(4000)) * MS;
    call->asked = asked;
    peer_rules_figures.calls++;
    if (peer_world_tell(node, &(struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &asked}) <
        0)
        call->open = false;
}

/* The lowest number of an origin's calls that are open, and none that it may send again. */
static uint64_t done_below(uint64_t origin, uint64_t number)
{
    uint64_t least = number > AGAIN ? number - AGAIN : 0;

    for (uint32_t i = 0; i < world.calls_count; i++)
        if (world.calls[i].open && world.calls[i].asked.uid.origin == origin &&
            world.calls[i].asked.uid.number < least)
            least = world.calls[i].asked.uid.number;
    return least;
}

void peer_people_call(void)
{
    uint32_t client = draw(CLIENTS), n = 1 + draw(world.nodes);
    struct cluster_send_call asked = {.pool = POOL,
                                      .uid = {(UINT64_C(1) << 63) + client, 0},
                                      .method =
                                          draw(3) == 0 ? POOL_RECORD_REPEATS : POOL_RECORD_ONCE,
                                      .peer = client + 1,
                                      .reserve = 100,
                                      .collect = draw(2) == 0,
                                      .body = {.bytes = {"arguments", 9}}};
    struct call call;

    if (world.calls_count == CALLS)
        return;
    if (draw(2) == 0) {
        asked.uid = (struct cluster_uid){world.node[n].session, ++world.node[n].numbers};
        asked.peer = 0;
        asked.order = draw(3);
    } else {
        asked.uid.number = ++world.numbers[client];
    }
    asked.done_below = done_below(asked.uid.origin, asked.uid.number);
    choose(&asked, &call);
    begin_call(asked, n, &call);
}

static uint32_t find_for_again(uint32_t client)
{
    uint64_t number = world.numbers[client] - draw(AGAIN / 2);

    for (uint32_t i = world.calls_count; i-- > 0;)
        if (world.calls[i].asked.uid.origin == (UINT64_C(1) << 63) + client &&
            world.calls[i].asked.uid.number == number)
            return i;
    return CALLS;
}

/* A client that got no answer, or lost it, sends again, by any node, with no lineage that it knows;
 * sometimes while the call is still open where it was. */
void peer_people_call_again(void)
{
    uint32_t at = find_for_again(draw(CLIENTS));
    struct cluster_send_call asked;
    struct call next;

    if (at == CALLS || world.calls_count == CALLS)
        return;
    next = world.calls[at];
    if (next.given_up || next.sent_again || next.count != 1 ||
        next.asked.query.mode == CLUSTER_MODE_PHYSICAL || (next.open && draw(2) == 0))
        return;
    peer_rules_figures.again++;
    world.calls[at].sent_again = true;
    asked = next.asked;
    asked.maybe = true;
    asked.lineage = 0;
    next.overlaps = next.open;
    next.open = true;
    next.sent_again = false;
    begin_call(asked, 1 + draw(world.nodes), &next);
}

void peer_people_cancel(void)
{
    uint32_t at = world.calls_count > 0 ? draw(world.calls_count) : 0;

    if (world.calls_count > 0 && world.calls[at].open)
        (void)peer_world_tell(world.calls[at].node,
                              &(struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = at});
}

/* ---- runs ---- */

static void end_run(uint32_t at)
{
    struct run *run = &world.runs[at];
    uint8_t answer[CLUSTER_EFFECTS_BODY_MAX] = {0};

    if (!run->open)
        return;
    run->open = false;
    run->ended = true;
    memcpy(answer, &at, sizeof at);
    (void)peer_world_tell(
        run->node, &(struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                                           .id = run->id,
                                           .status = run->dead ? RAPAHUB_EDIED : 0,
                                           .body = {.bytes = {answer, sizeof at + draw(200)}}});
}

void peer_people_end_run(void)
{
    if (world.runs_count > 0)
        end_run(draw(3) == 0 ? draw(world.runs_count) : world.runs_count - 1);
}

void peer_people_end_all_runs(void)
{
    for (uint32_t i = 0; i < world.runs_count; i++)
        end_run(i);
}
