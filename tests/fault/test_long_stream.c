/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that is far longer than everything in between: bytes of a pattern are compressed in one
 * guest and decompressed in another, through rings of 4, 2 slots and a window of 4096 bytes, and
 * compared. The memory of no process grows with the length.
 *
 *     test_long_stream [MiB]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>
#include <rapahub/stream.h>

#include "tests/support/testing.h"

#define PIECE   65536u
#define CODEC   TEST_PREFIX "/" TEST_LIBDIR "/rapahub/codec.so"
#define PACKER  ((struct rapahub_container_id){.pool = {1, 0}})
#define OPENER  ((struct rapahub_container_id){.pool = {2, 0}})
#define FLAT_KB 4096 /* so much more at the end than after the first eighth is still flat */

struct flow {
    struct rapahub_host *host;
    int32_t pids[2];
    uint64_t size;
    struct rapahub_sink *plain_in, *packed_in, *plain_out;
    struct rapahub_source *plain, *packed, *result;
    int codes[3];
};

/* Compresses to about a third; each piece is another one. */
static void fill(unsigned char *piece, uint64_t at)
{
    uint64_t state = at * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < PIECE; i++) {
        if (i % 8 == 0)
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        piece[i] = (unsigned char)(i % 8 < 3 ? state >> (8 * (i % 8)) : i);
    }
}

static void *write_plain(void *user)
{
    struct flow *flow = user;
    unsigned char piece[PIECE];
    int r = 0;

    for (uint64_t at = 0; r == 0 && at < flow->size; at += PIECE) {
        fill(piece, at);
        r = rapahub_sink_write(flow->plain_in, piece, sizeof piece);
    }
    flow->codes[0] = r == 0 ? rapahub_sink_end(flow->plain_in) : r;
    return NULL;
}

static int call(struct flow *flow, struct rapahub_container_id target, const char *method,
                const void *const *streams)
{
    const struct rapahub_call call = {
        .target = target, .method = method, .arguments = streams, .timeout_ns = 60000000000};
    uint64_t written;
    int r = rapahub_host_call(flow->host, &call, &written);

    if (r < 0)
        print_error("%s: %s\n", method, rapahub_last_error()->text);
    return r;
}

static void *pack(void *user)
{
    struct flow *flow = user;
    const void *const streams[] = {&flow->plain, &flow->packed_in, &(int32_t){1}, NULL};

    flow->codes[1] = call(flow, PACKER, "compress(source, sink, i32) -> u64", streams);
    rapahub_sink_destroy(flow->packed_in);
    return NULL;
}

static void *unpack(void *user)
{
    struct flow *flow = user;
    const void *const streams[] = {&flow->packed, &flow->plain_out, NULL};

    flow->codes[2] = call(flow, OPENER, "decompress(source, sink) -> u64", streams);
    rapahub_sink_destroy(flow->plain_out);
    return NULL;
}

/* Resident memory of a process, KiB. */
static long resident(int32_t pid)
{
    char path[32], line[128];
    long pages = 0;
    FILE *file;

    snprintf(path, sizeof path, pid ? "/proc/%d/statm" : "/proc/self/statm", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_int_equal(sscanf(line, "%*d %ld", &pages), 1);
    return pages * 4;
}

static void measure(const struct flow *flow, long to[3])
{
    to[0] = resident(0);
    to[1] = resident(flow->pids[0]);
    to[2] = resident(flow->pids[1]);
}

static void compare(struct flow *flow)
{
    static unsigned char wanted[PIECE], got[PIECE];
    long early[3], late[3];

    for (uint64_t at = 0; at < flow->size; at += PIECE) {
        assert_int_equal(rapahub_source_read_all(flow->result, got, PIECE), 0);
        fill(wanted, at);
        assert_memory_equal(got, wanted, PIECE);
        if (at == flow->size / 8 / PIECE * PIECE)
            measure(flow, early);
    }
    measure(flow, late);
    assert_int_equal(rapahub_source_read(flow->result, got, 1), 0);
    for (int i = 0; i < 3; i++) {
        printf("memory: %ld KiB after an eighth, %ld KiB at the end\n", early[i], late[i]);
        assert_true(late[i] < early[i] + FLAT_KB);
    }
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    struct flow *flow = user;

    flow->pids[flow->pids[0] != 0] = status->pid;
}

static void start(struct flow *flow)
{
    const struct rapahub_host_options options = {.ring_size = 4,
                                                 .slot_count = 2,
                                                 .slot_size = 8192,
                                                 .payload_max = 8000,
                                                 .credit_size = 4096,
                                                 .own_thread = true};
    const struct rapahub_container_id ids[] = {PACKER, OPENER};

    assert_int_equal(rapahub_host_create(&options, &flow->host), 0);
    for (int i = 0; i < 2; i++) {
        const struct rapahub_guest_options guest = {.chimod = CODEC};
        const struct rapahub_container_options container = {.id = ids[i], .pool_name = "codec"};
        struct rapahub_guest_id id;

        assert_int_equal(rapahub_host_spawn(flow->host, &guest, &id), 0);
        assert_int_equal(rapahub_host_add_container(flow->host, id, &container), 0);
    }
    assert_int_equal(rapahub_host_guests(flow->host, note_pid, flow), 0);
    assert_int_equal(rapahub_stream_pair(&flow->plain_in, &flow->plain), 0);
    assert_int_equal(rapahub_stream_pair(&flow->packed_in, &flow->packed), 0);
    assert_int_equal(rapahub_stream_pair(&flow->plain_out, &flow->result), 0);
}

static void finish(struct flow *flow)
{
    rapahub_sink_destroy(flow->plain_in);
    rapahub_source_destroy(flow->plain);
    rapahub_source_destroy(flow->packed);
    rapahub_source_destroy(flow->result);
    rapahub_host_destroy(flow->host);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void a_long_stream_arrives_whole_and_takes_no_memory(void **state)
{
    static void *(*const works[])(void *) = {write_plain, pack, unpack};
    struct flow flow = {.size = *(uint64_t *)*state};
    pthread_t threads[3];
    uint64_t begun;

    start(&flow);
    begun = now_ms();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, works[i], &flow), 0);
    compare(&flow);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(flow.codes[i], 0);
    }
    printf("%" PRIu64 " MiB through two guests in %" PRIu64 " ms, byte for byte\n", flow.size >> 20,
           now_ms() - begun);
    finish(&flow);
}

int main(int argc, char **argv)
{
    uint64_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 64) << 20;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_long_stream_arrives_whole_and_takes_no_memory, &size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
