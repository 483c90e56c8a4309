/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/message.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/printable.h"
#include "hub/wire/postcard.h"

#define LENGTH_SHORT   127 /* bytes of a string whose length is encoded in one byte */
#define CHARACTER_MOST 4   /* bytes of a character */

/* r[impl shm.desc.flags] r[impl shm.desc.inline-fields] */
void hub_message_pack(const struct hub_message *message, struct hub_descriptor *out)
{
    *out = (struct hub_descriptor){.msg_type = (uint8_t)message->type,
                                   .id = message->id,
                                   .method_id = message->method_id,
                                   .payload_slot = HUB_INLINE};
}

static int refuse(const char *rule, const struct hub_descriptor *copy)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "message of type %u, id %u, %u bytes breaks %s",
                        copy->msg_type, copy->id, copy->payload_len, rule);
}

/* With slots of several sizes (slot_count 0) place and bounds are checked where the slot is
 * read. */
static int check_place(const struct hub_descriptor *copy, const struct hub_limits *limits)
{
    bool in_slot = copy->payload_slot != HUB_INLINE;

    if (!in_slot && (copy->payload_generation != 0 || copy->payload_offset != 0))
        return refuse("shm.desc.inline-fields", copy);
    if (in_slot != (copy->payload_len > HUB_INLINE_SIZE))
        return refuse("shm.payload.inline", copy);
    if (copy->payload_len > limits->payload_max)
        return refuse(copy->msg_type == HUB_DATA ? "channeling.data.size-limit"
                                                 : "message.hello.enforcement",
                      copy);
    if (in_slot && limits->slot_count > 0 && copy->payload_slot >= limits->slot_count)
        return refuse("shm.payload.slot", copy);
    if (in_slot && limits->slot_count > 0 &&
        (uint64_t)copy->payload_offset + copy->payload_len > limits->slot_size - 4)
        return refuse("shm.slot.payload-offset", copy);
    return 0;
}

/* r[impl message.unknown-variant] r[impl message.decode-error] r[impl message.hello.enforcement]
 * r[impl flow.call.payload-limit] r[impl call.cancel.message] r[impl channeling.id.zero-reserved]
 * r[impl channeling.data.size-limit] r[impl shm.flow.channel-table-indexing] */
static int check_any(const struct hub_descriptor *copy, const struct hub_limits *limits,
                     struct hub_message *out)
{
    bool of_channel = copy->msg_type >= HUB_DATA && copy->msg_type <= HUB_RESET;
    bool empty =
        copy->msg_type == HUB_CANCEL || copy->msg_type == HUB_CLOSE || copy->msg_type == HUB_RESET;
    int r;

    if (copy->msg_type < HUB_REQUEST || copy->msg_type > HUB_GOODBYE)
        return refuse("message.unknown-variant", copy);
    r = check_place(copy, limits);
    if (r < 0)
        return r;
    if (empty && copy->payload_len != 0)
        return refuse("message.decode-error", copy);
    if (of_channel && copy->id == 0)
        return refuse("channeling.id.zero-reserved", copy);
    if (of_channel && copy->id >= limits->channels_max)
        return refuse("shm.flow.channel-table-indexing", copy);
    *out = (struct hub_message){(enum hub_message_type)copy->msg_type, copy->id,
                                copy->msg_type == HUB_REQUEST ? copy->method_id : 0};
    return 0;
}

int hub_message_check(const struct hub_descriptor *copy, const struct hub_limits *limits,
                      struct hub_message *out)
{
    if (!hub_message_is_small_call(copy, limits) && !hub_message_is_large_call(copy, limits))
        return check_any(copy, limits, out);
    *out = (struct hub_message){(enum hub_message_type)copy->msg_type, copy->id,
                                copy->msg_type == HUB_REQUEST ? copy->method_id : 0};
    return 0;
}

void hub_message_reason(const void *payload, size_t size, char *to, size_t capacity)
{
    const char *text = payload;
    struct rapahub_string string;
    struct hub_reader reader;
    size_t length = 0;

    hub_reader_init(&reader, payload, size);
    string = hub_postcard_read_string(&reader);
    if (hub_postcard_end(&reader) == 0) {
        text = string.data;
        size = string.size;
    } else if (!hub_postcard_utf8(payload, size)) {
        size = 0;
    }
    for (; length < size && length + 1 < capacity; length++)
        to[length] = text[length] ? text[length] : '?';
    to[length] = '\0';
    hub_printable_mend(to);
}

/* Returns how many bytes of a text fit after their length, without cutting a character. */
static size_t cut(const char *text, size_t size, size_t capacity)
{
    size_t most = capacity <= LENGTH_SHORT + 1 ? capacity - 1 : capacity - 2;

    if (size > most)
        size = most;
    for (int i = 1; i < CHARACTER_MOST && !hub_postcard_utf8(text, size); i++)
        size--;
    return size;
}

/* The rule comes first; the rest is cut if it does not fit. r[impl core.error.goodbye-reason] */
size_t hub_message_put_reason(const char *rule, const char *context, void *to, size_t capacity)
{
    char text[1024];
    struct rapahub_string reason = {text, 0};
    struct hub_writer writer;

    snprintf(text, sizeof text, "%s%s%s", rule, *rule && *context ? ": " : "", context);
    reason.size = cut(text, strlen(text), capacity);
    if (!hub_postcard_utf8(text, reason.size))
        reason.size = cut(text, strlen(rule), capacity);
    hub_writer_init(&writer, to, capacity);
    hub_postcard_put_string(&writer, reason);
    return writer.failure == 0 ? writer.size : 0;
}
