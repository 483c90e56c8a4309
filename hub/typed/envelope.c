/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: 24 bytes before a payload, at any address, little-endian: 0 "RBM1", 4 u8 version, 5 u8
 * flags, 6 u16 bytes of the envelope, 8 u32 schema id, 12 u32 bytes of the payload, 16 u64
 * correlation. With the flag CRC32C 4 bytes follow the payload: the CRC32C of all before. */
#include <inttypes.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "hub/base/crc32c.h"

#define MAGIC   "RBM1"
#define VERSION 1
#define BYTES   RAPAHUB_ENVELOPE_BYTES
#define TRAILER RAPAHUB_ENVELOPE_TRAILER

enum { FLAG_CRC32C = 1, FLAG_REPLY = 2 };

struct parts {
    uint8_t magic[4], version, flags;
    uint16_t header_len;
    uint32_t schema_id, payload_len;
    uint64_t correlation;
};
_Static_assert(sizeof(struct parts) == BYTES, "without gaps");

static size_t trailer_of(bool crc32c)
{
    return crc32c ? TRAILER : 0;
}

int rapahub_envelope_put(const struct rapahub_envelope *envelope, struct rapahub_bytes payload,
                         void *to, size_t size, size_t *out)
{
    struct parts parts = {.version = VERSION,
                          .flags = (uint8_t)((envelope->crc32c ? FLAG_CRC32C : 0) |
                                             (envelope->reply ? FLAG_REPLY : 0)),
                          .header_len = BYTES,
                          .schema_id = envelope->schema_id,
                          .payload_len = (uint32_t)payload.size,
                          .correlation = envelope->correlation};
    uint8_t *at = to;
    size_t trailer = trailer_of(envelope->crc32c);

    *out = BYTES + payload.size + trailer;
    if (payload.size > UINT32_MAX || *out > size)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.envelope",
                            "a payload of %zu bytes and its envelope have %zu, and there is room "
                            "for %zu",
                            payload.size, *out, size);
    memcpy(parts.magic, MAGIC, sizeof parts.magic);
    if (payload.size > 0)
        memmove(at + BYTES, payload.data, payload.size);
    memcpy(at, &parts, BYTES);
    if (trailer > 0) {
        uint32_t sum = hub_crc32c(0, at, BYTES + payload.size);

        memcpy(at + BYTES + payload.size, &sum, sizeof sum);
    }
    return 0;
}

static int truncated(size_t size, uint64_t least)
{
    return rapahub_fail(RAPAHUB_EENVTRUNCATED, "region.envelope.order",
                        "the message has %zu bytes, its envelope and payload at least %" PRIu64,
                        size, least);
}

static int check_flags(const struct parts *parts)
{
    if (parts->version != VERSION)
        return rapahub_fail(RAPAHUB_EENVVERSION, "region.envelope.order",
                            "the envelope's version is %u, not %d", parts->version, VERSION);
    if (parts->flags & ~(FLAG_CRC32C | FLAG_REPLY))
        return rapahub_fail(RAPAHUB_EENVFLAGS, "region.envelope.order",
                            "the envelope's flags are %02x, which are not known", parts->flags);
    if (parts->header_len != BYTES)
        return rapahub_fail(RAPAHUB_EENVLENGTH, "region.envelope.order",
                            "the envelope says that it has %u bytes, not %d", parts->header_len,
                            BYTES);
    return 0;
}

static int check_length(const struct parts *parts, size_t size)
{
    uint64_t whole = (uint64_t)BYTES + parts->payload_len + trailer_of(parts->flags & FLAG_CRC32C);

    if (size < whole)
        return truncated(size, whole);
    if (size > whole)
        return rapahub_fail(RAPAHUB_EENVLENGTH, "region.envelope.order",
                            "%" PRIu64 " bytes follow the payload of %" PRIu32 " bytes",
                            size - whole, parts->payload_len);
    return 0;
}

static int check_sum(const struct parts *parts, const uint8_t *data)
{
    size_t size = BYTES + (size_t)parts->payload_len;
    uint32_t sum;

    if (!(parts->flags & FLAG_CRC32C))
        return 0;
    memcpy(&sum, data + size, sizeof sum);
    return sum == hub_crc32c(0, data, size)
               ? 0
               : rapahub_fail(RAPAHUB_EENVCHECKSUM, "region.envelope.order",
                              "the checksum of the envelope and its %" PRIu32 " bytes is wrong",
                              parts->payload_len);
}

static int read_parts(struct rapahub_bytes message, struct parts *out)
{
    if (message.size < sizeof out->magic)
        return truncated(message.size, BYTES);
    if (memcmp(message.data, MAGIC, sizeof out->magic) != 0)
        return rapahub_fail(RAPAHUB_EENVMAGIC, "region.envelope.order",
                            "the message does not begin with an envelope");
    if (message.size < BYTES)
        return truncated(message.size, BYTES);
    memcpy(out, message.data, BYTES);
    return 0;
}

int rapahub_envelope_decode(struct rapahub_bytes message, struct rapahub_envelope *out,
                            struct rapahub_bytes *payload)
{
    struct parts parts;
    int r = read_parts(message, &parts);

    if (r == 0)
        r = check_flags(&parts);
    if (r == 0)
        r = check_length(&parts, message.size);
    if (r == 0)
        r = check_sum(&parts, message.data);
    if (r < 0)
        return r;
    *out = (struct rapahub_envelope){.schema_id = parts.schema_id,
                                     .correlation = parts.correlation,
                                     .crc32c = parts.flags & FLAG_CRC32C,
                                     .reply = parts.flags & FLAG_REPLY};
    *payload = (struct rapahub_bytes){(const uint8_t *)message.data + BYTES, parts.payload_len};
    return 0;
}
