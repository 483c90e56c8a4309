/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/calls/typed_results.h"
#include "cluster/wire/record.h"
#include "hub/wire/signature.h"
#include "tests/support/testing.h"

struct told {
    unsigned count;
    int status;
    uint64_t number;
    char text[16];
};

static const char counts[] = "count() -> u64", names[] = "name() -> string",
                  syncs[] = "sync() -> void";

/* A manifest as it was read from its record. */
static const struct cluster_record_module *read_manifest(void)
{
    static const uint8_t digest[CLUSTER_RECORD_DIGEST];
    static uint8_t to[1024];
    static struct cluster_record read;
    const struct cluster_record_method methods[] = {
        {hub_signature_hash(counts), {counts, sizeof counts - 1}},
        {hub_signature_hash(names), {names, sizeof names - 1}},
        {hub_signature_hash(syncs), {syncs, sizeof syncs - 1}}};
    const struct cluster_record record = {.module = {.name = {"kv", 2},
                                                     .version = {"1", 1},
                                                     .machine = {"x86_64", 6},
                                                     .size = 1,
                                                     .digest = {digest, sizeof digest},
                                                     .methods = {.of = methods, .count = 3}}};
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_MODULE, &record), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_MODULE, (struct rapahub_bytes){to, writer.size}, &read), 0);
    return &read.module;
}

static void on_number(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct told *told = user;

    (void)from;
    told->count++;
    told->status = status;
    if (status == 0)
        told->number = *(const uint64_t *)result;
    else
        assert_null(result);
}

static void on_text(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct told *told = user;
    const struct rapahub_string *text = result;

    (void)from;
    told->count++;
    told->status = status;
    if (status == 0 && text)
        memcpy(told->text, text->data, text->size);
}

static void tell(const char *method, const struct rapahub_query *query, int status,
                 struct rapahub_bytes payload)
{
    cluster_typed_results_tell(read_manifest(), hub_signature_hash(method), query,
                               (struct rapahub_container_id){.container = 3},
                               &(struct rapahub_raw_answer){.status = status, .payload = payload});
}

/* r[verify cluster.node.each] */
static void a_result_is_read_as_the_signature_says(void **state)
{
    struct told told = {0};
    const struct rapahub_query number = {.each = on_number, .user = &told};
    const struct rapahub_query text = {.each = on_text, .user = &told};

    (void)state;
    tell(counts, &number, 0, (struct rapahub_bytes){"\x80\x02", 2});
    assert_true(told.count == 1 && told.status == 0 && told.number == 256);
    tell(names, &text, 0, (struct rapahub_bytes){"\x02ok", 3});
    assert_true(told.count == 2 && told.status == 0);
    assert_string_equal(told.text, "ok");
    tell(syncs, &text, 0, (struct rapahub_bytes){NULL, 0});
    assert_true(told.count == 3 && told.status == 0);
}

/* r[verify cluster.node.each] */
static void a_result_that_cannot_be_read_is_a_failure(void **state)
{
    struct told told = {0};
    const struct rapahub_query query = {.each = on_number, .user = &told};

    (void)state;
    tell(counts, &query, 0, (struct rapahub_bytes){"\x80", 1});
    assert_int_equal(told.status, RAPAHUB_EFORMAT);
    tell(counts, &query, 0, (struct rapahub_bytes){"\x01\x01", 2});
    assert_int_equal(told.status, RAPAHUB_EFORMAT);
    tell("none() -> u64", &query, 0, (struct rapahub_bytes){"\x01", 1});
    assert_int_equal(told.status, RAPAHUB_ENOMETHOD);
    tell(counts, &query, RAPAHUB_EDIED, (struct rapahub_bytes){NULL, 0});
    assert_int_equal(told.status, RAPAHUB_EDIED);
    cluster_typed_results_tell(NULL, hub_signature_hash(counts), &query,
                               (struct rapahub_container_id){.container = 3},
                               &(struct rapahub_raw_answer){.payload = {"\x01", 1}});
    assert_int_equal(told.status, RAPAHUB_ENOMETHOD);
    assert_int_equal(told.count, 5);
}

static void count_method(void *visitor, const char *signature)
{
    unsigned *seen = visitor;

    *seen |= strcmp(signature, counts) == 0 ? 1u : strcmp(signature, names) == 0 ? 2u : 4u;
}

static void each_signature_is_visited(void **state)
{
    unsigned seen = 0;

    (void)state;
    cluster_typed_results_visit(read_manifest(), count_method, &seen);
    assert_int_equal(seen, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_result_is_read_as_the_signature_says),
                                       cmocka_unit_test(a_result_that_cannot_be_read_is_a_failure),
                                       cmocka_unit_test(each_signature_is_visited)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
