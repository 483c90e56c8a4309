/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/metadata.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"

#define ENTRY_LEAST 3 /* bytes of an entry: key, kind, value */
#define KINDS       3

/* What of an entry counts towards the limits. */
static size_t value_size(const struct hub_metadata_entry *entry)
{
    return entry->kind == HUB_METADATA_U64 ? sizeof(entry->number) : entry->bytes.size;
}

/* Which limit an entry breaks that brings the total to `total`; NULL if none. */
static const char *broken_limit(const struct hub_metadata_entry *entry, size_t total)
{
    if (entry->key.size > HUB_METADATA_KEY)
        return "a key is longer than 256 bytes";
    if (value_size(entry) > HUB_METADATA_VALUE)
        return "a value is longer than 16384 bytes";
    return total > HUB_METADATA_TOTAL ? "keys and values are longer than 65536 bytes" : NULL;
}

static int check_limits(const struct hub_metadata_entry *entries, uint32_t count)
{
    const char *limit = count > HUB_METADATA_ENTRIES ? "there are more than 128 entries" : NULL;
    size_t total = 0;

    for (uint32_t i = 0; i < count && !limit; i++) {
        total += entries[i].key.size + value_size(&entries[i]);
        limit = broken_limit(&entries[i], total);
    }
    return limit ? rapahub_fail(RAPAHUB_EMSGSIZE, "call.metadata.limits", "metadata: %s", limit)
                 : 0;
}

static void put_entry(struct hub_writer *writer, const struct hub_metadata_entry *entry)
{
    struct rapahub_string text = {entry->bytes.data, entry->bytes.size};

    hub_postcard_put_string(writer, entry->key);
    hub_postcard_put_unsigned(writer, entry->kind);
    if (entry->kind == HUB_METADATA_STRING)
        hub_postcard_put_string(writer, text);
    else if (entry->kind == HUB_METADATA_BYTES)
        hub_postcard_put_bytes(writer, entry->bytes);
    else
        hub_postcard_put_unsigned(writer, entry->number);
}

/* r[impl call.metadata.limits] r[impl call.metadata.order] r[impl call.metadata.duplicates] */
int hub_metadata_put(struct hub_writer *writer, const struct hub_metadata_entry *entries,
                     uint32_t count)
{
    int r = check_limits(entries, count);

    if (r < 0)
        return r;
    hub_postcard_put_unsigned(writer, count);
    for (uint32_t i = 0; i < count; i++)
        put_entry(writer, &entries[i]);
    return writer->failure;
}

static void add_number(struct hub_metadata_entry *entries, uint32_t *count, const char *key,
                       uint64_t number)
{
    if (number)
        entries[(*count)++] = (struct hub_metadata_entry){
            .key = rapahub_string_of(key), .kind = HUB_METADATA_U64, .number = number};
}

int hub_metadata_write(struct hub_writer *writer, const struct hub_metadata *metadata)
{
    struct hub_metadata_entry entries[4];
    uint32_t count = 0;

    if ((metadata->container | metadata->chain | metadata->fault | metadata->target.size) == 0) {
        hub_writer_byte(writer, 0);
        return writer->failure;
    }
    add_number(entries, &count, HUB_KEY_CONTAINER, metadata->container);
    if (metadata->target.size)
        entries[count++] = (struct hub_metadata_entry){.key = rapahub_string_of(HUB_KEY_TARGET),
                                                       .kind = HUB_METADATA_BYTES,
                                                       .bytes = metadata->target};
    add_number(entries, &count, HUB_KEY_CHAIN, metadata->chain);
    add_number(entries, &count, HUB_KEY_FAULT, metadata->fault);
    return hub_metadata_put(writer, entries, count);
}

uint32_t hub_metadata_take_count(struct hub_reader *reader)
{
    return hub_postcard_take_count(reader, ENTRY_LEAST);
}

void hub_metadata_take_entry(struct hub_reader *reader, struct hub_metadata_entry *out)
{
    struct rapahub_string text;

    memset(out, 0, sizeof(*out));
    out->key = hub_postcard_take_string(reader);
    out->kind = (enum hub_metadata_kind)hub_postcard_take_variant(reader, KINDS);
    if (out->kind == HUB_METADATA_STRING) {
        text = hub_postcard_take_string(reader);
        out->bytes = (struct rapahub_bytes){text.data, text.size};
    } else if (out->kind == HUB_METADATA_BYTES) {
        out->bytes = hub_postcard_take_bytes(reader);
    } else {
        out->number = hub_postcard_take_unsigned(reader, 64);
    }
}

static bool is_key(const struct hub_metadata_entry *entry, enum hub_metadata_kind kind,
                   const char *key)
{
    return entry->kind == kind && entry->key.size == strlen(key) &&
           !memcmp(entry->key.data, key, entry->key.size);
}

/* A key of ours with a value of another kind is an unknown one. */
static void keep(struct hub_metadata *metadata, const struct hub_metadata_entry *entry)
{
    if (is_key(entry, HUB_METADATA_U64, HUB_KEY_CONTAINER))
        metadata->container = entry->number;
    else if (is_key(entry, HUB_METADATA_U64, HUB_KEY_CHAIN))
        metadata->chain = entry->number;
    else if (is_key(entry, HUB_METADATA_U64, HUB_KEY_FAULT))
        metadata->fault = entry->number;
    else if (is_key(entry, HUB_METADATA_BYTES, HUB_KEY_TARGET))
        metadata->target = entry->bytes;
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

/* r[impl core.metadata] r[impl call.metadata.limits] r[impl call.metadata.unknown]
 * r[impl call.metadata.keys] */
int hub_metadata_read_entries(struct hub_reader *reader, struct hub_metadata *out)
{
    uint32_t count = hub_metadata_take_count(reader);
    struct hub_metadata metadata = {0};
    struct hub_metadata_entry entry;
    size_t total = 0;

    if (count > HUB_METADATA_ENTRIES)
        return refuse(reader, "call.metadata.limits", "there are more than 128 entries");
    for (uint32_t i = 0; i < count && !reader->failure; i++) {
        const char *limit;

        hub_metadata_take_entry(reader, &entry);
        total += entry.key.size + value_size(&entry);
        limit = broken_limit(&entry, total);
        if (limit && !reader->failure)
            return refuse(reader, "call.metadata.limits", limit);
        keep(&metadata, &entry);
    }
    if (reader->failure)
        return refuse_bytes(reader);
    *out = metadata;
    return 0;
}
