/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with streams whose container is in another host, and calls from the control socket. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/control.h>

#include "tests/integration/routing.h"
#include "tests/integration/streaming.h"
#include "tests/support/process.h"

#define MS UINT64_C(1000000)

/* ---- with streams ---- */

static void open_flow_far(struct routing *on)
{
    routing_open(on);
    assert_done(start(&on->far, FLOW, here, NULL));
}

/* r[verify hub.route.streams] */
static void bytes_of_streams_cross_both_ways(void **state)
{
    static const size_t sizes[] = {0, 1, 4000, 70000, 3000000};
    struct routing on;

    (void)state;
    open_flow_far(&on);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t size = sizes[i];
        unsigned char *memory;
        struct rapahub_source *source = pattern_source(sizes[i], &memory);
        struct rapahub_sink *sink;
        uint64_t count = 1;
        size_t got;

        assert_done(rapahub_sink_of_memory(4000000, &sink));
        assert_done(call_at(on.near.host, here, "copy(source, sink) -> u64",
                            (const void *const[]){&source, &sink, NULL}, &count));
        assert_int_equal(count, size);
        assert_memory_equal(rapahub_sink_data(sink, &got), memory, sizes[i]);
        assert_int_equal(got, size);
        rapahub_sink_destroy(sink);
        rapahub_source_destroy(source);
        free(memory);
    }
    routing_close(&on);
}

static void the_owner_serves_while_bytes_move(void **state)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(500000, &memory);
    struct routing on;
    uint64_t count = 0;

    (void)state;
    routing_open_as(&on, false);
    assert_done(start(&on.far, FLOW, here, NULL));
    assert_done(call_at(on.near.host, here, "drain(source) -> u64",
                        (const void *const[]){&source, NULL}, &count));
    assert_int_equal(count, 500000);
    routing_close(&on);
    rapahub_source_destroy(source);
    free(memory);
}

static void an_asynchronous_call_has_streams_too(void **state)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(500000, &memory);
    const void *const arguments[] = {&source, NULL};
    const struct rapahub_call call = {
        .target = here, .method = "drain(source) -> u64", .arguments = arguments};
    struct done done = {0};
    struct routing on;

    (void)state;
    open_flow_far(&on);
    assert_done(rapahub_host_call_async(on.near.host, &call, on_done, &done, NULL));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, 0);
    assert_int_equal(done.sum, 500000);
    routing_close(&on);
    rapahub_source_destroy(source);
    free(memory);
}

static void the_error_of_a_method_ends_its_streams(void **state)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(500000, &memory);
    struct rapahub_sink *sink;
    struct routing on;

    (void)state;
    open_flow_far(&on);
    assert_done(rapahub_sink_of_memory(100, &sink));
    assert_int_equal(call_at(on.near.host, here, "fail(source, sink)",
                             (const void *const[]){&source, &sink, NULL}, NULL),
                     RAPAHUB_EAPPLICATION);
    assert_int_equal(
        call_at(on.near.host, here, "die(source)", (const void *const[]){&source, NULL}, NULL),
        RAPAHUB_EDIED);
    routing_close(&on);
    rapahub_sink_destroy(sink);
    rapahub_source_destroy(source);
    free(memory);
}

/* The caller writes nothing, so the method waits. */
static void a_cancelled_call_gives_its_streams_back(void **state)
{
    struct rapahub_request_id id;
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct done done = {0};
    struct routing on;

    (void)state;
    open_flow_far(&on);
    assert_done(rapahub_stream_pair(&sink, &source));
    {
        const void *const arguments[] = {&source, NULL};
        const struct rapahub_call call = {
            .target = here, .method = "drain(source) -> u64", .arguments = arguments};

        assert_done(rapahub_host_call_async(on.near.host, &call, on_done, &done, &id));
        pause_ms(50);
        rapahub_host_cancel(on.near.host, id);
        assert_true(ends(&done, 1));
        assert_int_equal(done.status, RAPAHUB_ECANCELED);
    }
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    routing_close(&on);
}

/* A router that ends each call at once, with the same code. */
struct refusing {
    struct rapahub_host *host;
    int status;
    atomic_uint begun;
    bool in_begin;
};

static int refuse(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer)
{
    struct refusing *refusing = user;
    const struct rapahub_raw_answer end = {.status = refusing->status};

    (void)call;
    refusing->begun++;
    if (refusing->in_begin)
        return refusing->status;
    assert_done(rapahub_host_answer_raw(refusing->host, answer, &end));
    return 0;
}

/* Codes that mean "try it again" where a guest gives them. r[verify hub.route.once] */
static void the_router_gets_a_call_once_whatever_it_answers(void **state)
{
    static const int codes[] = {-EAGAIN, RAPAHUB_ESTALE};
    struct refusing refusing = {.status = 0};
    const struct rapahub_router router = {.begin = refuse, .user = &refusing};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    refusing.host = on.host;
    assert_done(rapahub_host_set_router(on.host, &router));
    for (unsigned i = 0; i < 4; i++) {
        struct rapahub_source *source;
        const void *const arguments[] = {&source, NULL};
        const struct rapahub_call call = {.target = here,
                                          .method = "drain(source) -> u64",
                                          .arguments = arguments,
                                          .timeout_ns = 500 * MS};
        struct done done = {0};

        refusing.begun = 0;
        refusing.status = codes[i % 2];
        refusing.in_begin = i >= 2;
        assert_done(rapahub_source_of_memory("abc", 3, &source));
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
        assert_true(ends(&done, 1));
        assert_int_equal(done.status, codes[i % 2]);
        assert_int_equal(refusing.begun, 1);
        rapahub_source_destroy(source);
    }
    close_host(&on);
}

static void *write_slowly(void *sink)
{
    for (uint64_t i = 0; i < 8; i++) {
        unsigned char byte = pattern(i);

        pause_ms(100);
        assert_done(rapahub_sink_write(sink, &byte, 1));
    }
    assert_done(rapahub_sink_end(sink));
    return NULL;
}

/* r[verify hub.route.streams] */
static void a_deadline_begins_anew_with_each_byte_that_moves(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct routing on;
    uint64_t count = 0;
    pthread_t writer;

    (void)state;
    open_flow_far(&on);
    assert_done(rapahub_stream_pair(&sink, &source));
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, sink), 0);
    {
        const void *const arguments[] = {&source, NULL};
        const struct rapahub_call call = {.target = here,
                                          .method = "drain(source) -> u64",
                                          .arguments = arguments,
                                          .timeout_ns = 500 * MS};

        assert_done(rapahub_host_call(on.near.host, &call, &count));
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(count, 8);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    routing_close(&on);
}

/* ---- from the control socket ---- */

/* The calls of a guest's container go elsewhere, also those that a person types. */
struct socket_scene {
    struct routing on;
    struct rapahub_control *control;
    char folder[64], variable[96], path[128];
};

static void open_socket(struct socket_scene *scene)
{
    const struct rapahub_guest_options guest = {.chimod = CALC};
    const struct rapahub_container_options routed = {
        .id = here, .pool_name = "calc", .routed = true};
    struct rapahub_control_options options = {.name = "near", .path = scene->path};

    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-route-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->variable, sizeof scene->variable, "XDG_RUNTIME_DIR=%s", scene->folder);
    snprintf(scene->path, sizeof scene->path, "%s/rapahub", scene->folder);
    assert_int_equal(mkdir(scene->path, 0700), 0);
    snprintf(scene->path, sizeof scene->path, "%s/rapahub/near.sock", scene->folder);
    routing_open_as(&scene->on, false); /* this thread serves the socket */
    assert_done(rapahub_host_spawn(scene->on.near.host, &guest, &scene->on.near.guest));
    assert_done(rapahub_host_add_container(scene->on.near.host, scene->on.near.guest, &routed));
    assert_done(start(&scene->on.far, CALC, here, NULL));
    options.host = RAPAHUB_CONTROL_HOST(scene->on.near.host);
    assert_done(rapahub_control_open(&options, &scene->control));
    assert_done(rapahub_control_offer(scene->control, "calc", here.pool));
}

static void close_socket(struct socket_scene *scene)
{
    rapahub_control_close(scene->control);
    routing_close(&scene->on);
    snprintf(scene->path, sizeof scene->path, "%s/rapahub/.lock", scene->folder);
    (void)unlink(scene->path);
    snprintf(scene->path, sizeof scene->path, "%s/rapahub", scene->folder);
    (void)rmdir(scene->path);
    assert_int_equal(rmdir(scene->folder), 0);
}

/* Runs the program, and serves it meanwhile. */
static void type_call(struct socket_scene *scene, const char *target, const char *second,
                      int status, const char *says)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "call", target, "6", second, NULL};
    const struct process_options options = {
        .argv = argv, .variables = (const char *const[]){scene->variable, NULL}};
    struct process_result result;
    struct process process;
    uint64_t end = now_ms() + 20000;

    assert_int_equal(process_start(&options, &process), 0);
    while (poll(&(struct pollfd){.fd = process.pidfd, .events = POLLIN}, 1, 0) == 0 &&
           now_ms() < end) {
        assert_true(rapahub_host_dispatch(scene->on.near.host, 5) >= 0);
        assert_true(rapahub_control_dispatch(scene->control) >= 0);
    }
    assert_int_equal(process_finish(&process, &result), 0);
    if (result.status != status || !strstr(status == 0 ? result.out : result.err, says))
        print_error("%d: %s%s\n", result.status, result.out, result.err);
    assert_int_equal(result.status, status);
    assert_non_null(strstr(status == 0 ? result.out : result.err, says));
    process_result_fini(&result);
}

static void a_call_from_the_control_socket_goes_to_the_router_as_well(void **state)
{
    struct socket_scene scene = {.control = NULL};

    (void)state;
    open_socket(&scene);
    type_call(&scene, "calc.add", "3", 0, "9");
    assert_int_equal(scene.on.out.begun, 1);
    type_call(&scene, "calc.divide", "0", 12, "division by zero");
    assert_int_equal(scene.on.out.begun, 2);
    close_socket(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_streams_cross_both_ways),
        cmocka_unit_test(the_owner_serves_while_bytes_move),
        cmocka_unit_test(an_asynchronous_call_has_streams_too),
        cmocka_unit_test(the_error_of_a_method_ends_its_streams),
        cmocka_unit_test(a_cancelled_call_gives_its_streams_back),
        cmocka_unit_test(the_router_gets_a_call_once_whatever_it_answers),
        cmocka_unit_test(a_deadline_begins_anew_with_each_byte_that_moves),
        cmocka_unit_test(a_call_from_the_control_socket_goes_to_the_router_as_well),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
