/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/metadata.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"

#define ENTRY_LEAST 3 /* bytes of an entry: key, kind, value */
#define KINDS       3
#define NUMBER_MAX  10 /* bytes of a u64 */

#define TOTAL_BROKEN "keys and values are longer than 65536 bytes"
#define TARGET_SHORT 0x80 /* bytes; the length of a shorter value is encoded in one byte */

/* Returns the bytes of an entry's value that count towards the limits. */
static size_t value_size(const struct hub_metadata_entry *entry)
{
    return entry->kind == HUB_METADATA_U64 ? sizeof(entry->number) : entry->bytes.size;
}

/* Says which limit an entry breaks that brings the total to `total`; NULL if none. */
static const char *broken_limit(const struct hub_metadata_entry *entry, size_t total)
{
    if (entry->key.size > HUB_METADATA_KEY)
        return "a key is longer than 256 bytes";
    if (value_size(entry) > HUB_METADATA_VALUE)
        return "a value is longer than 16384 bytes";
    return total > HUB_METADATA_TOTAL ? TOTAL_BROKEN : NULL;
}

/* The encoded length, key and kind that precede the value of an entry of our own. Entries are
 * written in this form, and a reader tries it first. */
static const char before_container[] = "\x11" HUB_KEY_CONTAINER "\x02";
static const char before_target[] = "\x0a" HUB_KEY_TARGET "\x01";
static const char before_chain[] = "\x0d" HUB_KEY_CHAIN "\x02";
static const char before_fault[] = "\x0d" HUB_KEY_FAULT "\x02";
static const char before_uid[] = "\x0b" HUB_KEY_UID "\x01\x10";

_Static_assert(sizeof HUB_KEY_CONTAINER == 0x11 + 1, "its length");
_Static_assert(sizeof HUB_KEY_TARGET == 0x0a + 1, "its length");
_Static_assert(sizeof HUB_KEY_CHAIN == 0x0d + 1 && sizeof HUB_KEY_FAULT == 0x0d + 1, "its length");

static void put_number(struct hub_writer *writer, const char *before, size_t size, uint64_t number)
{
    if (number == 0)
        return;
    hub_writer_put(writer, before, size - 1);
    hub_postcard_put_unsigned(writer, number);
}

#define PUT_NUMBER(writer, before, number) put_number(writer, before, sizeof before, number)

static void put_target(struct hub_writer *writer, const struct hub_metadata *metadata)
{
    uint8_t chain[NUMBER_MAX];
    size_t size = hub_postcard_put_at(chain, metadata->chain);

    hub_writer_put(writer, before_target, sizeof before_target - 1);
    hub_postcard_put_unsigned(writer, size + metadata->target.size);
    hub_writer_put(writer, chain, size);
    hub_writer_put(writer, metadata->target.data, metadata->target.size);
}

static void put_uid(struct hub_writer *writer, const uint8_t *uid)
{
    if (!uid)
        return;
    hub_writer_put(writer, before_uid, sizeof before_uid - 1);
    hub_writer_put(writer, uid, HUB_METADATA_UID);
}

/* Numbers and keys of our own are always within the limits; only the target's size is checked.
 * r[impl call.metadata.limits] */
int hub_metadata_write(struct hub_writer *writer, const struct hub_metadata *metadata)
{
    bool targeted = metadata->target.size != 0;
    unsigned count = (unsigned)(metadata->container != 0) + (targeted || metadata->chain != 0) +
                     (metadata->fault != 0) + (metadata->uid != NULL);

    if (metadata->target.size > HUB_METADATA_VALUE - NUMBER_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "call.metadata.limits",
                            "metadata: a value is longer than 16384 bytes");
    hub_writer_byte(writer, (uint8_t)count);
    if (count == 0)
        return writer->failure;
    PUT_NUMBER(writer, before_container, metadata->container);
    if (targeted)
        put_target(writer, metadata);
    else
        PUT_NUMBER(writer, before_chain, metadata->chain);
    PUT_NUMBER(writer, before_fault, metadata->fault);
    put_uid(writer, metadata->uid);
    return writer->failure;
}

uint32_t hub_metadata_decode_count(struct hub_reader *reader)
{
    return hub_postcard_read_count(reader, ENTRY_LEAST);
}

void hub_metadata_decode_entry(struct hub_reader *reader, struct hub_metadata_entry *out)
{
    struct rapahub_string text;

    memset(out, 0, sizeof(*out));
    out->key = hub_postcard_read_string(reader);
    out->kind = (enum hub_metadata_kind)hub_postcard_read_variant(reader, KINDS);
    if (out->kind == HUB_METADATA_STRING) {
        text = hub_postcard_read_string(reader);
        out->bytes = (struct rapahub_bytes){text.data, text.size};
    } else if (out->kind == HUB_METADATA_BYTES) {
        out->bytes = hub_postcard_read_bytes(reader);
    } else {
        out->number = hub_postcard_read_unsigned(reader, 64);
    }
}

static bool is_key(const struct hub_metadata_entry *entry, enum hub_metadata_kind kind,
                   const char *key)
{
    return entry->kind == kind && entry->key.size == strlen(key) &&
           !memcmp(entry->key.data, key, entry->key.size);
}

/* A value that is not a chain and a container becomes a target that no lookup finds. */
static void keep_target(struct hub_metadata *metadata, struct rapahub_bytes value)
{
    struct hub_reader reader;
    uint64_t chain;

    hub_reader_init(&reader, value.data, value.size);
    chain = hub_postcard_read_unsigned(&reader, 64);
    metadata->target = value;
    if (reader.failure)
        return;
    metadata->target = (struct rapahub_bytes){reader.at, hub_reader_left(&reader)};
    metadata->chain = chain;
}

/* A key of our own with a value of another kind counts as unknown. */
static void keep(struct hub_metadata *metadata, const struct hub_metadata_entry *entry)
{
    if (is_key(entry, HUB_METADATA_U64, HUB_KEY_CONTAINER))
        metadata->container = entry->number;
    else if (is_key(entry, HUB_METADATA_U64, HUB_KEY_CHAIN))
        metadata->chain = entry->number;
    else if (is_key(entry, HUB_METADATA_U64, HUB_KEY_FAULT))
        metadata->fault = entry->number;
    else if (is_key(entry, HUB_METADATA_BYTES, HUB_KEY_TARGET))
        keep_target(metadata, entry->bytes);
    else if (is_key(entry, HUB_METADATA_BYTES, HUB_KEY_UID) &&
             entry->bytes.size == HUB_METADATA_UID)
        metadata->uid = entry->bytes.data;
}

static int refuse(struct hub_reader *reader, const char *rule, const char *what)
{
    int code = rapahub_fail(RAPAHUB_EPROTOCOL, rule, "metadata: %s", what);

    if (!reader->failure)
        reader->failure = code;
    return code;
}

static int refuse_bytes(struct hub_reader *reader)
{
    return refuse(reader, "message.decode-error", "it cannot be decoded");
}

static bool begins(struct hub_reader *reader, const char *before, size_t size)
{
    if (hub_reader_left(reader) < size - 1 || memcmp(reader->at, before, size - 1) != 0)
        return false;
    reader->at += size - 1;
    return true;
}

#define BEGINS(reader, before) begins(reader, before, sizeof before)

static size_t take_number(struct hub_reader *reader, uint64_t *to)
{
    *to = hub_postcard_read_unsigned(reader, 64);
    return sizeof *to;
}

/* Decodes the next entry if it is one of our own in the form in which we write it, and cannot
 * break a limit by itself. Returns its size towards the limit of the sum, or 0 with the reader
 * unmoved. */
static size_t take_ours(struct hub_reader *reader, struct hub_metadata *metadata)
{
    const uint8_t *at = reader->at;
    struct rapahub_bytes value;

    if (reader->failure)
        return 0;
    if (BEGINS(reader, before_chain))
        return sizeof HUB_KEY_CHAIN - 1 + take_number(reader, &metadata->chain);
    if (BEGINS(reader, before_container))
        return sizeof HUB_KEY_CONTAINER - 1 + take_number(reader, &metadata->container);
    if (BEGINS(reader, before_target) && reader->at < reader->end && *reader->at < TARGET_SHORT) {
        value = hub_postcard_read_bytes(reader);
        keep_target(metadata, value);
        return sizeof HUB_KEY_TARGET - 1 + value.size;
    }
    reader->at = at;
    return 0;
}

/* Decodes any entry. r[impl call.metadata.unknown] */
static int read_any(struct hub_reader *reader, struct hub_metadata *metadata, size_t *total)
{
    struct hub_metadata_entry entry;
    const char *limit;

    hub_metadata_decode_entry(reader, &entry);
    *total += entry.key.size + value_size(&entry);
    limit = broken_limit(&entry, *total);
    if (limit && !reader->failure)
        return refuse(reader, "call.metadata.limits", limit);
    keep(metadata, &entry);
    return 0;
}

/* Reads each entry in order, even if its key occurred before; for keys of our own the last one
 * counts.
 * r[impl core.metadata] r[impl call.metadata.limits] r[impl call.metadata.keys]
 * r[impl call.metadata.order] r[impl call.metadata.duplicates] */
int hub_metadata_read_entries(struct hub_reader *reader, struct hub_metadata *out)
{
    uint32_t count = hub_metadata_decode_count(reader);
    struct hub_metadata metadata = {0};
    size_t total = 0;

    if (count > HUB_METADATA_ENTRIES)
        return refuse(reader, "call.metadata.limits", "there are more than 128 entries");
    for (uint32_t i = 0; i < count && !reader->failure; i++) {
        size_t ours = take_ours(reader, &metadata);

        total += ours;
        if (ours > 0 && total > HUB_METADATA_TOTAL)
            return refuse(reader, "call.metadata.limits", TOTAL_BROKEN);
        if (ours == 0 && read_any(reader, &metadata, &total) < 0)
            return RAPAHUB_EPROTOCOL;
    }
    if (reader->failure)
        return refuse_bytes(reader);
    *out = metadata;
    return 0;
}
