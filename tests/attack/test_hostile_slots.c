/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile guest with slots of several sizes. In a private segment it ends when it pushes a
 * slot that it does not have; in a shared one no guest can be blamed for that, and none may be
 * harmed. */
#include "tests/attack/attack.h"

#define SMALL  256
#define ROUNDS 300
#define LARGER 900 /* bytes, for a slot of the larger class */

static const struct setting own = {.heartbeat_ns = UINT64_MAX, .slot_size = SMALL};
static const struct setting shared = {.heartbeat_ns = UINT64_MAX,
                                      .slot_size = SMALL,
                                      .guests_max = 2,
                                      .trust = RAPAHUB_TRUST_TRUSTED};

/* The neighbour's answer, in a slot of either class. */
static void echo_neighbour(struct stage *stage, int round)
{
    static uint8_t bytes[LARGER];
    const struct rapahub_bytes sent = {bytes, round % 2 ? LARGER : 100};
    const void *const arguments[] = {&sent, NULL};
    const struct rapahub_call call = {
        .target = honest, .method = "bytes(bytes) -> bytes", .arguments = arguments};
    struct rapahub_bytes same = {NULL, 0};

    memset(bytes, round, sizeof(bytes));
    check_done(rapahub_host_call(stage->host, &call, &same));
    assert_int_equal(same.size, sent.size);
    assert_memory_equal(same.data, bytes, sent.size);
}

static void run_with(const struct trial *trial, const struct setting *setting)
{
    struct stage stage;

    if (getenv("TEST_LOG"))
        fprintf(stderr, "---- %s\n", trial->attack);
    open_stage_with(&stage, setting);
    begin_attack(&stage, trial->attack);
    call_meanwhile(&stage);
    for (int i = 0; i < ROUNDS; i++)
        echo_neighbour(&stage, i);
    if (trial->rule)
        check_rule(&stage, trial);
    else
        assert_int_equal(stage.violations, 0);
    close_stage(&stage);
}

static void run(const struct trial *trials, const struct setting *setting)
{
    for (; trials->attack; trials++)
        run_with(trials, setting);
}

/* r[verify shm.payload.slot] r[verify shm.slot.payload-offset] r[verify shm.slot.generation]
 * r[verify shm.varslot.ownership] r[verify hub.slot.twice] r[verify shm.varslot.freeing] */
static void a_descriptor_that_points_elsewhere_is_a_violation(void **state)
{
    static const struct trial trials[] = {{"ref_no_class", "shm.payload.slot", false},
                                          {"ref_no_index", "shm.payload.slot", false},
                                          {"ref_no_extent", "shm.payload.slot", false},
                                          {"ref_beyond", "shm.slot.payload-offset", false},
                                          {"ref_wraps", "shm.slot.payload-offset", false},
                                          {"ref_generation", "shm.slot.generation", false},
                                          {"ref_foreign", "shm.varslot.ownership", false},
                                          {"ref_twice", "hub.slot.twice", false},
                                          {"ref_unsent", "shm.varslot.freeing", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, &own);
    run(trials, &shared);
}

/* r[verify shm.varslot.freeing] r[verify hub.loop.bound] */
static void who_pushes_what_it_does_not_have_ends(void **state)
{
    static const struct trial trials[] = {{"push_no_class", "shm.varslot.freeing", false},
                                          {"push_no_extent", "shm.varslot.freeing", false},
                                          {"push_other_class", "shm.varslot.freeing", false},
                                          {"push_foreign", "shm.varslot.freeing", false},
                                          {"push_circle", "shm.varslot.freeing", false},
                                          {"push_twice", "shm.varslot.freeing", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, &own);
}

/* r[verify shm.varslot.freeing] r[verify shm.varslot.ownership] r[verify hub.loop.bound] */
static void in_a_shared_segment_nobody_is_hurt_by_it(void **state)
{
    static const struct trial trials[] = {{"push_no_class", NULL, false},
                                          {"push_no_extent", NULL, false},
                                          {"push_other_class", NULL, false},
                                          {"push_foreign", NULL, false},
                                          {"push_circle", NULL, false},
                                          {"push_twice", NULL, false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, &shared);
}

/* The host looks at its death first, and finds in what it left, or found as it sent, that it broke
 * a rule. */
static void run_gone(const char *attack, const struct trial *trial)
{
    struct stage stage;

    open_stage_with(&stage, &own);
    begin_attack(&stage, attack);
    await_death(&stage);
    for (int i = 0; i < POKES; i++)
        poke(&stage);
    check_rule(&stage, trial);
    close_stage(&stage);
}

/* r[verify hub.violation] r[verify shm.varslot.freeing] */
static void who_is_gone_at_once_has_broken_the_rule_all_the_same(void **state)
{
    static const struct trial received = {"type_zero", "message.unknown-variant", false};
    static const struct trial sending = {"push_no_class", "shm.varslot.freeing", false};

    (void)state;
    run_gone("-type_zero", &received);
    run_gone("-push_no_class", &sending);
}

/* r[verify hub.var.single-popper] r[verify shm.varslot.freelist] r[verify shm.varslot.classes] */
static void what_harms_nobody_else_is_no_violation(void **state)
{
    static const struct trial trials[] = {{"own_stack_foreign", NULL, false},
                                          {"wants_all", NULL, false},
                                          {"classes_overwritten", NULL, false},
                                          {NULL, NULL, false}};
    static const struct trial alone[] = {{"heads_spoilt", NULL, false}, {NULL, NULL, false}};

    (void)state;
    run(trials, &own);
    run(alone, &own);
    run(trials, &shared);
}

/* Unwanted descriptors, none of which stays open. r[verify shm.varslot.extents] */
static void descriptors_that_come_by_the_doorbell_are_not_kept(void **state)
{
    static const struct trial trials[] = {{"descriptor_flood", NULL, false}, {NULL, NULL, false}};

    (void)state;
    run(trials, &own);
    run(trials, &shared);
}

/* Runs an attack by its name and prints the rule it breaks, for debugging. */
static int run_one(char **words, int count)
{
    const struct trial trial = {words[0], count > 2 ? words[2] : NULL, false};

    run_with(&trial, strcmp(words[1], "shared") == 0 ? &shared : &own);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_that_points_elsewhere_is_a_violation),
        cmocka_unit_test(who_pushes_what_it_does_not_have_ends),
        cmocka_unit_test(who_is_gone_at_once_has_broken_the_rule_all_the_same),
        cmocka_unit_test(in_a_shared_segment_nobody_is_hurt_by_it),
        cmocka_unit_test(what_harms_nobody_else_is_no_violation),
        cmocka_unit_test(descriptors_that_come_by_the_doorbell_are_not_kept),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    if (argc > 2)
        return run_one(argv + 1, argc - 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
