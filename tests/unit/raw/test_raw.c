/* SPDX-License-Identifier: Apache-2.0 */
/* The raw guest against the raw host, as threads and as processes. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tests/raw/raw_call.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_host.h"
#include "tests/raw/raw_pair.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_words.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define TIME_MS 20000
#define ROUNDS  1000
#define BURST   3

static const struct raw_config golden = RAW_HOST_GOLDEN;

/* Small, and all indices pass 2^32 in the first laps. */
static const struct raw_config narrow = {.max_payload = 252,
                                         .initial_credit = 1024,
                                         .max_guests = 1,
                                         .ring_size = 8,
                                         .slot_size = 256,
                                         .slot_count = 4,
                                         .max_channels = 4,
                                         .first_index = 0xfffffff0};

static void pair_open(struct raw_pair *pair, const struct raw_config *config, enum raw_bell bell)
{
    assert_int_equal(raw_pair_open(pair, config, bell), 0);
    assert_int_equal(raw_host_await(&pair->host, TIME_MS), 0);
}

static int send_bytes(struct raw_link *link, uint8_t type, uint32_t id, const void *bytes,
                      uint32_t size)
{
    struct raw_message message = {.type = type, .id = id, .payload = bytes, .length = size};

    return raw_link_send(link, &message, 0);
}

/* Sends back what comes, until the host is gone. Returns how many came, or less than 0. */
static long echo(struct raw_link *link)
{
    struct raw_message message;
    long count = 0;
    int r;

    while ((r = raw_link_receive(link, TIME_MS, &message)) == 0) {
        r = raw_link_send(link, &message, TIME_MS);
        if (r < 0)
            return r;
        count++;
    }
    return r == -EPIPE ? count : r;
}

static void *echo_in_thread(void *link)
{
    return (void *)echo(link);
}

/* Every size from inline to a full slot, with content that distinguishes messages. */
static void fill_round(struct raw_link *link, struct raw_message *message, uint8_t *bytes,
                       uint32_t round)
{
    memset(bytes, (int)(round & 0xff), 252);
    *message = (struct raw_message){.type = RAW_DATA,
                                    .id = round + 1,
                                    .payload = bytes,
                                    .length = round * 7 % (link->slot_size - 3)};
}

/* In bursts, so that more than one message is under way. Returns 0 or what went wrong. */
static int exchange(struct raw_link *link, uint32_t rounds)
{
    struct raw_message message;
    uint8_t bytes[252];
    int r = 0;

    for (uint32_t round = 0; r == 0 && round < rounds; round += BURST) {
        for (uint32_t i = 0; r == 0 && i < BURST; i++) {
            fill_round(link, &message, bytes, round + i);
            r = raw_link_send(link, &message, TIME_MS);
        }
        for (uint32_t i = 0; r == 0 && i < BURST; i++) {
            struct raw_message sent;

            r = raw_link_receive(link, TIME_MS, &message);
            fill_round(link, &sent, bytes, round + i);
            if (r == 0 && (message.id != sent.id || message.length != sent.length ||
                           memcmp(message.payload, bytes, sent.length) != 0))
                r = -EBADMSG;
        }
    }
    return r;
}

static void assert_crossing(enum raw_bell bell, uint32_t first_index,
                            const struct raw_behaviour *of_host,
                            const struct raw_behaviour *of_guest)
{
    struct raw_config config = narrow;
    struct raw_pair pair = {.host = {.behaviour = *of_host}, .guest = {.behaviour = *of_guest}};
    pthread_t thread;
    void *echoed;

    config.first_index = first_index;
    pair_open(&pair, &config, bell);
    assert_int_equal(pthread_create(&thread, NULL, echo_in_thread, &pair.guest), 0);
    assert_int_equal(exchange(&pair.host, ROUNDS), 0);
    raw_host_goodbye(&pair.segment, &pair.host);
    pthread_join(thread, &echoed);
    assert_in_range((intptr_t)echoed, ROUNDS, ROUNDS + BURST);
    assert_int_equal(raw_slot_count_free(&pair.host), config.slot_count);
    assert_int_equal(raw_slot_count_free(&pair.guest), config.slot_count);
    if (!of_guest->modulo)
        assert_int_equal(raw_load32(pair.segment.base, 128 + 8),
                         (uint32_t)(first_index + (uintptr_t)echoed));
    raw_pair_close(&pair);
}

static void messages_cross_both_ways_and_indices_pass_32_bits(void **state)
{
    const struct raw_behaviour bell = {.sleep = RAW_SLEEP_BELL};
    const struct raw_behaviour futex = {.sleep = RAW_SLEEP_FUTEX};
    struct leak *leak = leak_begin();

    (void)state;
    assert_crossing(RAW_BELL_STREAM, 0xfffffff0, &bell, &bell);
    assert_crossing(RAW_BELL_STREAM, 0xfffffff0, &bell, &futex);
    assert_crossing(RAW_BELL_NONE, 0, &futex, &futex);
    leak_assert_none(leak);
}

static void messages_cross_between_foreign_peers(void **state)
{
    const struct raw_behaviour bell = {.foreign = true, .never_wakes = true};
    const struct raw_behaviour futex = {
        .foreign = true, .sleep = RAW_SLEEP_FUTEX, .never_rings = true};
    const struct raw_behaviour ours = {.sleep = RAW_SLEEP_BELL};

    (void)state;
    assert_crossing(RAW_BELL_DGRAM, 0xfffffff0, &bell, &bell);
    assert_crossing(RAW_BELL_STREAM, 0xfffffff0, &futex, &futex);
    assert_crossing(RAW_BELL_STREAM, 0xfffffff0, &ours, &bell);
}

static void indices_may_be_kept_modulo_the_size_of_the_ring(void **state)
{
    const struct raw_behaviour modulo = {.foreign = true, .modulo = true};
    const struct raw_behaviour tolerant = {.tolerant = true};

    (void)state;
    assert_crossing(RAW_BELL_STREAM, 0, &tolerant, &modulo);
    assert_crossing(RAW_BELL_STREAM, 0, &modulo, &modulo);
}

static void a_modulo_index_is_noticed_by_who_does_not_tolerate_it(void **state)
{
    struct raw_pair pair = {.guest = {.behaviour = {.modulo = true}}};
    struct raw_message message;

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_STREAM);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(send_bytes(&pair.guest, RAW_DATA, 1, "x", 1), 0);
        assert_int_equal(raw_link_receive(&pair.host, 0, &message), 0);
    }
    assert_int_equal(send_bytes(&pair.guest, RAW_DATA, 1, "x", 1), 0);
    assert_int_equal(raw_link_receive(&pair.host, 0, &message), -EPROTO);
    raw_pair_close(&pair);
}

static void who_neither_rings_nor_wakes_is_heard_all_the_same(void **state)
{
    struct raw_pair pair = {
        .guest = {.behaviour = {.never_rings = true, .never_wakes = true, .foreign = true}}};
    struct raw_message message;

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_STREAM);
    assert_int_equal(send_bytes(&pair.guest, RAW_DATA, 1, "x", 1), 0);
    assert_int_equal(raw_link_receive(&pair.host, TIME_MS, &message), 0);
    assert_int_equal(raw_link_receive(&pair.host, 20, &message), -ETIMEDOUT);
    raw_pair_close(&pair);
}

static void *answer_calls(void *argument)
{
    struct raw_link *link = argument;
    struct raw_message message;

    while (raw_link_receive(link, TIME_MS, &message) == 0 && message.type == RAW_REQUEST) {
        struct raw_postcard_rest rest = raw_call_arguments(&message);
        int64_t sum = raw_postcard_take_i64(&rest) + raw_postcard_take_i64(&rest);

        if (message.method == raw_call_method("add(i64, i64) -> i64"))
            raw_call_answer_i64(link, message.id, sum, TIME_MS);
        else
            raw_call_fail(link, message.id, RAW_UNKNOWN_METHOD, TIME_MS);
    }
    raw_guest_goodbye(link);
    return NULL;
}

static void calls_are_answered(void **state)
{
    const struct raw_config config = RAW_HOST_USUAL;
    struct raw_pair pair = {.guest = {.bell = -1}};
    struct raw_message message;
    pthread_t thread;
    int64_t sum = 0;

    (void)state;
    pair_open(&pair, &config, RAW_BELL_STREAM);
    assert_int_equal(pthread_create(&thread, NULL, answer_calls, &pair.guest), 0);
    assert_int_equal(raw_call_add(&pair.host, 1, "add(i64, i64) -> i64", (int64_t[]){-3, 5}, &sum),
                     0);
    assert_int_equal(sum, 2);
    assert_int_equal(raw_call_add(&pair.host, 2, "no such method", (int64_t[]){0, 0}, &sum),
                     1 + RAW_UNKNOWN_METHOD);
    assert_int_equal(raw_call_goodbye(&pair.host, "shm.goodbye.host", TIME_MS), 0);
    assert_int_equal(raw_link_receive(&pair.host, TIME_MS, &message), -EPIPE);
    pthread_join(thread, NULL);
    assert_int_equal(raw_load32(pair.segment.base, 128), 2);
    raw_pair_close(&pair);
}

/* This very program as a guest: echoes until the host says goodbye. */
static int be_guest(int argc, char *argv[])
{
    struct raw_ticket ticket;
    struct raw_link link;
    long count;

    if (raw_guest_ticket(argc, argv, &ticket) < 0 || raw_guest_attach(&ticket, NULL, &link) < 0)
        return 64;
    raw_guest_heartbeat(&link);
    count = echo(&link);
    raw_guest_goodbye(&link);
    raw_link_fini(&link);
    return count >= 0 ? 7 : 1;
}

static void assert_program_echoes(bool file)
{
    static const char *const argv[] = {"/proc/self/exe", "guest", NULL};
    struct raw_config config = narrow;
    struct leak *leak = leak_begin();
    struct raw_link link = {.bell = -1};
    struct raw_program program;
    struct raw_host host;
    int bell;

    config.file = file;
    assert_int_equal(raw_host_create(&config, &host), 0);
    assert_int_equal(raw_host_reserve(&host, 1, RAW_BELL_STREAM, &link, &bell), 0);
    assert_int_equal(raw_host_spawn(&host, &link, argv, bell, &program), 0);
    assert_int_equal(raw_host_await(&link, TIME_MS), 0);
    assert_int_equal(exchange(&link, ROUNDS), 0);
    assert_true(raw_load64(host.base, 128 + 24) != 0);
    raw_host_goodbye(&host, &link);
    assert_int_equal(raw_host_reap(&program, TIME_MS), 7);
    assert_int_equal(raw_load32(host.base, 128), 2);
    raw_link_fini(&link);
    raw_host_destroy(&host);
    leak_assert_none(leak);
}

static void a_program_is_started_with_a_ticket_and_echoes(void **state)
{
    (void)state;
    if (!process_possible())
        skip();
    assert_program_echoes(false);
    assert_program_echoes(true);
}

static void the_death_of_the_other_side_ends_a_wait(void **state)
{
    static const char *const argv[] = {"/bin/false", NULL};
    const struct raw_config config = RAW_HOST_USUAL;
    struct raw_link link = {.bell = -1};
    struct raw_program program;
    struct raw_host host;
    int bell;

    (void)state;
    if (!process_possible())
        skip();
    assert_int_equal(raw_host_create(&config, &host), 0);
    assert_int_equal(raw_host_reserve(&host, 1, RAW_BELL_STREAM, &link, &bell), 0);
    assert_int_equal(raw_host_spawn(&host, &link, argv, bell, &program), 0);
    assert_int_equal(raw_host_await(&link, TIME_MS), -EPIPE);
    assert_int_equal(raw_host_reap(&program, TIME_MS), 1);
    raw_link_fini(&link);
    raw_host_destroy(&host);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_cross_both_ways_and_indices_pass_32_bits),
        cmocka_unit_test(messages_cross_between_foreign_peers),
        cmocka_unit_test(indices_may_be_kept_modulo_the_size_of_the_ring),
        cmocka_unit_test(a_modulo_index_is_noticed_by_who_does_not_tolerate_it),
        cmocka_unit_test(who_neither_rings_nor_wakes_is_heard_all_the_same),
        cmocka_unit_test(calls_are_answered),
        cmocka_unit_test(a_program_is_started_with_a_ticket_and_echoes),
        cmocka_unit_test(the_death_of_the_other_side_ends_a_wait),
    };

    if (argc > 1 && strcmp(argv[1], "guest") == 0)
        return be_guest(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
