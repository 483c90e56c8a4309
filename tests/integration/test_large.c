/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of all sizes, through slots of several sizes; and where there is no room for them. */
#include "tests/integration/hosting.h"

#define MIB    ((size_t)1 << 20)
#define CALLER MODULE("caller")

static const struct rapahub_container_id there = {.pool = {2, 0}};

static void fill(uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 2654435761U >> 13);
}

/* A host with these limits, and a guest with its container. */
static void open_large(struct hosting *on, const struct rapahub_host_options *limits,
                       enum rapahub_trust trust)
{
    const struct rapahub_guest_options guest = {.chimod = CALC, .trust = trust};
    const struct rapahub_container_options container = {.id = here, .pool_name = "large"};

    open_host(on, *limits);
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void echo_same(struct hosting *on, const uint8_t *data, size_t size)
{
    struct rapahub_bytes in = {data, size}, out = {NULL, 0};

    assert_done(ask(on, "echo(bytes) -> bytes", (const void *const[]){&in, NULL}, &out));
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
}

/* r[verify hub.layout.pools] r[verify shm.varslot.selection] */
static void messages_of_all_sizes_come_back(void **state)
{
    static const size_t sizes[] = {0,    1,     31,    4000,  4095,    4096,
                                   4097, 65000, 65536, 65537, 1000000, MIB - 100};
    static const enum rapahub_trust trusts[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};
    uint8_t *data = malloc(MIB);

    (void)state;
    fill(data, MIB);
    for (unsigned t = 0; t < 2; t++) {
        struct hosting on;

        open_large(&on, &(struct rapahub_host_options){.guests_max = 2}, trusts[t]);
        for (unsigned round = 0; round < 20; round++)
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
                echo_same(&on, data, sizes[i]);
        close_host(&on);
    }
    free(data);
}

/* The result of a call is the argument of the next: it must not be lost before it is sent, wherever
 * it lies. */
static void a_result_is_the_next_argument(void **state)
{
    struct rapahub_bytes given = {malloc(MIB / 2), MIB / 2};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&given, NULL},
                                      .view = true};
    uint8_t *data = malloc(MIB / 2);
    void *first = (void *)(uintptr_t)given.data;
    struct hosting on;

    (void)state;
    fill(data, MIB / 2);
    memcpy(first, data, MIB / 2);
    open_large(&on, &(struct rapahub_host_options){.guests_max = 2}, RAPAHUB_TRUST_TRUSTED);
    for (unsigned round = 0; round < 20; round++) {
        if (round % 3 == 0) /* not shown, but copied */
            assert_done(ask(&on, call.method, call.arguments, &given));
        else
            assert_done(rapahub_host_call(on.host, &call, &given));
        assert_int_equal(given.size, MIB / 2);
        assert_memory_equal(given.data, data, MIB / 2);
    }
    close_host(&on);
    free(first);
    free(data);
}

/* r[verify hub.layout.pools] */
static void a_message_of_64_MiB_comes_back(void **state)
{
    const struct rapahub_host_options limits = {.payload_max = 64 * MIB};
    const size_t size = 64 * MIB - 100;
    uint8_t *data = malloc(size);
    struct hosting on;

    (void)state;
    assert_non_null(data);
    fill(data, size);
    open_large(&on, &limits, RAPAHUB_TRUST_STANDARD);
    for (unsigned round = 0; round < 3; round++)
        echo_same(&on, data, size);
    close_host(&on);
    free(data);
}

/* From guest to guest: its host has the request twice and the answer, which is no more than it
 * keeps for one guest. r[verify sec.call.budget] */
static void nor_is_one_of_64_MiB_too_much_for_a_budget(void **state)
{
    const struct rapahub_host_options limits = {.payload_max = 64 * MIB};
    const struct rapahub_guest_options guest = {.chimod = CALLER};
    const struct rapahub_container_options container = {.id = there, .pool_name = "caller"};
    const size_t size = 64 * MIB - 4096;
    const uint32_t pool = here.pool.major;
    uint8_t *data = malloc(size);
    struct rapahub_bytes in = {data, size}, out = {NULL, 0};
    const struct rapahub_call call = {.target = there,
                                      .method = "pass(u32, bytes) -> bytes",
                                      .arguments = (const void *const[]){&pool, &in, NULL}};
    struct rapahub_guest_id id;
    struct hosting on;

    (void)state;
    assert_non_null(data);
    fill(data, size);
    open_large(&on, &limits, RAPAHUB_TRUST_STANDARD);
    assert_done(rapahub_host_spawn(on.host, &guest, &id));
    assert_done(rapahub_host_add_container(on.host, id, &container));
    assert_done(rapahub_host_call(on.host, &call, &out));
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
    close_host(&on);
    free(data);
}

static void more_memory_than_allowed_is_refused_at_once(void **state)
{
    const struct rapahub_host_options options = {.payload_max = 64 * MIB,
                                                 .var_bytes_max = 100 * MIB};
    struct rapahub_host *host = NULL;

    (void)state;
    assert_refused(rapahub_host_create(&options, &host), RAPAHUB_EINVAL,
                   "slots for messages of 67108864 bytes take");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_come_back),
        cmocka_unit_test(a_result_is_the_next_argument),
        cmocka_unit_test(a_message_of_64_MiB_comes_back),
        cmocka_unit_test(nor_is_one_of_64_MiB_too_much_for_a_budget),
        cmocka_unit_test(more_memory_than_allowed_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
