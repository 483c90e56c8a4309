/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with streams: what a method reads and writes crosses processes whole, in order and under
 * credit. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/integration/streaming.h"
#include "tests/support/pause.h"

/* r[verify channeling.lifecycle.immediate-data] */
static void a_method_reads_what_its_caller_has(void **state)
{
    static const size_t sizes[] = {0, 1, 31, 32, 33, 4095, 4096, 65535, 65536, 65537, 3000000};
    struct hosting on;

    (void)state;
    open_flow(&on, (struct rapahub_host_options){0});
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        drain(&on, sizes[i]);
    close_host(&on);
}

static void ten_windows_pass_where_everything_is_small(void **state)
{
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    drain(&on, 40960);
    drain(&on, 1000000);
    close_host(&on);
}

/* A method that writes `size` bytes of the pattern. */
static void write_out(const char *method, uint64_t size, struct rapahub_host_options options)
{
    struct rapahub_sink *sink;
    const unsigned char *data;
    struct hosting on;
    size_t got;

    open_flow(&on, options);
    assert_done(rapahub_sink_of_memory(2 * size, &sink));
    assert_done(ask(&on, method, (const void *const[]){&sink, &size, NULL}, NULL));
    data = rapahub_sink_data(sink, &got);
    assert_int_equal(got, size);
    for (size_t i = 0; i < got; i++)
        assert_int_equal(data[i], pattern(i));
    rapahub_sink_destroy(sink);
    close_host(&on);
}

static void a_method_writes_what_its_caller_wants(void **state)
{
    (void)state;
    write_out("fill(sink, u64)", 1000000, (struct rapahub_host_options){0});
}

/* Elements held back when the method returns come before its answer. r[verify hub.ring.cork] */
static void a_method_writes_corked_and_returns(void **state)
{
    (void)state;
    for (uint64_t size = 1; size < 70; size += 17)
        write_out("trickle(sink, u64)", size, (struct rapahub_host_options){0});
    write_out("trickle(sink, u64)", 100700, (struct rapahub_host_options){0});
    write_out("trickle(sink, u64)", 10070, small);
}

static void streams_flow_both_ways_at_once(void **state)
{
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    for (int i = 0; i < 5; i++)
        assert_done(copy(&on, "copy(source, sink) -> u64", 300000));
    close_host(&on);
}

/* r[verify shm.topology.hub.communication] */
static void a_stream_passes_from_guest_to_guest_through_the_host(void **state)
{
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    assert_done(start(&on, FLOW, there, NULL));
    for (int i = 0; i < 3; i++)
        assert_done(copy(&on, "relay(source, sink, u32) -> u64", 200000));
    close_host(&on);
}

/* A thread of the program at the other end of a pair. */
struct writer {
    struct rapahub_sink *sink;
    size_t size;
    bool ends;
};

static void *write_all(void *user)
{
    struct writer *writer = user;
    int r = 0;

    for (size_t i = 0; i < writer->size && r == 0; i++) {
        unsigned char byte = pattern(i);

        r = rapahub_sink_write(writer->sink, &byte, 1);
    }
    if (r == 0 && writer->ends)
        r = rapahub_sink_end(writer->sink);
    rapahub_sink_destroy(writer->sink);
    return r == 0 ? NULL : writer;
}

static int drain_pair(struct hosting *on, bool ends, uint64_t *count)
{
    struct writer writer = {.size = 100000, .ends = ends};
    struct rapahub_source *source;
    pthread_t thread;
    void *failed;
    int r;

    assert_done(rapahub_stream_pair(&writer.sink, &source));
    assert_int_equal(pthread_create(&thread, NULL, write_all, &writer), 0);
    r = ask(on, "drain(source) -> u64", (const void *const[]){&source, NULL}, count);
    pthread_join(thread, &failed);
    assert_null(failed);
    rapahub_source_destroy(source);
    return r;
}

static void a_program_writes_into_a_call_while_it_runs(void **state)
{
    struct hosting on;
    uint64_t count;

    (void)state;
    open_flow(&on, small);
    assert_done(drain_pair(&on, true, &count));
    assert_int_equal(count, 100000);
    assert_refused(drain_pair(&on, false, &count), RAPAHUB_ERESET, "no writer");
    close_host(&on);
}

static void files_and_pipes_are_streams(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    unsigned char data[60000];
    struct hosting on;
    uint64_t count;
    int in[2], out[2];

    (void)state;
    open_flow(&on, small);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    /* no reader before the end, and pieces do not share its pages well */
    assert_true(fcntl(out[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = pattern(i);
    assert_int_equal(write(in[1], data, sizeof data), sizeof data);
    close(in[1]);
    assert_done(rapahub_source_of_fd(in[0], &source));
    assert_done(rapahub_sink_of_fd(out[1], &sink));
    assert_done(
        ask(&on, "copy(source, sink) -> u64", (const void *const[]){&source, &sink, NULL}, &count));
    assert_int_equal(count, sizeof data);
    memset(data, 0, sizeof data);
    assert_int_equal(read(out[0], data, sizeof data), sizeof data);
    for (size_t i = 0; i < sizeof data; i++)
        assert_int_equal(data[i], pattern(i));
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    close(in[0]);
    close(out[0]);
    close(out[1]);
    close_host(&on);
}

/* Reads the first bytes as they come, the rest slowly. */
struct sluggard {
    int fd;
    size_t quick, got;
};

static void *read_slowly(void *user)
{
    struct sluggard *sluggard = user;
    char bytes[4096];
    ssize_t n;

    while ((n = read(sluggard->fd, bytes, sizeof bytes)) > 0) {
        sluggard->got += (size_t)n;
        if (sluggard->got > sluggard->quick)
            pause_ms(50); /* 82 kB a second */
    }
    return NULL;
}

/* Its time-out begins anew with each byte that moves, however many were taken at once. */
static void a_slow_reader_is_waited_for(void **state)
{
    static const size_t quick[] = {0, 4U << 20};

    (void)state;
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        struct sluggard sluggard = {.quick = quick[i]};
        uint64_t size = quick[i] + 150000;
        struct rapahub_sink *sink;
        struct hosting on;
        pthread_t thread;
        int ends[2];

        open_flow(&on, (struct rapahub_host_options){0});
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        sluggard.fd = ends[0];
        assert_done(rapahub_sink_of_fd(ends[1], &sink));
        assert_int_equal(pthread_create(&thread, NULL, read_slowly, &sluggard), 0);
        const struct rapahub_call call = {.target = here,
                                          .method = "fill(sink, u64)",
                                          .arguments = (const void *const[]){&sink, &size, NULL},
                                          .timeout_ns = UINT64_C(350000000)};

        assert_done(rapahub_host_call(on.host, &call, NULL));
        rapahub_sink_destroy(sink);
        close(ends[1]);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(sluggard.got, size);
        close(ends[0]);
        close_host(&on);
    }
}

struct done {
    unsigned count;
    int status;
    uint64_t result;
};

static void on_done(void *user, int status, const void *result)
{
    struct done *done = user;

    done->count++;
    done->status = status;
    done->result = result ? *(const uint64_t *)result : 0;
}

static void a_call_with_streams_need_not_be_waited_for(void **state)
{
    struct rapahub_source *sources[4];
    struct done done = {0};
    unsigned char *memory[4];
    struct hosting on;

    (void)state;
    open_flow(&on, small);
    for (int i = 0; i < 4; i++) {
        sources[i] = pattern_source(100000, &memory[i]);
        const struct rapahub_call call = {.target = here,
                                          .method = "drain(source) -> u64",
                                          .arguments = (const void *const[]){&sources[i], NULL}};

        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    }
    assert_true(until(&on, &done.count, 4));
    assert_int_equal(done.status, 0);
    assert_int_equal(done.result, 100000);
    for (int i = 0; i < 4; i++) {
        rapahub_source_destroy(sources[i]);
        free(memory[i]);
    }
    close_host(&on);
}

/* Each of four threads has a stream of its own through one guest. */
static void *drain_often(void *user)
{
    for (int i = 0; i < 5; i++)
        drain(user, 100000);
    return NULL;
}

static void many_threads_stream_through_one_guest(void **state)
{
    struct rapahub_host_options options = small;
    pthread_t threads[4];
    struct hosting on;

    (void)state;
    options.own_thread = true;
    open_flow(&on, options);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, drain_often, &on), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    close_host(&on);
}

/* ---- methods of the host ---- */

static int offer_total(void *self, struct rapahub_source *from, uint64_t *total)
{
    unsigned char piece[1000];
    ssize_t n;

    (void)self;
    *total = 0;
    while ((n = rapahub_source_read(from, piece, sizeof piece)) > 0)
        *total += (uint64_t)n;
    return (int)n;
}

static int offer_copy(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                      uint64_t *count)
{
    unsigned char piece[1000];
    ssize_t n;
    int r = 0;

    (void)self;
    *count = 0;
    while (r == 0 && (n = rapahub_source_read(from, piece, sizeof piece)) > 0) {
        r = rapahub_sink_write(to, piece, (size_t)n);
        *count += (uint64_t)n;
    }
    return r;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(total, offer_total, u64, source),
    RAPAHUB_METHOD(copy, offer_copy, u64, source, sink),
    RAPAHUB_METHOD_END,
};

static void an_offer_reads_and_writes_streams(void **state)
{
    const struct rapahub_container_options options = {.id = there, .pool_name = "offer"};
    unsigned char *memory;
    struct rapahub_source *source;
    const struct rapahub_call call = {.target = there,
                                      .method = "total(source) -> u64",
                                      .arguments = (const void *const[]){&source, NULL}};
    struct hosting on;
    uint64_t total;

    (void)state;
    open_flow(&on, small);
    source = pattern_source(100000, &memory);
    assert_done(rapahub_host_offer(on.host, &options, offered, NULL));
    assert_done(rapahub_host_call(on.host, &call, &total));
    assert_int_equal(total, 100000);
    rapahub_source_destroy(source);
    free(memory);
    assert_done(copy(&on, "relay(source, sink, u32) -> u64", 50000)); /* a guest's streams */
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_reads_what_its_caller_has),
        cmocka_unit_test(ten_windows_pass_where_everything_is_small),
        cmocka_unit_test(a_method_writes_what_its_caller_wants),
        cmocka_unit_test(a_method_writes_corked_and_returns),
        cmocka_unit_test(streams_flow_both_ways_at_once),
        cmocka_unit_test(a_stream_passes_from_guest_to_guest_through_the_host),
        cmocka_unit_test(a_program_writes_into_a_call_while_it_runs),
        cmocka_unit_test(files_and_pipes_are_streams),
        cmocka_unit_test(a_slow_reader_is_waited_for),
        cmocka_unit_test(a_call_with_streams_need_not_be_waited_for),
        cmocka_unit_test(many_threads_stream_through_one_guest),
        cmocka_unit_test(an_offer_reads_and_writes_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
