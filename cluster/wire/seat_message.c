/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/seat_message.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"

/* Compares and writes have a byte for their kind. */
struct cluster_seat_compare {
    uint8_t kind;
    struct rapahub_bytes key, value;
    uint64_t rev;
};
struct cluster_seat_write {
    uint8_t kind;
    struct rapahub_bytes key, value;
};

RAPAHUB_RECORD(cluster_seat_compare, RAPAHUB_MEMBER(cluster_seat_compare, kind, u8),
               RAPAHUB_MEMBER(cluster_seat_compare, key, bytes),
               RAPAHUB_MEMBER(cluster_seat_compare, value, bytes),
               RAPAHUB_MEMBER(cluster_seat_compare, rev, u64));
RAPAHUB_RECORD(cluster_seat_write, RAPAHUB_MEMBER(cluster_seat_write, kind, u8),
               RAPAHUB_MEMBER(cluster_seat_write, key, bytes),
               RAPAHUB_MEMBER(cluster_seat_write, value, bytes));
RAPAHUB_RECORD(cluster_pair, RAPAHUB_MEMBER(cluster_pair, key, bytes),
               RAPAHUB_MEMBER(cluster_pair, value, bytes),
               RAPAHUB_MEMBER(cluster_pair, create_rev, u64),
               RAPAHUB_MEMBER(cluster_pair, mod_rev, u64),
               RAPAHUB_MEMBER(cluster_pair, version, u64));
RAPAHUB_RECORD(cluster_change, RAPAHUB_MEMBER(cluster_change, pair, cluster_pair),
               RAPAHUB_MEMBER(cluster_change, prev_mod, u64),
               RAPAHUB_MEMBER(cluster_change, deleted, bool));
RAPAHUB_RECORD(cluster_seat_request, RAPAHUB_MEMBER(cluster_seat_request, kind, u8),
               RAPAHUB_MEMBER(cluster_seat_request, number, u64),
               RAPAHUB_MEMBER(cluster_seat_request, client, u64),
               RAPAHUB_MEMBER(cluster_seat_request, seq, u64),
               RAPAHUB_MEMBER(cluster_seat_request, from, bytes),
               RAPAHUB_MEMBER(cluster_seat_request, to, bytes),
               RAPAHUB_MEMBER(cluster_seat_request, rev, u64),
               RAPAHUB_MEMBER(cluster_seat_request, pairs_max, u32));
RAPAHUB_RECORD(cluster_seat_reply, RAPAHUB_MEMBER(cluster_seat_reply, number, u64),
               RAPAHUB_MEMBER(cluster_seat_reply, status, u8),
               RAPAHUB_MEMBER(cluster_seat_reply, rev, u64),
               RAPAHUB_MEMBER(cluster_seat_reply, more, bool));
RAPAHUB_RECORD(cluster_seat_event, RAPAHUB_MEMBER(cluster_seat_event, watch, u64),
               RAPAHUB_MEMBER(cluster_seat_event, status, u8),
               RAPAHUB_MEMBER(cluster_seat_event, rev, u64));

static const char *why_not_compare(const void *value)
{
    const struct cluster_seat_compare *compare = value;

    return compare->kind < CLUSTER_COMPARE_KINDS ? NULL : "it has no such kind of compare";
}

static const char *why_not_write(const void *value)
{
    const struct cluster_seat_write *write = value;

    return write->kind < CLUSTER_WRITE_KINDS ? NULL : "it has no such kind of write";
}

/* A store that was restored and not yet written has the revision 0 of its generation. */
static bool is_revision_or_none(uint64_t rev)
{
    return cluster_ids_generation(rev) <= CLUSTER_GENERATION_MAX;
}

static const char *why_not_pair(const void *value)
{
    const struct cluster_pair *pair = value;

    if (pair->key.size == 0 || pair->key.size > CLUSTER_TXN_KEY_MAX ||
        pair->value.size > CLUSTER_TXN_VALUE_MAX)
        return "its pair is no pair of a store";
    return is_revision_or_none(pair->create_rev) && is_revision_or_none(pair->mod_rev)
               ? NULL
               : "its pair has a revision that can be none";
}

static const char *why_not_change(const void *value)
{
    const struct cluster_change *change = value;

    if (!cluster_ids_is_revision(change->pair.mod_rev) || !is_revision_or_none(change->prev_mod))
        return "its change has a revision that can be none";
    return why_not_pair(&change->pair);
}

static bool has_span(const struct cluster_seat_request *request)
{
    return request->kind == CLUSTER_SEAT_RANGE || request->kind == CLUSTER_SEAT_PEEK ||
           request->kind == CLUSTER_SEAT_WATCH;
}

/* r[impl cluster.store.seat.message] */
static const char *why_not_request(const void *value)
{
    const struct cluster_seat_request *request = value;
    bool txn = request->kind == CLUSTER_SEAT_TXN, span = has_span(request);

    if (request->kind == 0 || request->kind >= CLUSTER_SEAT_KINDS || request->number == 0)
        return "its kind is unknown, or it has no number";
    if (!span && (request->from.size > 0 || request->to.size > 0 || request->rev != 0 ||
                  request->pairs_max != 0))
        return "it has a span, against its kind";
    if (!txn && (request->client != 0 || request->seq != 0 || request->compares.count > 0 ||
                 request->then.count > 0 || request->otherwise.count > 0))
        return "it has a transaction, against its kind";
    if (span && (request->kind == CLUSTER_SEAT_WATCH) != (request->pairs_max == 0))
        return "it has a number of pairs, or none, against its kind";
    return NULL;
}

static const char *why_not_status(uint8_t status, uint64_t rev)
{
    if (status >= CLUSTER_TXN_STATUSES)
        return "its status is unknown";
    return is_revision_or_none(rev) ? NULL : "its revision can be none";
}

static const char *why_not_reply(const void *value)
{
    const struct cluster_seat_reply *reply = value;

    return reply->number == 0 ? "it has no number" : why_not_status(reply->status, reply->rev);
}

static const char *why_not_event(const void *value)
{
    const struct cluster_seat_event *event = value;

    if (event->watch == 0 || (event->status != CLUSTER_TXN_OK && event->changes.count > 0))
        return "it is of no watch, or has changes after its end";
    return why_not_status(event->status, event->rev);
}

#define TYPE(tag) &rapahub_type_cluster_##tag
#define LIST(of, list, check) \
    TYPE(of), offsetof(struct cluster_seat_request, list), CLUSTER_TXN_LIST_MAX, (check)

static const struct cluster_format
    request_format = {.what = "a request to the seat",
                      .type = TYPE(seat_request),
                      .lists = {{LIST(seat_compare, compares, why_not_compare)},
                                {LIST(seat_write, then, why_not_write)},
                                {LIST(seat_write, otherwise, why_not_write)}},
                      .check = why_not_request},
    reply_format = {.what = "a reply of the seat",
                    .type = TYPE(seat_reply),
                    .lists = {{TYPE(pair), offsetof(struct cluster_seat_reply, pairs),
                               CLUSTER_SEAT_PAIRS_MAX, why_not_pair}},
                    .check = why_not_reply},
    event_format = {.what = "an event of the seat",
                    .type = TYPE(seat_event),
                    .lists = {{TYPE(change), offsetof(struct cluster_seat_event, changes),
                               CLUSTER_TXN_LIST_MAX, why_not_change}},
                    .check = why_not_event};

static struct cluster_list of_writes(const struct cluster_write *from, uint32_t count,
                                     struct cluster_seat_write *to)
{
    for (uint32_t i = 0; i < count && i < CLUSTER_TXN_LIST_MAX; i++)
        to[i] = (struct cluster_seat_write){
            (uint8_t)from[i].kind, from[i].key,
            from[i].kind == CLUSTER_PUT ? from[i].value : (struct rapahub_bytes){0}};
    return (struct cluster_list){.of = to, .count = count};
}

static struct cluster_list of_compares(const struct cluster_txn *txn,
                                       struct cluster_seat_compare *to)
{
    const struct cluster_compare *from = txn->compares;

    for (uint32_t i = 0; i < txn->compares_count && i < CLUSTER_TXN_LIST_MAX; i++)
        to[i] = (struct cluster_seat_compare){
            (uint8_t)from[i].kind, from[i].key,
            from[i].kind == CLUSTER_VALUE_EQ ? from[i].value : (struct rapahub_bytes){0},
            from[i].rev};
    return (struct cluster_list){.of = to, .count = txn->compares_count};
}

int cluster_seat_message_put_request(struct hub_writer *writer,
                                     const struct cluster_seat_request *request,
                                     const struct cluster_txn *txn)
{
    struct cluster_seat_compare compares[CLUSTER_TXN_LIST_MAX];
    struct cluster_seat_write then[CLUSTER_TXN_LIST_MAX], otherwise[CLUSTER_TXN_LIST_MAX];
    struct cluster_seat_request whole = *request;

    if (txn) {
        whole.client = txn->id.client;
        whole.seq = txn->id.seq;
        whole.compares = of_compares(txn, compares);
        whole.then = of_writes(txn->then, txn->then_count, then);
        whole.otherwise = of_writes(txn->otherwise, txn->otherwise_count, otherwise);
    }
    return cluster_format_put(writer, &request_format, &whole);
}

int cluster_seat_message_put_reply(struct hub_writer *writer,
                                   const struct cluster_seat_reply *reply)
{
    return cluster_format_put(writer, &reply_format, reply);
}

int cluster_seat_message_put_event(struct hub_writer *writer,
                                   const struct cluster_seat_event *event)
{
    return cluster_format_put(writer, &event_format, event);
}

int cluster_seat_message_read_request(struct rapahub_bytes from, struct cluster_seat_request *out)
{
    return cluster_format_read(&request_format, from, out);
}

int cluster_seat_message_read_reply(struct rapahub_bytes from, struct cluster_seat_reply *out)
{
    return cluster_format_read(&reply_format, from, out);
}

int cluster_seat_message_read_event(struct rapahub_bytes from, struct cluster_seat_event *out)
{
    return cluster_format_read(&event_format, from, out);
}

static uint32_t take_writes(struct cluster_list list, struct cluster_write *to)
{
    struct cluster_seat_write write;
    uint32_t count = 0;

    while (count < CLUSTER_TXN_LIST_MAX && cluster_format_next(&list, TYPE(seat_write), &write))
        to[count++] =
            (struct cluster_write){(enum cluster_write_kind)write.kind, write.key, write.value};
    return count;
}

static uint32_t take_compares(struct cluster_list list, struct cluster_compare *to)
{
    struct cluster_seat_compare compare;
    uint32_t count = 0;

    while (count < CLUSTER_TXN_LIST_MAX && cluster_format_next(&list, TYPE(seat_compare), &compare))
        to[count++] = (struct cluster_compare){(enum cluster_compare_kind)compare.kind, compare.key,
                                               compare.value, compare.rev};
    return count;
}

void cluster_seat_message_take_txn(const struct cluster_seat_request *request,
                                   struct cluster_seat_txn *out)
{
    out->txn = (struct cluster_txn){
        .id = {request->client, request->seq},
        .compares = out->compares,
        .then = out->then,
        .otherwise = out->otherwise,
        .compares_count = take_compares(request->compares, out->compares),
        .then_count = take_writes(request->then, out->then),
        .otherwise_count = take_writes(request->otherwise, out->otherwise),
    };
}

bool cluster_seat_message_next_pair(struct cluster_list *list, struct cluster_pair *out)
{
    return cluster_format_next(list, TYPE(pair), out);
}

bool cluster_seat_message_next_change(struct cluster_list *list, struct cluster_change *out)
{
    return cluster_format_next(list, TYPE(change), out);
}
