/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/metadata.h"
#include "hub/wire/postcard.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define INLINE 32 /* bytes of a descriptor */

#define ENTRIES_MAX 200

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

static void put_entries(struct hub_writer *writer, const struct hub_metadata_entry *entries,
                        uint32_t count)
{
    hub_postcard_put_unsigned(writer, count);
    for (uint32_t i = 0; i < count; i++)
        put_entry(writer, &entries[i]);
    assert_int_equal(writer->failure, 0);
}

/* Reads all entries of a vector and writes them again. */
static void check_vector(const struct vector *vector)
{
    struct hub_metadata_entry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
    uint8_t *data = malloc(vector->size);
    struct hub_metadata ours;
    struct hub_reader reader;
    struct hub_writer writer;
    uint32_t count;

    hub_reader_init(&reader, vector->bytes, vector->size);
    assert_int_equal(hub_metadata_read(&reader, &ours), 0);
    assert_int_equal(hub_postcard_end(&reader), 0);
    hub_reader_init(&reader, vector->bytes, vector->size);
    count = hub_metadata_decode_count(&reader);
    assert_int_equal(count, json_array_size(vector->value));
    for (uint32_t i = 0; i < count; i++)
        hub_metadata_decode_entry(&reader, &entries[i]);
    assert_int_equal(hub_postcard_end(&reader), 0);
    hub_writer_init(&writer, data, vector->size);
    put_entries(&writer, entries, count);
    assert_int_equal(writer.size, vector->size);
    assert_int_equal(memcmp(data, vector->bytes, vector->size), 0);
    free(entries);
    free(data);
}

/* r[verify call.metadata.type] r[verify call.metadata.order] r[verify call.metadata.duplicates] */
static void entries_keep_their_order_and_duplicates(void **state)
{
    struct vectors *all = vectors_open();
    size_t checked = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "metadata", v));)
        if (!strncmp(v->type, "vec<", 4)) {
            check_vector(v);
            checked++;
        }
    assert_int_equal(checked, 5);
    vectors_close(all);
}

/* r[verify call.metadata.limits] */
static void what_is_too_much_or_malformed_is_refused_by_its_rule(void **state)
{
    struct vectors *all = vectors_open();
    size_t checked = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "metadata-reject", v)); checked++) {
        struct hub_metadata ours;
        struct hub_reader reader;

        hub_reader_init(&reader, v->bytes, v->size);
        assert_int_equal(hub_metadata_read(&reader, &ours), RAPAHUB_EPROTOCOL);
        assert_int_not_equal(reader.failure, 0);
        assert_string_equal(rapahub_last_error()->rule, vectors_text(v->value));
    }
    assert_int_equal(checked, vectors_count(all, "metadata-reject"));
    assert_true(checked > 0);
    vectors_close(all);
}

/* r[verify call.metadata.limits] */
static void a_sender_stays_within_the_limits(void **state)
{
    static const uint8_t target[HUB_METADATA_VALUE + 1];
    struct hub_metadata metadata = {.chain = 1, .target = {target, HUB_METADATA_VALUE - 10}};
    struct hub_writer writer;

    (void)state;
    hub_writer_count(&writer);
    assert_int_equal(hub_metadata_write(&writer, &metadata), 0);
    metadata.target.size++;
    assert_int_equal(hub_metadata_write(&writer, &metadata), -EMSGSIZE);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
}

static int read_numbers(uint32_t count, size_t value_size)
{
    static const uint8_t zeros[HUB_METADATA_VALUE + 1];
    struct hub_metadata_entry entry = {{"k", 1}, HUB_METADATA_BYTES, {zeros, value_size}, 0};
    uint8_t *data = malloc(100000);
    struct hub_metadata ours;
    struct hub_reader reader;
    struct hub_writer writer;
    int r;

    hub_writer_init(&writer, data, 100000);
    hub_postcard_put_unsigned(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        hub_postcard_put_string(&writer, entry.key);
        hub_postcard_put_unsigned(&writer, entry.kind);
        hub_postcard_put_bytes(&writer, entry.bytes);
    }
    assert_int_equal(writer.failure, 0);
    hub_reader_init(&reader, data, writer.size);
    r = hub_metadata_read(&reader, &ours);
    free(data);
    return r;
}

/* r[verify call.metadata.limits] */
static void a_receiver_counts_values_and_their_sum(void **state)
{
    (void)state;
    assert_int_equal(read_numbers(3, 16384), 0);
    assert_int_equal(read_numbers(1, 16385), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
    assert_int_equal(read_numbers(4, 16383), 0);
    assert_int_equal(read_numbers(4, 16384), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
}

/* Values whose sum with their keys, and with a last entry of ours, is `total`; that entry is read
 * on a shorter way. */
static int read_with_ours_behind(size_t total)
{
    static const uint8_t zeros[HUB_METADATA_VALUE];
    const size_t of_ours = sizeof HUB_KEY_CHAIN - 1 + 8;
    uint8_t *data = malloc(100000);
    struct hub_metadata_entry entries[5];
    struct hub_metadata got;
    struct hub_reader reader;
    struct hub_writer writer;
    int r;

    for (int i = 0; i < 4; i++)
        entries[i] = (struct hub_metadata_entry){
            {"k", 1}, HUB_METADATA_BYTES, {zeros, (total - of_ours) / 4 - 1}, 0};
    entries[3].bytes.size += (total - of_ours) % 4;
    entries[4] = (struct hub_metadata_entry){
        {HUB_KEY_CHAIN, sizeof HUB_KEY_CHAIN - 1}, HUB_METADATA_U64, {NULL, 0}, 5};
    hub_writer_init(&writer, data, 100000);
    put_entries(&writer, entries, 5);
    hub_reader_init(&reader, data, writer.size);
    r = hub_metadata_read(&reader, &got);
    assert_true(r < 0 || got.chain == 5);
    free(data);
    return r;
}

/* r[verify call.metadata.limits] */
static void an_entry_of_ours_counts_to_the_byte(void **state)
{
    (void)state;
    assert_int_equal(read_with_ours_behind(HUB_METADATA_TOTAL), 0);
    assert_int_equal(read_with_ours_behind(HUB_METADATA_TOTAL + 1), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
}

static int read_entries_with_key(uint32_t count, size_t key_size)
{
    char key[HUB_METADATA_KEY + 1];
    const struct hub_metadata_entry entry = {{key, key_size}, HUB_METADATA_U64, {NULL, 0}, 5};
    uint8_t *data = malloc(100000);
    struct hub_metadata got;
    struct hub_reader reader;
    struct hub_writer writer;
    int r;

    memset(key, 'k', sizeof key);
    hub_writer_init(&writer, data, 100000);
    hub_postcard_put_unsigned(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        put_entry(&writer, &entry);
    assert_int_equal(writer.failure, 0);
    hub_reader_init(&reader, data, writer.size);
    r = hub_metadata_read(&reader, &got);
    free(data);
    return r;
}

/* r[verify call.metadata.limits] */
static void a_receiver_counts_entries_and_the_bytes_of_a_key(void **state)
{
    (void)state;
    assert_int_equal(read_entries_with_key(HUB_METADATA_ENTRIES, 1), 0);
    assert_int_equal(read_entries_with_key(HUB_METADATA_ENTRIES + 1, 1), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
    assert_int_equal(read_entries_with_key(1, HUB_METADATA_KEY), 0);
    assert_int_equal(read_entries_with_key(1, HUB_METADATA_KEY + 1), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "call.metadata.limits");
}

/* How many bytes it takes. */
static size_t send_over(const struct hub_metadata *sent, struct hub_metadata *got)
{
    static uint8_t data[200];
    struct hub_reader reader;
    struct hub_writer writer;

    hub_writer_init(&writer, data, sizeof(data));
    assert_int_equal(hub_metadata_write(&writer, sent), 0);
    hub_reader_init(&reader, data, writer.size);
    assert_int_equal(hub_metadata_read(&reader, got), 0);
    assert_int_equal(hub_postcard_end(&reader), 0);
    return writer.size;
}

/* r[verify core.metadata] */
static void our_own_keys_go_there_and_back(void **state)
{
    const struct hub_metadata sent = {
        .container = 7, .chain = 300, .fault = 2, .target = {"id", 2}};
    struct hub_metadata got;

    (void)state;
    send_over(&sent, &got);
    assert_int_equal(got.container, 7);
    assert_int_equal(got.chain, 300);
    assert_int_equal(got.fault, 2);
    assert_int_equal(got.target.size, 2);
    assert_memory_equal(got.target.data, "id", 2);
}

static void a_chain_goes_without_a_target_and_a_target_without_a_chain(void **state)
{
    const struct hub_metadata chain = {.chain = UINT64_MAX}, target = {.target = {"id", 2}};
    struct hub_metadata got;

    (void)state;
    send_over(&chain, &got);
    assert_true(got.chain == UINT64_MAX);
    assert_int_equal(got.target.size, 0);
    send_over(&target, &got);
    assert_int_equal(got.chain, 0);
    assert_int_equal(got.target.size, 2);
}

/* A guest's call with some small arguments takes no slot. */
static void what_a_nested_call_needs_leaves_room_in_a_descriptor(void **state)
{
    const struct hub_metadata sent = {.chain = UINT64_C(1) << 41, .target = {"\x64\0\0", 3}};
    struct hub_metadata got;

    (void)state;
    assert_true(send_over(&sent, &got) <= INLINE - 9);
    assert_true(got.chain == UINT64_C(1) << 41);
}

static struct hub_metadata read_target(const void *value, size_t size)
{
    const struct hub_metadata_entry entries[] = {
        {{HUB_KEY_CHAIN, sizeof(HUB_KEY_CHAIN) - 1}, HUB_METADATA_U64, {NULL, 0}, 5},
        {{HUB_KEY_TARGET, sizeof(HUB_KEY_TARGET) - 1}, HUB_METADATA_BYTES, {value, size}, 0},
    };
    static uint8_t data[400];
    struct hub_metadata got;
    struct hub_reader reader;
    struct hub_writer writer;

    hub_writer_init(&writer, data, sizeof(data));
    put_entries(&writer, entries, 2);
    hub_reader_init(&reader, data, writer.size);
    assert_int_equal(hub_metadata_read(&reader, &got), 0);
    return got;
}

/* It is not for the metadata to say so: who looks for the container does. */
static void a_target_that_is_none_is_one_that_nobody_finds(void **state)
{
    uint8_t longest[200] = {0};
    struct hub_metadata got;

    (void)state;
    got = read_target("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0", 14);
    assert_int_equal(got.target.size, 14);
    assert_int_equal(got.chain, 5);
    got = read_target("\x80", 1);
    assert_int_equal(got.target.size, 1);
    got = read_target("", 0);
    assert_int_equal(got.target.size, 0);
    got = read_target("\7", 1);
    assert_int_equal(got.target.size, 0);
    assert_int_equal(got.chain, 7);
    got = read_target("\0\1\2\3", 4);
    assert_int_equal(got.target.size, 3);
    assert_int_equal(got.chain, 0); /* it comes after the other entry */
    got = read_target(longest, sizeof(longest));
    assert_int_equal(got.target.size, sizeof(longest) - 1);
}

static void no_metadata_is_one_byte(void **state)
{
    const struct hub_metadata none = {0};
    struct hub_writer writer;
    uint8_t data[2] = {9, 9};

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    assert_int_equal(hub_metadata_write(&writer, &none), 0);
    assert_int_equal(writer.size, 1);
    assert_int_equal(data[0], 0);
}

/* A single byte of 0 has a shortcut: if there is none, or the reader has failed before, or the 0 is
 * longer, the general way is used. r[verify message.decode-error] */
static void no_metadata_is_no_absent_metadata(void **state)
{
    static const uint8_t zeros[] = {0, 0}, longer[] = {0x80, 0, 7};
    struct hub_metadata got = {.chain = 5};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, zeros, 0);
    assert_int_equal(hub_metadata_read(&reader, &got), RAPAHUB_EPROTOCOL);
    hub_reader_init(&reader, zeros, sizeof zeros);
    reader.failure = RAPAHUB_EFORMAT;
    assert_int_equal(hub_metadata_read(&reader, &got), RAPAHUB_EPROTOCOL);
    assert_ptr_equal(reader.at, zeros);
    hub_reader_init(&reader, zeros, sizeof zeros);
    assert_int_equal(hub_metadata_read(&reader, &got), 0);
    assert_int_equal(got.chain, 0);
    assert_int_equal(hub_reader_left(&reader), 1);
    got.chain = 5;
    hub_reader_init(&reader, longer, sizeof longer);
    assert_int_equal(hub_metadata_read(&reader, &got), 0);
    assert_int_equal(got.chain, 0);
    assert_int_equal(hub_reader_left(&reader), 1);
}

/* r[verify call.metadata.unknown] r[verify call.metadata.keys] */
static void a_key_in_other_letters_or_of_another_kind_is_ignored(void **state)
{
    const struct hub_metadata_entry entries[] = {
        {{"Rapahub-chain", 13}, HUB_METADATA_U64, {NULL, 0}, 5},
        {{HUB_KEY_CONTAINER, sizeof(HUB_KEY_CONTAINER) - 1}, HUB_METADATA_STRING, {"7", 1}, 0},
        {{HUB_KEY_TARGET, sizeof(HUB_KEY_TARGET) - 1}, HUB_METADATA_STRING, {"x", 1}, 0},
    };
    struct hub_metadata got;
    struct hub_reader reader;
    struct hub_writer writer;
    uint8_t data[200];

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    put_entries(&writer, entries, 3);
    hub_reader_init(&reader, data, writer.size);
    assert_int_equal(hub_metadata_read(&reader, &got), 0);
    assert_int_equal(got.chain + got.container + got.target.size + got.fault, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_keep_their_order_and_duplicates),
        cmocka_unit_test(what_is_too_much_or_malformed_is_refused_by_its_rule),
        cmocka_unit_test(a_sender_stays_within_the_limits),
        cmocka_unit_test(a_receiver_counts_values_and_their_sum),
        cmocka_unit_test(an_entry_of_ours_counts_to_the_byte),
        cmocka_unit_test(a_receiver_counts_entries_and_the_bytes_of_a_key),
        cmocka_unit_test(our_own_keys_go_there_and_back),
        cmocka_unit_test(a_chain_goes_without_a_target_and_a_target_without_a_chain),
        cmocka_unit_test(what_a_nested_call_needs_leaves_room_in_a_descriptor),
        cmocka_unit_test(a_target_that_is_none_is_one_that_nobody_finds),
        cmocka_unit_test(no_metadata_is_one_byte),
        cmocka_unit_test(no_metadata_is_no_absent_metadata),
        cmocka_unit_test(a_key_in_other_letters_or_of_another_kind_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
