/* SPDX-License-Identifier: Apache-2.0 */
/* message: the seven messages to descriptors and back; what a received one must look like. */
#ifndef HUB_LINK_MESSAGE_H
#define HUB_LINK_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/shm/geometry.h"
#include "hub/shm/layout.h"

struct hub_message {
    enum hub_message_type type;
    uint32_t id;        /* of the request; of a Goodbye 0 */
    uint64_t method_id; /* of a Request */
};

/* A descriptor without payload. */
void hub_message_pack(const struct hub_message *message, struct hub_descriptor *out);

/* Checks a private copy in the order of docs/spec/shm.md: 0 and *out, or RAPAHUB_EPROTOCOL with the
 * rule. Slot, offset and generation are checked where the slot is read. r[impl hub.violation] */
int hub_message_check(const struct hub_descriptor *copy, const struct hub_limits *limits,
                      struct hub_message *out);

/* Most messages are small calls and their answers, of which this is all there is to check. */
static inline bool hub_message_is_small_call(const struct hub_descriptor *copy,
                                             const struct hub_limits *limits)
{
    return (copy->msg_type == HUB_REQUEST || copy->msg_type == HUB_RESPONSE) &&
           copy->payload_slot == HUB_INLINE &&
           (copy->payload_generation | copy->payload_offset) == 0 &&
           copy->payload_len <= HUB_INLINE_SIZE && copy->payload_len <= limits->payload_max;
}

/* All there is to check of a Request or a Response in a slot, where there are several sizes: false
 * may mean that it is something else. */
static inline __attribute__((always_inline)) bool hub_message_is_large_call(
    const struct hub_descriptor *copy, const struct hub_limits *limits)
{
    return (copy->msg_type == HUB_REQUEST || copy->msg_type == HUB_RESPONSE) &&
           copy->payload_slot != HUB_INLINE && copy->payload_len > HUB_INLINE_SIZE &&
           copy->payload_len <= limits->payload_max && limits->slot_count == 0;
}

/* The reason in a Goodbye: a POSTCARD string, or raw UTF-8, or "". Copied, escaped, ended by 0.
 * r[impl shm.goodbye.payload] */
void hub_message_reason(const void *payload, size_t size, char *to, size_t capacity);

/* A Goodbye's payload from a rule and a context: its size, at most `capacity`, which is 1 at least.
 * The context is cut where both do not fit, then the rule. */
size_t hub_message_put_reason(const char *rule, const char *context, void *to, size_t capacity);

#endif
