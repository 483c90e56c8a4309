/* SPDX-License-Identifier: Apache-2.0 */
/* raw channel: one end of a channel: its entry in the table, its credit, its messages. Every step
 * is one call, so that a test may leave one out, or take one too many. */
#ifndef TESTS_RAW_RAW_CHANNEL_H
#define TESTS_RAW_RAW_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

enum raw_channel_state { RAW_CHANNEL_FREE, RAW_CHANNEL_ACTIVE, RAW_CHANNEL_CLOSED };

struct raw_channel {
    struct raw_link *link;
    uint32_t id;
    uint32_t sent, received, granted; /* sums of bytes; `granted` by this side */
};

/* The caller's side: the entry must be Free, gets the first credit and becomes Active: 0, -EBUSY,
 * or -EINVAL where the table has no such entry. */
int raw_channel_open(struct raw_link *link, uint32_t id, struct raw_channel *out);

/* The callee's side, of an id that stood in a Request: -EPROTO unless it is Active with the first
 * credit. */
int raw_channel_adopt(struct raw_link *link, uint32_t id, struct raw_channel *out);

uint32_t raw_channel_look(const struct raw_link *link, uint32_t id);    /* the entry's state */
uint32_t raw_channel_granted(const struct raw_link *link, uint32_t id); /* and its counter */
void raw_channel_set(const struct raw_link *link, uint32_t id, uint32_t state);
void raw_channel_set_granted(struct raw_link *link, uint32_t id, uint32_t granted);

/* Returns the bytes that may be sent now. */
int32_t raw_channel_credit(const struct raw_channel *channel);

/* Waits for the credit, and sends an element of these bytes: 0, -ETIMEDOUT, or what the link says.
 * raw_channel_force asks for no credit, and counts nothing. */
int raw_channel_send(struct raw_channel *channel, const void *bytes, size_t size, int timeout_ms);
int raw_channel_force(struct raw_link *link, uint32_t id, const void *bytes, size_t size);

/* The sender's end: the entry Closed, then the message. */
int raw_channel_close(struct raw_channel *channel);
int raw_channel_abort(struct raw_channel *channel);

/* Close, Reset: the message alone. */
int raw_channel_tell(struct raw_link *link, enum raw_type type, uint32_t id);

/* The receiver's side: counts a Data message, -EPROTO where it was not covered by credit or is no
 * element; its bytes in `at` and `size`. */
int raw_channel_take(struct raw_channel *channel, const struct raw_message *data,
                     const uint8_t **at, size_t *size);
void raw_channel_grant(struct raw_channel *channel, uint32_t bytes);

/* The id may be used again: state Free, and wakes. */
void raw_channel_free(struct raw_link *link, uint32_t id);

#endif
