/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"
#include "tests/support/testing.h"

#define CONTAINER "{major: u32, minor: u32, container: u32}"

static void each_method_has_its_text_and_the_id_of_it(void **state)
{
    static const char *const texts[HUB_LIFECYCLE_COUNT] = {
        "rapahub.ready({abi: u32, name: string, version: string, state_size: u64, "
        "state_version: u32, callbacks: u32, methods: u32}) -> void",
        "rapahub.methods(u32) -> string",
        "rapahub.begin({handle: u64, id: " CONTAINER ", pool_name: string, params: bytes, how: u8, "
        "load_follows: bool}) -> void",
        "rapahub.write(u64, bytes) -> void",
        "rapahub.load(u64, u32) -> void",
        "rapahub.save(u64) -> {size: u64, version: u32, checksum: u32}",
        "rapahub.read(u64, u64) -> bytes",
        "rapahub.plug(u64, bool) -> void",
        "rapahub.work(u64) -> u64",
        "rapahub.migrate(u64, u64) -> void",
        "rapahub.expand(u64, u64) -> void",
        "rapahub.recover(u64, " CONTAINER ") -> u64",
        "rapahub.health(u64) -> u8",
        "rapahub.fini(u64) -> void",
        "rapahub.ping() -> u8",
        "rapahub.down(u64, {name: string, child: u32, incarnation: u64, class: u8, count: u32}) -> "
        "void",
        "rapahub.save_changes(u64, bool) -> {size: u64, version: u32, checksum: u32, whole: bool}",
        "rapahub.load_changes(u64, u32) -> void",
        "rapahub.begin_token({handle: u64, id: " CONTAINER ", pool_name: string, params: bytes, "
        "how: u8, load_follows: bool}, u64) -> void",
        "rapahub.route(u64, {method: u64, number: u64, node: u64, containers: u32}) -> {mode: u8, "
        "number: u64, offset: u32, count: u32}",
        "rapahub.role(u64, {name: string, region: u64, role: u8, index: u32, lease: u32, on_full: "
        "u8, deliver: bool}) -> void",
        "rapahub.roles(u64, u8) -> void",
    };

    (void)state;
    for (int i = 0; i < HUB_LIFECYCLE_COUNT; i++) {
        const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[i];
        char text[RAPAHUB_SIGNATURE_MAX + 1];

        hub_signature_print(entry->name, entry->types, text, sizeof(text));
        assert_string_equal(text, texts[i]);
        assert_int_equal(entry->id, hub_signature_hash(text));
        assert_int_equal(hub_lifecycle_id((enum hub_lifecycle_method)i), entry->id);
        assert_int_equal(hub_lifecycle_of_id(entry->id), i);
        assert_false(hub_signature_is_name(entry->name));
    }
    assert_int_equal(hub_lifecycle_of_id(0), HUB_LIFECYCLE_COUNT);
}

/* The text of an entry as the page has it: the record of a container by its word there. */
static void shorten(char *text)
{
    const char *container = CONTAINER, *word = "{container}";
    char *at = strstr(text, container);

    if (!at)
        return;
    memcpy(at, word, strlen(word));
    memmove(at + strlen(word), at + strlen(container), strlen(at + strlen(container)) + 1);
}

/* A peer of another kind is written from the pages alone. */
static void each_method_is_on_the_page(void **state)
{
    static char page[1 << 16];
    FILE *file = fopen(TEST_DATA "/../../docs/spec/core.md", "r");

    (void)state;
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    for (int i = 0; i < HUB_LIFECYCLE_COUNT; i++) {
        const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[i];
        char text[RAPAHUB_SIGNATURE_MAX + 1];

        hub_signature_print(entry->name, entry->types, text, sizeof(text));
        shorten(text);
        if (!strstr(page, text))
            fail_msg("docs/spec/core.md lacks %s", text);
    }
}

static void the_records_are_those_of_the_texts(void **state)
{
    const struct hub_begin sent = {.handle = 1,
                                   .id = {1, 2, 3},
                                   .pool_name = {"pool", 4},
                                   .params = {"\0", 1},
                                   .how = HUB_BEGIN_RECOVER,
                                   .load_follows = true};
    struct hub_begin got;
    struct hub_reader reader;
    struct hub_writer writer;
    uint8_t data[64];

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    hub_payload_put(&writer, hub_lifecycle_table[HUB_LIFECYCLE_BEGIN].types[1], &sent);
    assert_int_equal(writer.failure, 0);
    hub_reader_init(&reader, data, writer.size);
    hub_payload_decode(&reader, &rapahub_type_hub_begin, &got);
    assert_int_equal(hub_postcard_end(&reader), 0);
    assert_int_equal(got.id.container, 3);
    assert_int_equal(got.how, HUB_BEGIN_RECOVER);
    assert_true(got.load_follows);
}

static void a_target_goes_there_and_back(void **state)
{
    const struct rapahub_container_id ids[] = {
        {{0, 0}, 0}, {{1, 300}, 7}, {{UINT32_MAX, UINT32_MAX}, UINT32_MAX}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint8_t data[HUB_LIFECYCLE_TARGET_MAX];
        struct rapahub_bytes bytes = {data, hub_lifecycle_put_target(ids[i], data)};
        struct rapahub_container_id back;

        assert_true(bytes.size && bytes.size <= sizeof(data));
        assert_int_equal(hub_lifecycle_decode_target(bytes, &back), 0);
        assert_memory_equal(&back, &ids[i], sizeof(back));
        bytes.size--;
        assert_int_equal(hub_lifecycle_decode_target(bytes, &back), RAPAHUB_EFORMAT);
    }
}

/* r[verify hub.call.query] */
static void a_query_goes_there_and_back(void **state)
{
    const struct rapahub_query queries[] = {{.mode = RAPAHUB_QUERY_DIRECT},
                                            {.mode = RAPAHUB_QUERY_DYNAMIC,
                                             .number = UINT64_MAX,
                                             .offset = UINT32_MAX,
                                             .count = UINT32_MAX,
                                             .order = UINT32_MAX,
                                             .collect = true}};
    const struct rapahub_container_id id = {{UINT32_MAX, UINT32_MAX}, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint8_t data[HUB_LIFECYCLE_QUERY_MAX];
        struct rapahub_bytes bytes = {data, hub_lifecycle_put_query(id, &queries[i], data)};
        struct rapahub_container_id back;
        struct rapahub_query query;

        assert_true(bytes.size <= sizeof data);
        assert_int_equal(hub_lifecycle_decode_query(bytes, &back, &query), 0);
        assert_int_equal(back.container, id.container);
        assert_int_equal(query.mode, queries[i].mode);
        assert_true(query.number == queries[i].number && query.offset == queries[i].offset);
        assert_true(query.count == queries[i].count && query.order == queries[i].order);
        assert_int_equal(query.collect, queries[i].collect);
        assert_int_equal(hub_lifecycle_decode_target(bytes, &back), RAPAHUB_EFORMAT);
        for (; bytes.size > 0; bytes.size--)
            if (bytes.size < hub_lifecycle_put_query(id, &queries[i], data))
                assert_int_equal(hub_lifecycle_decode_query(bytes, &back, &query), RAPAHUB_EFORMAT);
    }
}

/* r[verify hub.call.query] */
static void a_query_that_is_none_is_refused(void **state)
{
    static const char *const wrong[] = {"\1\2\3\7\0\0\0\0\0", "\1\2\3\1\0\0\0\0\2",
                                        "\1\2\3\1\0\0\0\0\0\0"};
    static const size_t sizes[] = {9, 9, 10};
    struct rapahub_container_id id;
    struct rapahub_query query;

    (void)state;
    assert_int_equal(
        hub_lifecycle_decode_query((struct rapahub_bytes){"\1\2\3\1\0\0\0\0\1", 9}, &id, &query),
        0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            hub_lifecycle_decode_query((struct rapahub_bytes){wrong[i], sizes[i]}, &id, &query),
            RAPAHUB_EFORMAT);
}

static void a_target_with_more_behind_it_is_refused(void **state)
{
    const struct rapahub_bytes bytes = {"\1\2\3\4", 4};
    struct rapahub_container_id id;

    (void)state;
    assert_int_equal(hub_lifecycle_decode_target(bytes, &id), RAPAHUB_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_method_has_its_text_and_the_id_of_it),
        cmocka_unit_test(each_method_is_on_the_page),
        cmocka_unit_test(the_records_are_those_of_the_texts),
        cmocka_unit_test(a_target_goes_there_and_back),
        cmocka_unit_test(a_query_goes_there_and_back),
        cmocka_unit_test(a_query_that_is_none_is_refused),
        cmocka_unit_test(a_target_with_more_behind_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
