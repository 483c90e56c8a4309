/* SPDX-License-Identifier: Apache-2.0 */
/* seat_tap: one end of a link of the seat, for a test that is the other side itself: keeps the
 * messages that were sent, and makes those that the test sends. */
#ifndef TESTS_METASTORE_SEAT_TAP_H
#define TESTS_METASTORE_SEAT_TAP_H

#include "cluster/metastore/seat/seat_link.h"
#include "cluster/metastore/seat/seat_pieces.h"
#include "cluster/wire/seat_message.h"

#define SEAT_TAP_MAX 512

struct seat_tap_message {
    uint8_t type;
    uint8_t *data;
    size_t size;
};

struct seat_tap {
    size_t room; /* pieces that it takes */
    unsigned hang_ups, pieces;
    struct cluster_seat_pieces in;
    struct seat_tap_message messages[SEAT_TAP_MAX];
    size_t count;
};

extern const struct cluster_seat_link seat_tap_link; /* its user is a struct seat_tap */

void seat_tap_init(struct seat_tap *tap);
void seat_tap_clear(struct seat_tap *tap); /* forgets all messages, and the piece of one */

/* Reads a message that was kept; they fail the test. */
struct cluster_seat_request seat_tap_request(const struct seat_tap *tap, size_t index);
struct cluster_seat_reply seat_tap_reply(const struct seat_tap *tap, size_t index);
struct cluster_seat_event seat_tap_event(const struct seat_tap *tap, size_t index);

/* Hands each piece of a message to `take`, until it fails. Returns its last result. */
typedef int seat_tap_take(void *to, uint8_t type, const struct cluster_body *body);
int seat_tap_send(seat_tap_take *take, void *to, uint8_t type, struct rapahub_bytes message);

/* Does so with a message made here. */
int seat_tap_send_request(seat_tap_take *take, void *to, const struct cluster_seat_request *request,
                          const struct cluster_txn *txn);
int seat_tap_send_reply(seat_tap_take *take, void *to, const struct cluster_seat_reply *reply);
int seat_tap_send_event(seat_tap_take *take, void *to, const struct cluster_seat_event *event);

#endif
