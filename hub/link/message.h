/* SPDX-License-Identifier: Apache-2.0 */
/* message: encodes the seven messages as descriptors, and checks and decodes received ones. */
#ifndef HUB_LINK_MESSAGE_H
#define HUB_LINK_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/shm/geometry.h"
#include "hub/shm/layout.h"

struct hub_message {
    enum hub_message_type type;
    uint32_t id;        /* the request's; 0 for a Goodbye */
    uint64_t method_id; /* for a Request */
};

/* Makes a descriptor without a payload. */
void hub_message_pack(const struct hub_message *message, struct hub_descriptor *out);

/* Checks a private copy in the order of docs/spec/shm.md: 0 and *out, or RAPAHUB_EPROTOCOL with the
 * rule. Slot, offset and generation are checked where the slot is read. r[impl hub.violation] */
int hub_message_check(const struct hub_descriptor *copy, const struct hub_limits *limits,
                      struct hub_message *out);

/* The complete check for small calls and their answers, which most messages are. */
static inline bool hub_message_is_small_call(const struct hub_descriptor *copy,
                                             const struct hub_limits *limits)
{
    return (copy->msg_type == HUB_REQUEST || copy->msg_type == HUB_RESPONSE) &&
           copy->payload_slot == HUB_INLINE &&
           (copy->payload_generation | copy->payload_offset) == 0 &&
           copy->payload_len <= HUB_INLINE_SIZE && copy->payload_len <= limits->payload_max;
}

/* The complete check for a Request or a Response in a slot, with slots of several sizes: false may
 * mean that it is something else. */
static inline __attribute__((always_inline)) bool hub_message_is_large_call(
    const struct hub_descriptor *copy, const struct hub_limits *limits)
{
    return (copy->msg_type == HUB_REQUEST || copy->msg_type == HUB_RESPONSE) &&
           copy->payload_slot != HUB_INLINE && copy->payload_len > HUB_INLINE_SIZE &&
           copy->payload_len <= limits->payload_max && limits->slot_count == 0;
}

/* Copies the reason in a Goodbye, escaped and ended by 0: a POSTCARD string, or raw UTF-8, or "".
 * r[impl shm.goodbye.payload] */
void hub_message_reason(const void *payload, size_t size, char *to, size_t capacity);

/* Makes a Goodbye's payload from a rule and a context, and returns its size, at most `capacity`,
 * which is at least 1. The context is cut if both do not fit, then the rule. */
size_t hub_message_put_reason(const char *rule, const char *context, void *to, size_t capacity);

#endif
