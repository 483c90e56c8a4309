/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile guest with streams: credit it does not have, ids that are not its own, messages after
 * the end. The host names the rule and kills it, or goes on as if nothing had happened. */
#include <rapahub/stream.h>

#include "tests/attack/attack.h"

#define LENGTH 100000 /* bytes that the host sends: more than it has credit for */

static const struct rapahub_container_id offered = {.pool = {3, 0}};

static int take(void *self, struct rapahub_source *from, uint64_t *count)
{
    unsigned char piece[100];
    ssize_t n;

    (void)self;
    for (*count = 0; (n = rapahub_source_read(from, piece, sizeof(piece))) > 0;)
        *count += (uint64_t)n;
    return (int)n;
}

static int take_two(void *self, struct rapahub_source *from, struct rapahub_source *other,
                    uint64_t *count)
{
    (void)other;
    return take(self, from, count);
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(take, take, u64, source),
    RAPAHUB_METHOD(take_two, take_two, u64, source, source),
    RAPAHUB_METHOD_END,
};

static int attack_with(struct stage *stage, const char *name)
{
    static unsigned char bytes[LENGTH];
    const struct rapahub_string word = rapahub_string_of(name);
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    const void *const arguments[] = {&word, &source, &sink, NULL};
    const struct rapahub_call call = {.target = hostile,
                                      .method = "attack_streams(string, source, sink) -> void",
                                      .arguments = arguments};
    int r;

    check_done(rapahub_source_of_memory(bytes, sizeof(bytes), &source));
    check_done(rapahub_sink_of_memory(LENGTH, &sink));
    r = rapahub_host_call(stage->host, &call, NULL);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    return r;
}

static void run_with(const struct trial *trial)
{
    const struct rapahub_container_options offer = {.id = offered, .pool_name = "take"};
    struct stage stage;

    if (getenv("TEST_LOG"))
        fprintf(stderr, "---- %s\n", trial->attack);
    open_stage(&stage, UINT64_MAX);
    check_done(rapahub_host_offer(stage.host, &offer, methods, NULL));
    stage.status = attack_with(&stage, trial->attack);
    call_meanwhile(&stage);
    if (trial->rule)
        check_rule(&stage, trial);
    else
        assert_int_equal(stage.violations, 0);
    close_stage(&stage);
}

static void run(const struct trial *trials)
{
    for (; trials->attack; trials++)
        run_with(trials);
}

/* r[verify flow.channel.credit-overrun] r[verify channeling.data-after-close]
 * r[verify channeling.holder-semantics] r[verify channeling.data.invalid]
 * r[verify message.decode-error] r[verify channeling.id.zero-reserved]
 * r[verify shm.flow.channel-table-indexing] r[verify channeling.unknown] r[verify hub.violation] */
static void messages_of_streams_that_cannot_be_are_a_violation(void **state)
{
    static const struct trial trials[] = {
        {"overrun", "flow.channel.credit-overrun", false},
        {"data_after_close", "channeling.data-after-close", false},
        {"data_the_wrong_way", "channeling.holder-semantics", false},
        {"close_the_wrong_way", "channeling.holder-semantics", false},
        {"element_too_short", "channeling.data.invalid", false},
        {"element_too_long", "channeling.data.invalid", false},
        {"element_without_end", "channeling.data.invalid", false},
        {"close_with_payload", "message.decode-error", false},
        {"reset_with_payload", "message.decode-error", false},
        {"reset_zero", "channeling.id.zero-reserved", false},
        {"data_far_beyond", "shm.flow.channel-table-indexing", false},
        {"data_other_parity", "channeling.unknown", false},
        {NULL, NULL, false}};

    (void)state;
    run(trials);
}

/* r[verify shm.flow.wrap-rule] */
static void credit_that_cannot_be_is_a_violation(void **state)
{
    static const struct trial trials[] = {{"grant_back", "shm.flow.wrap-rule", false},
                                          {"grant_far", "shm.flow.wrap-rule", false},
                                          {"grant_minus_one", "shm.flow.wrap-rule", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials);
}

/* r[verify shm.id.channel-parity] r[verify channeling.id.parity]
 * r[verify channeling.id.uniqueness] r[verify channeling.id.zero-reserved]
 * r[verify shm.flow.channel-table-indexing] */
static void names_a_guest_must_not_use_are_a_violation(void **state)
{
    static const struct trial trials[] = {
        {"name_zero", "channeling.id.zero-reserved", false},
        {"name_even", "shm.id.channel-parity", false},
        {"name_beyond", "shm.flow.channel-table-indexing", false},
        {"name_far_beyond", "shm.flow.channel-table-indexing", false},
        {"name_twice", "channeling.id.uniqueness", false},
        {NULL, NULL, false}};

    (void)state;
    run(trials);
}

/* r[verify hub.channel.bound] */
static void what_harms_only_the_guest_is_borne(void **state)
{
    static const struct trial trials[] = {{"empty_elements", NULL, false},
                                          {"ends_again_and_again", NULL, false},
                                          {"scribble", NULL, false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_streams_that_cannot_be_are_a_violation),
        cmocka_unit_test(credit_that_cannot_be_is_a_violation),
        cmocka_unit_test(names_a_guest_must_not_use_are_a_violation),
        cmocka_unit_test(what_harms_only_the_guest_is_borne),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    if (argc > 1) {
        run_with(&(struct trial){argv[1], argc > 2 ? argv[2] : NULL, false});
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
