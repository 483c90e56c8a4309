/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of bytes whose size is another each time, of one method. */
#include "tests/integration/hosting.h"

#define CALLER MODULE("caller")
#define ROUNDS 300u

static const struct rapahub_container_id offer = {.pool = {9, 0}};
static const struct rapahub_container_id other = {.pool = {2, 0}};

static int offer_fill(void *self, uint32_t size, struct rapahub_bytes *result)
{
    static uint8_t bytes[70000];

    (void)self;
    memset(bytes, (int)(size & 0xff), size);
    *result = (struct rapahub_bytes){bytes, size};
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(fill, offer_fill, bytes, u32),
    RAPAHUB_METHOD_END,
};

static void open_callers(struct hosting *on, enum rapahub_waiting waiting)
{
    const struct rapahub_container_options options = {.id = offer, .pool_name = "offer"};

    open_host(on, (struct rapahub_host_options){.waiting = waiting});
    assert_done(start(on, CALLER, other, NULL));
    assert_done(start(on, CALLER, here, NULL));
    assert_done(rapahub_host_offer(on->host, &options, methods, NULL));
}

/* The call of a guest is sent and answered without a detour where its answer is small enough. */
static void a_guest_gets_each_answer_whole_whatever_its_size(void **state)
{
    static const enum rapahub_waiting ways[] = {RAPAHUB_WAIT_ADAPT, RAPAHUB_WAIT_POLL};
    static const uint32_t pools[] = {9, 2};
    const uint32_t rounds = ROUNDS;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct hosting on;
        uint32_t right = 0;

        open_callers(&on, ways[i / 2]);
        assert_done(ask(&on, "sizes(u32, u32) -> u32",
                        (const void *const[]){&pools[i % 2], &rounds, NULL}, &right));
        assert_int_equal(right, ROUNDS);
        close_host(&on);
    }
}

struct filled {
    unsigned count, right;
    uint32_t sizes[ROUNDS];
};

static void on_filled(void *user, int status, const void *result)
{
    const struct rapahub_bytes *bytes = result;
    struct filled *filled = user;
    uint32_t size = filled->sizes[filled->count++];

    if (status == 0 && bytes->size == size &&
        (size == 0 || ((const uint8_t *)bytes->data)[size - 1] == (size & 0xff)))
        filled->right++;
}

/* A number is no bytes: an argument of one word is not read as an address and a length. */
static void an_asynchronous_call_of_a_number_answers_bytes(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_u32,
                                                       NULL};
    struct filled filled = {0};
    struct hosting on;
    uint64_t id = 0;

    (void)state;
    open_callers(&on, RAPAHUB_WAIT_ADAPT);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const struct rapahub_call call = {.target = here,
                                          .method = "fill",
                                          .types = types,
                                          .method_id = &id,
                                          .arguments =
                                              (const void *const[]){&filled.sizes[i], NULL}};

        filled.sizes[i] = i * i % 3000;
        assert_done(rapahub_host_call_async(on.host, &call, on_filled, &filled, NULL));
        assert_true(until(&on, &filled.count, i + 1));
    }
    assert_int_equal(filled.right, ROUNDS);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_gets_each_answer_whole_whatever_its_size),
        cmocka_unit_test(an_asynchronous_call_of_a_number_answers_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
