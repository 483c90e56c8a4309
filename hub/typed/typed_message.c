/* SPDX-License-Identifier: Apache-2.0 */
/* typed_message: values of a type as messages of a region. */
#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/bus/consumer.h"
#include "hub/typed/schema.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define SMALL 1024 /* bytes of a message that need no memory of the heap */

static int check_type(const struct rapahub_type *type)
{
    return hub_schema_is_of_messages(type)
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.decode",
                              "'%.64s' is no type of a message: it is void or a stream, or a "
                              "record with such a member",
                              type && type->word ? type->word : "");
}

/* The payload is encoded where it lies in the message, after the place of its envelope. */
static int encode(const struct rapahub_type *type, const void *value, uint8_t *to, size_t *size)
{
    const struct rapahub_envelope envelope = {.schema_id = rapahub_schema_id(type)};
    struct rapahub_bytes payload = {to + RAPAHUB_ENVELOPE_BYTES, *size - RAPAHUB_ENVELOPE_BYTES};
    struct hub_writer writer;

    hub_writer_init(&writer, to + RAPAHUB_ENVELOPE_BYTES, payload.size);
    hub_payload_put(&writer, type, value);
    if (writer.failure < 0)
        return writer.failure;
    return rapahub_envelope_put(&envelope, payload, to, *size, size);
}

int rapahub_producer_push_value(struct rapahub_producer *producer, const struct rapahub_type *type,
                                const void *value, uint64_t timeout_ns)
{
    OWN(hub_memory) uint8_t *large = NULL;
    uint8_t small[SMALL];
    struct hub_writer counter;
    size_t size;
    int r = check_type(type);

    if (r < 0)
        return r;
    hub_writer_count(&counter);
    hub_payload_put(&counter, type, value);
    if (counter.failure < 0)
        return counter.failure;
    size = RAPAHUB_ENVELOPE_BYTES + counter.size;
    if (size > sizeof small) {
        large = malloc(size);
        if (!large)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a message of %zu bytes", size);
    }
    r = encode(type, value, large ? large : small, &size);
    return r == 0 ? rapahub_producer_push(producer, large ? large : small, size, timeout_ns) : r;
}

static int decode(struct rapahub_bytes payload, const struct rapahub_type *type, void *value)
{
    struct hub_reader reader;

    hub_reader_init(&reader, payload.data, payload.size);
    hub_payload_decode(&reader, type, value);
    return hub_postcard_end(&reader) == 0
               ? 0
               : rapahub_fail(RAPAHUB_EDECODE, "region.decode",
                              "%zu bytes of the message are no %.64s: %s", payload.size, type->word,
                              rapahub_last_error()->text);
}

int rapahub_message_value(const struct rapahub_message *message, const struct rapahub_type *type,
                          void *value)
{
    struct rapahub_bytes payload;
    struct rapahub_envelope envelope;
    int r = check_type(type);

    if (r == 0)
        r = rapahub_envelope_decode((struct rapahub_bytes){message->data, message->size}, &envelope,
                                    &payload);
    if (r < 0)
        return r;
    if (envelope.schema_id != rapahub_schema_id(type))
        return rapahub_fail(RAPAHUB_EDECODE, "region.decode",
                            "the message of position %" PRIu64 " is of type %08" PRIx32
                            ", and '%.64s' is %08" PRIx32,
                            message->position, envelope.schema_id, type->word,
                            rapahub_schema_id(type));
    return decode(payload, type, value);
}

/* The message was taken before: nothing but the count is changed. r[impl region.decode.next] */
int rapahub_consumer_value(const struct rapahub_consumer *consumer,
                           const struct rapahub_message *message, const struct rapahub_type *type,
                           void *value)
{
    int r = rapahub_message_value(message, type, value);

    if (r < 0 && r != RAPAHUB_EINVAL)
        hub_consumer_count_undecodable(consumer);
    return r;
}
