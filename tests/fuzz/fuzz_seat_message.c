/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message between a node and the seat of the metastore; the first byte says which: 0
 * a request, 1 a reply, 2 an event. One that is read is written such that it reads as the same
 * bytes again. */
#include <string.h>

#include "cluster/wire/seat_message.h"
#include "tests/fuzz/fuzz.h"

union message {
    struct cluster_seat_request request;
    struct cluster_seat_reply reply;
    struct cluster_seat_event event;
};

static int read_message(uint8_t kind, struct rapahub_bytes from, union message *out)
{
    if (kind == 0)
        return cluster_seat_message_read_request(from, &out->request);
    return kind == 1 ? cluster_seat_message_read_reply(from, &out->reply)
                     : cluster_seat_message_read_event(from, &out->event);
}

static int put_message(struct hub_writer *writer, uint8_t kind, const union message *message)
{
    if (kind == 0)
        return cluster_seat_message_put_request(writer, &message->request, NULL);
    return kind == 1 ? cluster_seat_message_put_reply(writer, &message->reply)
                     : cluster_seat_message_put_event(writer, &message->event);
}

static size_t write_message(uint8_t kind, const union message *message, uint8_t **out)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    FUZZ_HOLDS(put_message(&writer, kind, message) == 0);
    *out = malloc(writer.size + 1);
    FUZZ_HOLDS(*out != NULL);
    hub_writer_init(&writer, *out, writer.size);
    FUZZ_HOLDS(put_message(&writer, kind, message) == 0);
    return writer.size;
}

/* A transaction is written again from its own lists, where values that its kinds have no use for
 * are gone. */
static void check_txn(const struct cluster_seat_request *request)
{
    static struct cluster_seat_txn taken;
    const struct cluster_seat_request plain = {.kind = request->kind, .number = request->number};
    struct hub_writer writer;

    cluster_seat_message_take_txn(request, &taken);
    FUZZ_HOLDS(taken.txn.compares_count == request->compares.count);
    FUZZ_HOLDS(taken.txn.then_count == request->then.count);
    FUZZ_HOLDS(taken.txn.otherwise_count == request->otherwise.count);
    if (cluster_txn_check(&taken.txn) < 0)
        return;
    hub_writer_count(&writer);
    FUZZ_HOLDS(cluster_seat_message_put_request(&writer, &plain, &taken.txn) == 0);
}

static void walk(uint8_t kind, union message message)
{
    struct cluster_pair pair;
    struct cluster_change change;
    uint32_t count = 0;

    if (kind == 0 && message.request.kind == CLUSTER_SEAT_TXN)
        check_txn(&message.request);
    if (kind == 1) {
        uint32_t all = message.reply.pairs.count;

        while (cluster_seat_message_next_pair(&message.reply.pairs, &pair))
            count++;
        FUZZ_HOLDS(count == all);
    } else if (kind == 2) {
        uint32_t all = message.event.changes.count;

        while (cluster_seat_message_next_change(&message.event.changes, &change))
            count++;
        FUZZ_HOLDS(count == all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    union message message, again;
    uint8_t *first, *second, kind = size > 0 ? data[0] % 3 : 0;
    size_t length;

    if (size == 0 || read_message(kind, (struct rapahub_bytes){data + 1, size - 1}, &message) < 0)
        return 0;
    walk(kind, message);
    length = write_message(kind, &message, &first);
    FUZZ_HOLDS(read_message(kind, (struct rapahub_bytes){first, length}, &again) == 0);
    FUZZ_HOLDS(write_message(kind, &again, &second) == length);
    FUZZ_HOLDS(memcmp(first, second, length) == 0);
    free(first);
    free(second);
    return 0;
}
