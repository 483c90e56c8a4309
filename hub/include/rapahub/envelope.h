/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: messages that say their type: records, strings and numbers through an event region.
 *
 * An envelope is 24 bytes before a payload: which type it is of, how long it is, and a number that
 * a reply carries back. A message of a region is any bytes; one with an envelope tells a reader of
 * another type apart from a damaged one. Whether a message can be decoded changes nothing of the
 * region: the next message is unaffected. docs/spec/region.md has every byte.
 *
 *     struct sample { uint64_t at_ns; double load; };
 *     RAPAHUB_RECORD(sample, RAPAHUB_MEMBER(sample, at_ns, u64), RAPAHUB_MEMBER(sample, load,
 * f64));
 *
 *     rapahub_producer_push_value(producer, &rapahub_type_sample, &sample, 0);
 *
 *     rapahub_consumer_pop(consumer, bytes, sizeof bytes, timeout_ns, &message);
 *     rapahub_consumer_value(consumer, &message, &rapahub_type_sample, &sample);
 */
#ifndef RAPAHUB_ENVELOPE_H
#define RAPAHUB_ENVELOPE_H

#include <rapahub/region.h>
#include <rapahub/value.h>

RAPAHUB_BEGIN_DECLS

#define RAPAHUB_ENVELOPE_BYTES   24 /* before the payload */
#define RAPAHUB_ENVELOPE_TRAILER 4  /* after it, with `crc32c` */

struct rapahub_envelope {
    uint32_t schema_id;   /* of the payload's type, by rapahub_schema_id; 0: raw bytes */
    uint64_t correlation; /* the same in a question and its reply; 0: none */
    bool crc32c;          /* a checksum of envelope and payload follows the payload */
    bool reply;           /* it answers the message with the same correlation */
};

/* Writes an envelope and its payload to `to`, and to `out` the bytes of both, also where they do
 * not fit. The payload may lie in `to` already. -EMSGSIZE: they do not fit, or the payload is of
 * 4 GiB or more. r[impl region.envelope] */
RAPAHUB_API_CHECKED int rapahub_envelope_put(const struct rapahub_envelope *envelope,
                                             struct rapahub_bytes payload, void *to, size_t size,
                                             size_t *out);

/* Reads the envelope of a message; the payload is a view of it. No other process can write the
 * message meanwhile: that of a pop, or a copy of what a peek shows. Each defect has one code, in
 * this order: RAPAHUB_EENVTRUNCATED (less than 4 bytes), EENVMAGIC, EENVTRUNCATED (less than 24),
 * EENVVERSION, EENVFLAGS, EENVLENGTH (of the envelope), EENVTRUNCATED (of the payload), EENVLENGTH
 * (bytes are left), EENVCHECKSUM. `out` and `payload` are undefined then.
 * r[impl region.envelope.order] */
RAPAHUB_API_CHECKED int rapahub_envelope_decode(struct rapahub_bytes message,
                                                struct rapahub_envelope *out,
                                                struct rapahub_bytes *payload);

/* Returns the id of a type: two types with the same text, like `{at_ns: u64, load: f64}`, have the
 * same. Never 0, but for void and for streams, which are no types of messages. */
RAPAHUB_API uint32_t rapahub_schema_id(const struct rapahub_type *type);

/* Publishes a value of a type in an envelope: as rapahub_producer_push does, with its errors. The
 * value is encoded, so it may refer to other memory. -EINVAL: void and streams, or a record that
 * has such a member. */
RAPAHUB_API_CHECKED int rapahub_producer_push_value(struct rapahub_producer *producer,
                                                    const struct rapahub_type *type,
                                                    const void *value, uint64_t timeout_ns);

/* Decodes a message into `value`, memory of `type`; strings and bytes are views of the message,
 * which no other process can write: of a pop, or a copy of what a peek shows. RAPAHUB_EDECODE: it
 * is of another type, or its bytes are not of this one; else the codes of rapahub_envelope_decode.
 * `value` is undefined then. r[impl region.decode] */
RAPAHUB_API_CHECKED int rapahub_message_value(const struct rapahub_message *message,
                                              const struct rapahub_type *type, void *value);

/* Does the same, and counts a failure in the region, where `rapahub region inspect` shows it.
 * r[impl region.decode.count] */
RAPAHUB_API_CHECKED int rapahub_consumer_value(const struct rapahub_consumer *consumer,
                                               const struct rapahub_message *message,
                                               const struct rapahub_type *type, void *value);

RAPAHUB_END_DECLS

#endif
