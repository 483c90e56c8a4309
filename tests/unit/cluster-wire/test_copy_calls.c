/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/copy_calls.h"
#include "tests/unit/cluster-wire/written.h"

#define CLIENT (UINT64_C(1) << 63)

static const struct cluster_copy_calls_origin origins[] = {{CLIENT + 1, 1000, 7}, {4, 0, 0}};
static const struct cluster_copy_calls_call calls[] = {
    {CLIENT + 1, 8, 11, 12, 0, 0, false, {"answer", 6}},
    {CLIENT + 1, 9, 11, 13, -1, -5, false, {NULL, 0}},
    {4, 1, 14, 15, 0, 0, true, {NULL, 0}},
};

static struct written write_history(void)
{
    static uint8_t to[WRITTEN_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    cluster_copy_calls_begin(&writer, 2);
    for (int i = 0; i < 2; i++)
        cluster_copy_calls_put_origin(&writer, &origins[i]);
    cluster_copy_calls_begin_calls(&writer, 3);
    for (int i = 0; i < 3; i++)
        cluster_copy_calls_put_call(&writer, &calls[i]);
    return written_by(&writer);
}

/* r[verify cluster.copy.calls] */
static void a_history_is_read_as_it_was_written(void **state)
{
    struct written written = write_history();
    struct cluster_copy_calls_origin origin;
    struct cluster_copy_calls_call call;
    struct cluster_copy_calls history;

    (void)state;
    assert_int_equal(cluster_copy_calls_read(written_bytes(&written), &history), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(cluster_copy_calls_next_origin(&history.origins, &origin));
        assert_memory_equal(&origin, &origins[i], sizeof origin);
    }
    assert_false(cluster_copy_calls_next_origin(&history.origins, &origin));
    for (int i = 0; i < 3; i++) {
        assert_true(cluster_copy_calls_next_call(&history.calls, &call));
        assert_int_equal(call.origin, calls[i].origin);
        assert_int_equal(call.number, calls[i].number);
        assert_int_equal(call.method, calls[i].method);
        assert_int_equal(call.digest, calls[i].digest);
        assert_int_equal(call.status, calls[i].status);
        assert_int_equal(call.application, calls[i].application);
        assert_int_equal(call.lost, calls[i].lost);
        assert_int_equal(call.answer.size, calls[i].answer.size);
        assert_true(call.answer.size == 0 || memcmp(call.answer.data, "answer", 6) == 0);
    }
    assert_false(cluster_copy_calls_next_call(&history.calls, &call));
    written_release(&written);
}

/* r[verify cluster.copy.calls] */
static void a_history_that_is_cut_or_goes_on_is_refused(void **state)
{
    struct written written = write_history(), longer = written_cut(&written, written.size);
    struct cluster_copy_calls history;

    (void)state;
    for (size_t size = 0; size < written.size; size++) {
        struct written cut = written_cut(&written, size);

        assert_int_equal(cluster_copy_calls_read(written_bytes(&cut), &history), RAPAHUB_EFORMAT);
        written_release(&cut);
    }
    longer.data = realloc(longer.data, longer.size + 1);
    assert_non_null(longer.data);
    longer.data[longer.size++] = 0;
    assert_int_equal(cluster_copy_calls_read(written_bytes(&longer), &history), RAPAHUB_EFORMAT);
    written_release(&longer);
    written_release(&written);
}

static int put_call(struct cluster_copy_calls_call call)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    cluster_copy_calls_put_call(&writer, &call);
    return writer.failure;
}

/* r[verify cluster.copy.calls] */
static void calls_that_cannot_be_are_not_written(void **state)
{
    struct cluster_copy_calls_call call = calls[0];
    struct hub_writer writer;

    (void)state;
    assert_int_equal(put_call(call), 0);
    call.number = 0;
    assert_int_equal(put_call(call), RAPAHUB_EINVAL);
    call = calls[0];
    call.origin = 0;
    assert_int_equal(put_call(call), RAPAHUB_EINVAL);
    call = calls[0];
    call.lost = true;
    assert_int_equal(put_call(call), RAPAHUB_EINVAL);
    hub_writer_count(&writer);
    cluster_copy_calls_put_origin(&writer, &(struct cluster_copy_calls_origin){0, 1, 1});
    assert_int_equal(writer.failure, RAPAHUB_EINVAL);
    hub_writer_count(&writer);
    cluster_copy_calls_begin(&writer, CLUSTER_COPY_CALLS_MAX + 1);
    assert_int_equal(writer.failure, RAPAHUB_EINVAL);
}

/* A reader is as strict as a writer. */
static void calls_that_cannot_be_are_not_read(void **state)
{
    const uint8_t lost_with_answer[] = {1, 0, 1, 4, 1, 0, 0, 0, 0, 1, 1, 'x'};
    const uint8_t without_number[] = {1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t without_origin[] = {1, 1, 0, 0, 0, 0};
    const uint8_t sound[] = {1, 0, 1, 4, 1, 0, 0, 0, 0, 0, 1, 'x'};
    struct cluster_copy_calls history;

    (void)state;
    assert_int_equal(cluster_copy_calls_read((struct rapahub_bytes){sound, sizeof sound}, &history),
                     0);
    assert_int_equal(
        cluster_copy_calls_read((struct rapahub_bytes){lost_with_answer, 12}, &history),
        RAPAHUB_EFORMAT);
    assert_int_equal(cluster_copy_calls_read((struct rapahub_bytes){without_number, 11}, &history),
                     RAPAHUB_EFORMAT);
    assert_int_equal(cluster_copy_calls_read((struct rapahub_bytes){without_origin, 6}, &history),
                     RAPAHUB_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_history_is_read_as_it_was_written),
        cmocka_unit_test(a_history_that_is_cut_or_goes_on_is_refused),
        cmocka_unit_test(calls_that_cannot_be_are_not_written),
        cmocka_unit_test(calls_that_cannot_be_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
