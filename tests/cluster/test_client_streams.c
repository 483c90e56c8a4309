/* SPDX-License-Identifier: Apache-2.0 */
/* Streams in calls of clients, by the Unix socket and over TLS: 64 MiB there and back; a guest, a
 * daemon and a client that are killed in the middle; readers that do not read. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/cluster/client_streams_stage.h"

static void goes_there_and_back(const char *address, const char *way)
{
    struct stage stage;
    uint64_t began_ns = hub_clock_now(), took_ns;

    open_stage(&stage, address);
    works(&stage, SIZE);
    took_ns = hub_clock_now() - began_ns;
    works(&stage, 0);
    works(&stage, 1);
    rapahub_client_close(stage.client);
    printf("%zu MiB there and back, %s: %.2f s\n", SIZE >> 20, way, (double)took_ns / 1e9);
}

/* r[verify cluster.client.streams] r[verify cluster.stream.open] */
static void all_of_it_comes_back(void **state)
{
    (void)state;
    goes_there_and_back(network.local, "Unix socket");
    goes_there_and_back(network.node.address, "TLS");
}

/* ---- a call in the middle ---- */

/* A call whose caller writes and reads pairs, so that it is open as long as the test wants. */
struct open_call {
    struct stage stage;
    struct rapahub_sink *write;
    struct rapahub_source *source, *read;
    struct rapahub_sink *sink;
    pthread_t caller, writer;
    int status, wrote;
    uint64_t timeout_ns;
    atomic_size_t size; /* that was written */
    atomic_bool over;
};

static void *make_call(void *user)
{
    struct open_call *open = user;

    open->status = call(&open->stage, COMPRESS, open->source, open->sink, open->timeout_ns);
    atomic_store(&open->over, true);
    return NULL;
}

/* Writes until nobody reads any more. */
static void *write_on(void *user)
{
    struct open_call *open = user;

    for (size_t at = 0; open->wrote == 0 && at + PIECE <= SIZE; at += PIECE) {
        open->wrote = rapahub_sink_write(open->write, plain + at, PIECE);
        atomic_fetch_add(&open->size, open->wrote == 0 ? PIECE : 0);
    }
    if (open->wrote == 0)
        open->wrote = rapahub_sink_end(open->write);
    return NULL;
}

static void begin_call(struct open_call *open, const char *address, bool writes)
{
    memset(open, 0, sizeof *open);
    open_stage(&open->stage, address);
    assert_int_equal(rapahub_stream_pair(&open->write, &open->source), 0);
    assert_int_equal(rapahub_stream_pair(&open->sink, &open->read), 0);
    assert_int_equal(pthread_create(&open->caller, NULL, make_call, open), 0);
    if (writes)
        assert_int_equal(pthread_create(&open->writer, NULL, write_on, open), 0);
}

/* Bytes have gone both ways. */
static void await_middle(struct open_call *open)
{
    uint8_t *bytes = malloc(PIECE);

    assert_true(rapahub_source_read(open->read, bytes, PIECE) > 0);
    free(bytes);
}

/* The call has ended, but the writer may still wait. */
static void end_call(struct open_call *open, bool writes)
{
    rapahub_source_destroy(open->source); /* nobody reads */
    if (writes)
        pthread_join(open->writer, NULL);
    rapahub_sink_destroy(open->write);
    rapahub_sink_destroy(open->sink);
    rapahub_source_destroy(open->read);
    works(&open->stage, PIECE); /* everything goes on */
    rapahub_client_close(open->stage.client);
}

static void a_guest_that_is_killed_ends_the_call(void **state)
{
    struct open_call open;

    (void)state;
    begin_call(&open, network.local, true);
    await_middle(&open);
    assert_true(node_process_kill_guest(&network.node, 0));
    pthread_join(open.caller, NULL);
    assert_int_equal(open.status, RAPAHUB_EMAYBE);
    end_call(&open, true);
}

static bool kill_the_daemon(void *user)
{
    return node_process_kill_daemon(user);
}

/* r[verify cluster.client.streams] */
static void a_daemon_that_is_killed_ends_the_call(const char *address)
{
    struct open_call open;

    begin_call(&open, address, true);
    await_middle(&open);
    assert_true(process_until(kill_the_daemon, &network.node, 30 * SECOND));
    pthread_join(open.caller, NULL);
    assert_int_equal(open.status, RAPAHUB_EMAYBE);
    end_call(&open, true);
}

static void a_killed_daemon_ends_the_calls_of_both_ways(void **state)
{
    (void)state;
    a_daemon_that_is_killed_ends_the_call(network.local);
    a_daemon_that_is_killed_ends_the_call(network.node.address);
}

/* It has left its shared memory. */
static bool knows_that_the_node_is_away(void *user)
{
    return rapahub_client_current_transport(((struct stage *)user)->client) ==
           RAPAHUB_CLIENT_SOCKET;
}

/* Nothing of its streams was touched: it is a call like any other. r[verify cluster.client.streams]
 */
static void a_call_that_waits_for_the_node_is_made_then(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, network.local);
    assert_true(process_until(kill_the_daemon, &network.node, 30 * SECOND));
    assert_true(process_until(knows_that_the_node_is_away, &stage, 30 * SECOND));
    works(&stage, SIZE / 64);
    rapahub_client_close(stage.client);
}

/* ---- readers that do not read, writers that do not write ---- */

/* r[verify cluster.stream.credit] */
static void a_reader_that_waits_stops_the_writer(void **state)
{
    struct open_call open;
    size_t before = SIZE, rest = 0;
    uint8_t *bytes = malloc(PIECE);
    ssize_t n;

    (void)state;
    begin_call(&open, network.local, true);
    await_middle(&open);
    while (before != atomic_load(&open.size)) { /* it may only seem so: then less is tested */
        before = atomic_load(&open.size);
        pause_ms(300);
    }
    assert_true(before < BOUNDED);
    assert_false(atomic_load(&open.over));
    while ((n = rapahub_source_read(open.read, bytes, PIECE)) > 0)
        rest += (size_t)n;
    assert_int_equal(n, 0);
    assert_true(rest > SIZE / 2);
    pthread_join(open.caller, NULL);
    assert_int_equal(open.status, 0);
    end_call(&open, true);
    free(bytes);
}

/* r[verify cluster.stream.patience] */
static void a_writer_that_writes_nothing_is_waited_for_so_long(void **state)
{
    struct open_call open;
    uint64_t began_ns = hub_clock_now();
    char byte;

    (void)state;
    memset(&open, 0, sizeof open);
    open_stage(&open.stage, network.local);
    open.timeout_ns = SECOND;
    assert_int_equal(rapahub_stream_pair(&open.write, &open.source), 0);
    assert_int_equal(rapahub_stream_pair(&open.sink, &open.read), 0);
    make_call(&open);
    assert_int_equal(open.status, RAPAHUB_ETIMEDOUT);
    assert_true(hub_clock_now() - began_ns >= SECOND);
    assert_true(rapahub_source_read(open.read, &byte, 1) < 0); /* no end, and nothing hangs */
    end_call(&open, false);
}

struct ending {
    atomic_int times;
    int status;
};

static void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;

    (void)result;
    ending->status = status;
    atomic_fetch_add(&ending->times, 1);
}

static bool has_ended(void *user)
{
    return atomic_load(&((struct ending *)user)->times) > 0;
}

static void begin_async(const struct stage *stage, struct rapahub_source *from,
                        struct rapahub_sink *to, struct ending *ending,
                        struct rapahub_request_id *request)
{
    const struct rapahub_call call = {.target = stage->target,
                                      .method = COMPRESS,
                                      .arguments = (const void *const[]){&from, &to, NULL}};

    assert_int_equal(rapahub_client_call_async(stage->client, &call, on_done, ending, request), 0);
}

static void a_cancelled_call_gives_its_streams_back(void **state)
{
    struct stage stage;
    struct ending ending = {0};
    struct rapahub_request_id request;
    struct rapahub_sink *write, *to;
    struct rapahub_source *from;

    (void)state;
    open_stage(&stage, network.local);
    assert_int_equal(rapahub_stream_pair(&write, &from), 0);
    assert_int_equal(rapahub_sink_of_memory(1000, &to), 0);
    begin_async(&stage, from, to, &ending, &request);
    rapahub_client_cancel(stage.client, request);
    assert_true(process_until(has_ended, &ending, 30 * SECOND));
    assert_int_equal(ending.status, RAPAHUB_ECANCELED);
    rapahub_source_destroy(from);
    rapahub_sink_destroy(write);
    rapahub_sink_destroy(to);
    works(&stage, PIECE);
    rapahub_client_close(stage.client);
    assert_int_equal(atomic_load(&ending.times), 1);
}

/* A short output may come after the answer. r[verify cluster.client.streams] */
static void a_method_that_only_writes_may_return_before_its_output_comes(void **state)
{
    const struct rapahub_bytes in = {"short", 5};
    struct stage stage;

    (void)state;
    open_stage(&stage, network.local);
    assert_int_equal(rapahub_client_pool(stage.client, "pour", &stage.target.pool), 0);
    for (unsigned i = 0; i < 300; i++) {
        struct rapahub_sink *to;
        const struct rapahub_call order = {.target = stage.target,
                                           .method = "pour(bytes, sink) -> void",
                                           .arguments = (const void *const[]){&in, &to, NULL},
                                           .timeout_ns = 10 * SECOND};
        size_t size;

        assert_int_equal(rapahub_sink_of_memory(64, &to), 0);
        assert_int_equal(rapahub_client_call(stage.client, &order, NULL), 0);
        assert_memory_equal(rapahub_sink_data(to, &size), "short", 5);
        assert_int_equal(size, 5);
        rapahub_sink_destroy(to);
    }
    rapahub_client_close(stage.client);
}

static void a_stream_that_fails_is_the_failure_of_its_call(void **state)
{
    struct stage stage;
    struct rapahub_source *from;
    struct rapahub_sink *to;

    (void)state;
    open_stage(&stage, network.local);
    assert_int_equal(rapahub_source_of_memory(plain, SIZE / 8, &from), 0);
    assert_int_equal(rapahub_sink_of_memory(1000, &to), 0);
    assert_int_equal(call(&stage, COMPRESS, from, to, 0), RAPAHUB_EMSGSIZE);
    rapahub_source_destroy(from);
    rapahub_sink_destroy(to);
    works(&stage, PIECE);
    rapahub_client_close(stage.client);
}

/* Its calls end with it, and give back what they had. */
static void a_client_that_is_closed_or_killed_leaves_nothing(void **state)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "call", "pack.compress", "-", "-", "1", "--node",
                                network.local,   NULL};
    const struct process_options options = {.argv = argv, .input = "abc"};
    struct ending endings[8] = {0};
    struct stage stage;
    struct rapahub_sink *write[8], *to[8];
    struct rapahub_source *from[8];
    struct process process;
    struct process_result result;

    (void)state;
    open_stage(&stage, network.local);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(rapahub_stream_pair(&write[i], &from[i]), 0);
        assert_int_equal(rapahub_sink_of_memory(1000, &to[i]), 0);
        begin_async(&stage, from[i], to[i], &endings[i], NULL);
    }
    rapahub_client_close(stage.client);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(endings[i].status, RAPAHUB_ECANCELED);
        rapahub_source_destroy(from[i]);
        rapahub_sink_destroy(write[i]);
        rapahub_sink_destroy(to[i]);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(process_start(&options, &process), 0);
        pause_ms(20 * i); /* wherever it is then */
        assert_int_equal(process_kill(&process, SIGKILL), 0);
        process_finish(&process, &result);
        process_result_fini(&result);
    }
    open_stage(&stage, network.local);
    works(&stage, SIZE / 64);
    rapahub_client_close(stage.client);
}

/* ---- the command line ---- */

static void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void the_command_line_gives_files(void **state)
{
    char in[NODE_PROCESS_PATH + 8], packed[NODE_PROCESS_PATH + 8], back[NODE_PROCESS_PATH + 8];
    char *bytes = malloc(SIZE / 16);
    struct process_result result;
    int fd;

    (void)state;
    snprintf(in, sizeof in, "@%s/in", network.node.folder);
    snprintf(packed, sizeof packed, "@%s/packed", network.node.folder);
    snprintf(back, sizeof back, "@%s/back", network.node.folder);
    write_file(in + 1, plain, SIZE / 16);
    assert_int_equal(
        node_process_rapahub(&network.node,
                             (const char *const[]){"call", "pack.compress", in, packed, "1", NULL},
                             &result),
        0);
    process_result_fini(&result);
    assert_int_equal(
        node_process_rapahub(&network.node,
                             (const char *const[]){"call", "pack.decompress", packed, back, NULL},
                             &result),
        0);
    assert_int_equal(strtoul(result.out, NULL, 10), SIZE / 16);
    process_result_fini(&result);
    fd = open(back + 1, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, SIZE / 16), SIZE / 16);
    assert_int_equal(memcmp(bytes, plain, SIZE / 16), 0);
    close(fd);
    free(bytes);
    assert_true(node_process_rapahub(&network.node,
                                     (const char *const[]){"call", "pack.compress", in, packed, "1",
                                                           "--repeat", "2", NULL},
                                     &result) != 0);
    assert_non_null(strstr(result.err, "a stream is read once"));
    process_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_comes_back),
        cmocka_unit_test(a_guest_that_is_killed_ends_the_call),
        cmocka_unit_test(a_killed_daemon_ends_the_calls_of_both_ways),
        cmocka_unit_test(a_call_that_waits_for_the_node_is_made_then),
        cmocka_unit_test(a_reader_that_waits_stops_the_writer),
        cmocka_unit_test(a_writer_that_writes_nothing_is_waited_for_so_long),
        cmocka_unit_test(a_cancelled_call_gives_its_streams_back),
        cmocka_unit_test(a_method_that_only_writes_may_return_before_its_output_comes),
        cmocka_unit_test(a_stream_that_fails_is_the_failure_of_its_call),
        cmocka_unit_test(a_client_that_is_closed_or_killed_leaves_nothing),
        cmocka_unit_test(the_command_line_gives_files),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
