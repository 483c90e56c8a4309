/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/channel/pump.h"
#include "tests/support/testing.h"

#define MUCH 1000000

struct ends {
    struct rapahub_sink *sink;
    struct rapahub_source *source;
};

static void *write_much(void *user)
{
    struct ends *ends = user;
    unsigned char piece[777];
    int r = 0;

    for (size_t done = 0; r == 0 && done < MUCH;) {
        size_t size = MUCH - done < sizeof piece ? MUCH - done : sizeof piece;

        for (size_t i = 0; i < size; i++)
            piece[i] = (unsigned char)((done + i) % 251);
        r = rapahub_sink_write(ends->sink, piece, size);
        done += size;
    }
    return r == 0 && rapahub_sink_end(ends->sink) == 0 ? NULL : user;
}

static void all_that_is_written_is_read(void **state)
{
    unsigned char piece[1000];
    struct ends ends;
    pthread_t thread;
    size_t at = 0;
    void *failed;
    ssize_t n;

    (void)state;
    assert_int_equal(rapahub_stream_pair(&ends.sink, &ends.source), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_much, &ends), 0);
    while ((n = rapahub_source_read(ends.source, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < n; i++, at++)
            assert_int_equal(piece[i], at % 251);
    assert_int_equal(n, 0);
    assert_int_equal(at, MUCH);
    pthread_join(thread, &failed);
    assert_null(failed);
    rapahub_sink_destroy(ends.sink);
    rapahub_source_destroy(ends.source);
}

static void a_writer_that_goes_without_an_end_is_an_error(void **state)
{
    struct ends ends;
    char byte;

    (void)state;
    assert_int_equal(rapahub_stream_pair(&ends.sink, &ends.source), 0);
    assert_int_equal(rapahub_sink_write(ends.sink, "a", 1), 0);
    rapahub_sink_destroy(ends.sink);
    assert_int_equal(rapahub_source_read(ends.source, &byte, 1), 1);
    assert_int_equal(rapahub_source_read(ends.source, &byte, 1), RAPAHUB_ERESET);
    rapahub_source_destroy(ends.source);
}

static void a_reader_that_goes_ends_the_writing(void **state)
{
    struct ends ends;

    (void)state;
    assert_int_equal(rapahub_stream_pair(&ends.sink, &ends.source), 0);
    rapahub_source_destroy(ends.source);
    assert_int_equal(rapahub_sink_write(ends.sink, "a", 1), RAPAHUB_ERESET);
    rapahub_sink_destroy(ends.sink);
}

static void ignore(void *user)
{
    (void)user;
}

/* A pump whose source gives nothing stops, and leaves its streams usable. */
static void a_pump_can_be_stopped_wherever_it_waits(void **state)
{
    struct ends in, out;
    struct hub_thread_pool pool;
    struct hub_pump *pump;
    bool at_source;
    char byte;

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(rapahub_stream_pair(&in.sink, &in.source), 0);
    assert_int_equal(rapahub_stream_pair(&out.sink, &out.source), 0);
    const struct hub_pump_options options = {.source = in.source,
                                             .sink = out.sink,
                                             .pool = &pool,
                                             .piece = 100,
                                             .on_moved = ignore,
                                             .on_end = ignore};

    assert_int_equal(hub_pump_start(&options, &pump), 0);
    assert_int_equal(rapahub_sink_write(in.sink, "a", 1), 0);
    assert_int_equal(rapahub_source_read(out.source, &byte, 1), 1);
    hub_pump_stop(pump);
    assert_int_equal(hub_pump_join(&pump, &at_source), RAPAHUB_ECANCELED);
    assert_int_equal(rapahub_source_read(out.source, &byte, 1), RAPAHUB_ERESET);
    hub_thread_pool_fini(&pool);
    rapahub_sink_destroy(in.sink);
    rapahub_source_destroy(in.source);
    rapahub_sink_destroy(out.sink);
    rapahub_source_destroy(out.source);
}

/* Each of two pumps moves nothing, and spares one of its streams: the third moves a byte between
 * these two. */
static void streams_that_are_spared_go_on_in_another_pump(void **state)
{
    struct ends in, out, other;
    struct hub_thread_pool pool;
    struct hub_pump *pump;
    bool at_source, moved = false;
    char byte = 0;
    int r;

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(rapahub_stream_pair(&in.sink, &in.source), 0);
    assert_int_equal(rapahub_stream_pair(&out.sink, &out.source), 0);
    assert_int_equal(rapahub_stream_pair(&other.sink, &other.source), 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct hub_pump_options options = {.source = i == 1 ? other.source : in.source,
                                                 .sink = i == 0 ? other.sink : out.sink,
                                                 .pool = &pool,
                                                 .piece = 100,
                                                 .moved = &moved,
                                                 .spared = i == 1 ? (void *)out.sink : in.source,
                                                 .on_moved = ignore,
                                                 .on_end = ignore};

        assert_int_equal(hub_pump_start(&options, &pump), 0);
        if (i == 2) {
            assert_int_equal(rapahub_sink_write(in.sink, "a", 1), 0);
            assert_int_equal(rapahub_source_read(out.source, &byte, 1), 1);
        }
        hub_pump_stop(pump);
        r = hub_pump_join(&pump, &at_source);
        assert_true(r == RAPAHUB_ECANCELED || (i == 1 && r == RAPAHUB_ERESET)); /* by pump 0 */
        assert_int_equal(moved, i == 2);
    }
    assert_int_equal(byte, 'a');
    assert_int_equal(rapahub_sink_write(in.sink, "b", 1), RAPAHUB_ERESET);
    hub_thread_pool_fini(&pool);
    for (unsigned i = 0; i < 3; i++) {
        rapahub_sink_destroy((struct ends *[]){&in, &out, &other}[i]->sink);
        rapahub_source_destroy((struct ends *[]){&in, &out, &other}[i]->source);
    }
}

/* A stream holds 64 KiB. Its source is full, so that the last byte goes in when the pump has read;
 * its sink is full, so that it can write nothing of that. */
static void a_pump_is_stopped_where_it_waits_for_its_reader(void **state)
{
    static char filling[65536];
    struct ends in, out;
    struct hub_thread_pool pool;
    struct hub_pump *pump;
    bool at_source = true;

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(rapahub_stream_pair(&in.sink, &in.source), 0);
    assert_int_equal(rapahub_stream_pair(&out.sink, &out.source), 0);
    const struct hub_pump_options options = {.source = in.source,
                                             .sink = out.sink,
                                             .pool = &pool,
                                             .piece = 100,
                                             .on_moved = ignore,
                                             .on_end = ignore};

    assert_int_equal(rapahub_sink_write(in.sink, filling, sizeof filling), 0);
    assert_int_equal(rapahub_sink_write(out.sink, filling, sizeof filling), 0);
    assert_int_equal(hub_pump_start(&options, &pump), 0);
    assert_int_equal(rapahub_sink_write(in.sink, "a", 1), 0);
    hub_pump_stop(pump);
    assert_int_equal(hub_pump_join(&pump, &at_source), RAPAHUB_ECANCELED);
    assert_false(at_source);
    hub_thread_pool_fini(&pool);
    rapahub_sink_destroy(in.sink);
    rapahub_source_destroy(in.source);
    rapahub_sink_destroy(out.sink);
    rapahub_source_destroy(out.source);
}

static void a_pump_tells_which_end_failed(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct hub_thread_pool pool;
    struct hub_pump *pump;
    bool at_source = true;

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(rapahub_source_of_memory("abcdef", 6, &source), 0);
    assert_int_equal(rapahub_sink_of_memory(3, &sink), 0);
    const struct hub_pump_options options = {.source = source,
                                             .sink = sink,
                                             .pool = &pool,
                                             .piece = 100,
                                             .on_moved = ignore,
                                             .on_end = ignore};

    assert_int_equal(hub_pump_start(&options, &pump), 0);
    assert_int_equal(hub_pump_join(&pump, &at_source), RAPAHUB_EMSGSIZE);
    assert_false(at_source);
    assert_non_null(strstr(rapahub_last_error()->text, "3 bytes"));
    hub_thread_pool_fini(&pool);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_written_is_read),
        cmocka_unit_test(a_writer_that_goes_without_an_end_is_an_error),
        cmocka_unit_test(a_reader_that_goes_ends_the_writing),
        cmocka_unit_test(a_pump_can_be_stopped_wherever_it_waits),
        cmocka_unit_test(streams_that_are_spared_go_on_in_another_pump),
        cmocka_unit_test(a_pump_is_stopped_where_it_waits_for_its_reader),
        cmocka_unit_test(a_pump_tells_which_end_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
