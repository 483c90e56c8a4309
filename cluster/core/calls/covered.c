/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/covered.h"

#include <rapahub/error.h>

#include "cluster/core/calls/admitted.h"
#include "cluster/wire/copy_calls.h"
#include "hub/base/check.h"

/* ---- writing ---- */

struct covered_visit {
    const struct cluster_admitted *all;
    const struct cluster_payload *payload;
    const struct cluster_covered_span *span;
    struct hub_writer *to; /* NULL: calls are only counted */
    cluster_covered_body *body;
    void *user;
    uint32_t calls;
};

static struct rapahub_bytes answer_of(const struct covered_visit *visit,
                                      const struct cluster_admitted_call *call)
{
    struct cluster_payload_body body = {.number = 0};

    if (call->state != CLUSTER_DEDUP_LOST && call->payload != 0)
        body = cluster_payload_body(visit->payload, call->payload);
    if (body.number != 0)
        visit->body(visit->user, body.number, &body.bytes);
    return body.bytes;
}

static void visit_call(struct covered_visit *visit, const struct cluster_admitted_call *call)
{
    struct cluster_copy_calls_call written = {.origin = call->uid.origin,
                                              .number = call->uid.number,
                                              .method = call->method,
                                              .digest = call->digest,
                                              .status = call->status,
                                              .application = call->application,
                                              .lost = call->state == CLUSTER_DEDUP_LOST};

    visit->calls++;
    if (!visit->to)
        return;
    written.answer = answer_of(visit, call);
    cluster_copy_calls_put_call(visit->to, &written);
}

static bool is_in(const struct cluster_covered_span *span, const struct cluster_admitted_call *call)
{
    return call->state != CLUSTER_DEDUP_RUNNING && (span->after == 0 || call->end > span->after) &&
           call->end <= span->until;
}

static void visit_calls(struct covered_visit *visit, uint32_t history)
{
    const struct cluster_admitted *all = visit->all;
    uint32_t origin = cluster_admitted_at(all, history)->origins;

    for (; origin != 0; origin = cluster_admitted_origin_at(all, origin)->next) {
        uint32_t place = cluster_admitted_origin_at(all, origin)->first;

        for (; place != 0; place = cluster_admitted_call_at(all, place)->next) {
            const struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

            if (is_in(visit->span, call))
                visit_call(visit, call);
        }
    }
}

static void write_origins(const struct cluster_admitted *all, uint32_t history,
                          struct hub_writer *to)
{
    uint32_t first = cluster_admitted_at(all, history)->origins, count = 0;

    for (uint32_t at = first; at != 0; at = cluster_admitted_origin_at(all, at)->next)
        count++;
    cluster_copy_calls_begin(to, count);
    for (uint32_t at = first; at != 0; at = cluster_admitted_origin_at(all, at)->next) {
        const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, at);
        const struct cluster_copy_calls_origin written = {
            origin->origin, cluster_admitted_peer(all, at), origin->done_below};

        cluster_copy_calls_put_origin(to, &written);
    }
}

/* r[impl cluster.copy.calls] */
int cluster_covered_write(struct cluster_dedup *dedup, const struct cluster_covered_span *span,
                          struct hub_writer *to, cluster_covered_body *body, void *user)
{
    struct cluster_payload *payload;
    const struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    uint32_t history = cluster_admitted_find(all, span->pool, span->container);
    struct covered_visit visit = {
        .all = all, .payload = payload, .span = span, .body = body, .user = user};

    if (history == 0) {
        cluster_copy_calls_begin(to, 0);
        cluster_copy_calls_begin_calls(to, 0);
        return to->failure;
    }
    write_origins(all, history, to);
    visit_calls(&visit, history);
    cluster_copy_calls_begin_calls(to, visit.calls);
    visit.to = to;
    visit_calls(&visit, history);
    return to->failure;
}

/* ---- reading ---- */

static bool is_outside(const struct cluster_copy_calls_call *call)
{
    return call->answer.size > CLUSTER_EFFECTS_BODY_MAX;
}

static int refuse(const char *why)
{
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.copy.calls", "the calls of a copy: %s", why);
}

/* Goes on in a list to an origin. */
static bool find_origin(struct cluster_list *origins, uint64_t origin)
{
    struct cluster_copy_calls_origin at;

    while (cluster_copy_calls_next_origin(origins, &at))
        if (at.origin == origin)
            return true;
    return false;
}

/* Calls lie in the order of their origins, those of one in the order of their numbers. */
static int check(const struct cluster_copy_calls *history, const struct cluster_covered_read *read)
{
    struct cluster_list calls = history->calls, origins = history->origins;
    struct cluster_copy_calls_call call;
    uint64_t origin = 0, number = 0;
    uint32_t outside = 0;

    while (cluster_copy_calls_next_call(&calls, &call)) {
        if (call.origin != origin && !find_origin(&origins, call.origin))
            return refuse("a call without its origin");
        if (call.origin == origin && call.number <= number)
            return refuse("calls that are not in their order");
        origin = call.origin;
        number = call.number;
        outside += is_outside(&call);
    }
    return outside == read->numbers_count ? 0 : refuse("another number of large answers");
}

static uint64_t weight_of(const struct cluster_copy_calls_call *call)
{
    const struct cluster_payload_body body = {
        .bytes = {NULL, call->answer.size}, .number = is_outside(call), .size = call->answer.size};

    return sizeof(struct cluster_admitted_call) + (call->lost ? 0 : cluster_payload_weight(&body));
}

/* Room for all of them, so that none has to be taken back. */
static int check_room(const struct cluster_admitted *all, const struct cluster_payload *payload,
                      const struct cluster_copy_calls *history, uint32_t place)
{
    const struct cluster_admitted_history *row = cluster_admitted_at(all, place);
    const struct cluster_limits *limits = &all->limits;
    struct cluster_list calls = history->calls;
    struct cluster_copy_calls_call call;
    uint32_t kept = cluster_payload_count(payload);
    uint64_t weight = 0;

    while (cluster_copy_calls_next_call(&calls, &call))
        weight += weight_of(&call);
    if (history->calls.count <= limits->dedup - all->calls.count &&
        history->origins.count <= limits->dedup - all->origins.count &&
        history->calls.count <= limits->dedup_container - row->calls && kept <= limits->payloads &&
        history->calls.count <= limits->payloads - kept &&
        weight <= limits->dedup_bytes - all->bytes &&
        weight <= limits->dedup_container_bytes - row->bytes)
        return 0;
    return rapahub_fail(RAPAHUB_EFULL, "cluster.dedup.bounds",
                        "there is no room for %u calls that a copy covers", history->calls.count);
}

static void read_origins(struct cluster_admitted *all, uint32_t history, struct cluster_list list)
{
    struct cluster_copy_calls_origin origin;

    while (cluster_copy_calls_next_origin(&list, &origin)) {
        uint32_t place = cluster_admitted_find_origin(all, history, origin.origin);

        if (place == 0) {
            place = cluster_admitted_add_origin(all, history, origin.origin, origin.peer);
            cluster_admitted_origin_at(all, place)->unheard = true;
        }
        if (cluster_admitted_origin_at(all, place)->done_below < origin.done_below)
            cluster_admitted_origin_at(all, place)->done_below = origin.done_below;
    }
}

static uint32_t keep(struct cluster_payload *payload, const struct cluster_copy_calls_call *call,
                     uint64_t number)
{
    const struct cluster_payload_body body = {
        .bytes = call->answer, .number = number, .size = call->answer.size};

    return cluster_payload_keep(payload, &body);
}

static void read_call(struct cluster_admitted *all, uint32_t origin,
                      const struct cluster_copy_calls_call *call, uint32_t payload, uint64_t end)
{
    uint32_t place = cluster_admitted_add_call(all, origin, call->number, weight_of(call));
    struct cluster_admitted_call *row = cluster_admitted_call_at(all, place);

    row->method = call->method;
    row->digest = call->digest;
    row->status = call->status;
    row->application = call->application;
    row->payload = payload;
    row->state = call->lost ? CLUSTER_DEDUP_LOST : CLUSTER_DEDUP_DONE;
    row->end = end;
}

/* A call that is known, or of which its origin has had the end, is not needed. */
static void read_calls(struct cluster_dedup *dedup, uint32_t history, struct cluster_list list,
                       const uint64_t *numbers)
{
    struct cluster_payload *payload;
    struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    struct cluster_copy_calls_call call;

    while (cluster_copy_calls_next_call(&list, &call)) {
        uint32_t origin = cluster_admitted_find_origin(all, history, call.origin), kept = 0;

        if (!call.lost)
            kept = keep(payload, &call, is_outside(&call) ? *numbers++ : 0);
        if (call.number < cluster_admitted_origin_at(all, origin)->done_below ||
            cluster_admitted_find_call(all, origin, call.number) != 0) {
            if (kept != 0)
                cluster_payload_drop(payload, kept);
            continue;
        }
        read_call(all, origin, &call, kept, cluster_dedup_last_end(dedup));
    }
}

int cluster_covered_read(struct cluster_dedup *dedup, const struct cluster_covered_read *read)
{
    struct cluster_payload *payload;
    struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    uint32_t place = cluster_admitted_find(all, read->pool, read->container);
    struct cluster_copy_calls history;
    int status = cluster_copy_calls_read(read->from, &history);

    CHECK(place != 0);
    if (status == 0)
        status = check(&history, read);
    if (status == 0)
        status = check_room(all, payload, &history, place);
    if (status < 0)
        return status;
    read_origins(all, place, history.origins);
    read_calls(dedup, place, history.calls, read->numbers);
    return 0;
}
