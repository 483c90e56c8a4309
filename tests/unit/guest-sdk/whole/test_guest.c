/* SPDX-License-Identifier: Apache-2.0 */
/* From the ticket to the exit status: guest.c, and what it holds together. */
#include "guest-sdk/current.h"
#include "tests/support/process.h"
#include "tests/unit/guest-sdk/whole/whole.h"

static int double_it(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = 2 * number;
    return 0;
}

static const struct rapahub_method own_methods[] = {
    RAPAHUB_METHOD(double_it, double_it, i64, i64),
    RAPAHUB_METHOD_END,
};
static const struct rapahub_chimod own_chimod = {
    .abi = RAPAHUB_CHIMOD_ABI, .name = "own", .version = "0", .methods = own_methods};

static void reserve(struct whole *whole)
{
    const struct hub_limits limits = hosted_limits();

    whole_reserve(whole, &limits);
    whole->chimod = &own_chimod;
}

static void open_own(struct whole *whole, const struct hub_limits *limits)
{
    whole_reserve(whole, limits);
    whole->chimod = &own_chimod;
    whole_start(whole);
    whole_await_ready(whole);
    assert_true(whole->ready);
}

/* ---- start ---- */

/* r[verify shm.spawn.ticket] r[verify shm.spawn.guest-init] */
static void a_guest_attaches_and_tells_what_its_module_is(void **state)
{
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(hub_observe(&whole_entry(&whole)->state), HUB_PEER_ATTACHED);
    assert_int_equal(hub_observe(&whole_entry(&whole)->epoch), whole.hosted.pair.epoch);
    assert_string_equal(whole.name, "good");
    assert_string_equal(whole.version, "1.2.3");
    assert_int_equal(whole.says.abi, RAPAHUB_CHIMOD_ABI);
    assert_int_equal(whole.says.state_version, 7);
    assert_true(whole.says.state_size > 0);
    assert_int_equal(whole.says.methods, 13);
    assert_true((whole.says.callbacks & 7) == 7);
    whole_close(&whole);
}

static void a_program_may_be_its_own_chimod(void **state)
{
    const struct hub_limits limits = hosted_limits();
    const int64_t number = 21;
    struct whole whole;
    int64_t result = 0;

    (void)state;
    open_own(&whole, &limits);
    assert_string_equal(whole.name, "own");
    assert_int_equal(whole.says.callbacks, 0);
    assert_int_equal(whole_begin_container(&whole, 1), 0);
    assert_int_equal(
        whole_run_method(&whole, 1, "double_it(i64) -> i64", WHOLE_ARGUMENTS(&number), &result), 0);
    assert_int_equal(result, 42);
    whole_close(&whole);
}

static void functions_of_a_plain_library_are_served(void **state)
{
    const uint64_t a = 48, b = 36;
    uint64_t result = 0;
    struct whole whole;

    (void)state;
    reserve(&whole);
    whole.chimod = NULL;
    whole_take_module(&whole, WHOLE_MODULE("plain"));
    hosted_argue(&whole.hosted, "--plain=", "plain_gcd(u64, u64) -> u64");
    hosted_argue(&whole.hosted, "--plain=", "plain_length(string) -> u64");
    whole_start(&whole);
    whole_await_ready(&whole);
    assert_string_equal(whole.name, "plain");
    assert_int_equal(whole.says.methods, 2);
    assert_int_equal(whole_begin_container(&whole, 1), 0);
    assert_int_equal(
        whole_run_method(&whole, 1, "plain_gcd(u64, u64) -> u64", WHOLE_ARGUMENTS(&a, &b), &result),
        0);
    assert_int_equal(result, 12);
    whole_close(&whole);
}

/* The standard input of a guest that has none. */
static void the_module_may_have_any_descriptor(void **state)
{
    int input = dup(0);
    struct whole whole;

    (void)state;
    reserve(&whole);
    whole.chimod = NULL;
    close(0);
    assert_int_equal(open(WHOLE_MODULE("good"), O_RDONLY | O_CLOEXEC), 0);
    hosted_argue(&whole.hosted, "--module-fd=", "0");
    hosted_argue(&whole.hosted, "--module-name=", "good.so");
    whole_start(&whole);
    whole_await_ready(&whole);
    assert_string_equal(whole.name, "good");
    whole_close(&whole);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

/* The module is the first argument that is no option, wherever it stands. */
static void a_module_that_is_not_there_is_found_before_the_segment(void **state)
{
    char *orders[][3] = {
        {(char[]){"guest"}, (char[]){"/nowhere/module.so"}, (char[]){"--hub-path=/nowhere/hub"}},
        {(char[]){"guest"}, (char[]){"--hub-path=/nowhere/hub"}, (char[]){"/nowhere/module.so"}}};
    char *none[] = {(char[]){"guest"}, (char[]){"--hub-path=/nowhere/hub"}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rapahub_guest_run(3, orders[i], NULL), 70);
        assert_non_null(strstr(rapahub_last_error()->text, "cannot open '/nowhere/module.so'"));
    }
    assert_int_equal(rapahub_guest_run(2, none, NULL), 64);
}

/* r[verify shm.spawn.args] */
static void a_bad_ticket_exits_with_64_and_touches_nothing(void **state)
{
    static const char *const bad[] = {"--peer-id=0", "--peer-id=256", "--peer-id=01",
                                      "--peer-id=x", "--hub-path=",   "--doorbell-fd=-1"};
    struct hub_mapping *mapping;
    struct whole whole;
    uint8_t *before;

    (void)state;
    reserve(&whole);
    mapping = &whole_host(&whole)->segment->mapping;
    before = malloc(mapping->size);
    assert_non_null(before);
    memcpy(before, mapping->data, mapping->size);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char last[32];

        snprintf(last, sizeof last, "%s", bad[i]);
        whole.hosted.arguments[whole.hosted.count] = last; /* the last one of a name wins */
        assert_int_equal(
            rapahub_guest_run(whole.hosted.count + 1, whole.hosted.arguments, &own_chimod),
            RAPAHUB_GUEST_USAGE);
        assert_memory_equal(mapping->data, before, mapping->size);
        assert_true(fcntl(whole.hosted.pair.guest.doorbell, F_GETFD) >= 0);
        assert_null(guest_current());
    }
    assert_int_equal(rapahub_guest_run(1, whole.hosted.arguments, &own_chimod),
                     RAPAHUB_GUEST_USAGE);
    free(before);
    whole_release(&whole);
}

static void assert_fails(struct whole *whole, int status)
{
    whole_start(whole);
    assert_int_equal(whole_await_end(whole), status);
    assert_false(whole->ready);
    whole_release(whole);
}

/* r[verify shm.spawn.guest-init] */
static void an_entry_that_is_not_reserved_exits_with_70(void **state)
{
    struct whole whole;

    (void)state;
    reserve(&whole);
    hub_peer_table_unreserve(whole_entry(&whole));
    assert_fails(&whole, RAPAHUB_GUEST_FAILED);
}

static void a_path_that_leads_nowhere_exits_with_70(void **state)
{
    struct whole whole;

    (void)state;
    reserve(&whole);
    hosted_argue(&whole.hosted, "--hub-path=", "/dev/shm/rapahub-none");
    assert_fails(&whole, RAPAHUB_GUEST_FAILED);
}

/* ---- a bad module ---- */

struct bad_module {
    const char *file, *goodbye;
};

static void assert_told(struct whole *whole, const char *reason)
{
    whole->chimod = NULL;
    whole_start(whole);
    assert_int_equal(whole_await_end(whole), RAPAHUB_GUEST_FAILED);
    assert_false(whole->ready);
    if (!strstr(whole_host(whole)->goodbye, reason))
        fail_msg("'%s' is not in '%s'", reason, whole_host(whole)->goodbye);
}

/* The host knows the code and the text from the goodbye alone. r[verify shm.goodbye.payload]
 * r[verify core.error.goodbye-reason] */
static void a_bad_module_exits_with_70_and_tells_the_host_why(void **state)
{
    static const struct bad_module bad[] = {
        {WHOLE_MODULE("later_abi"), "start: -4106 later_abi.so was built for abi"},
        {WHOLE_MODULE("no_symbol"), "start: -4167 no_symbol.so has no symbol rapahub_chimod"},
        {WHOLE_MODULE("bad_name"), "start: -4106 bad_name.so: its .name must be"},
        {WHOLE_MODULE("later_ops"), "start: -4106 later_ops.so has callbacks of"},
        {WHOLE_MODULE("large_state"), "start: -4106 large_state.so: its .state_size"},
        {WHOLE_MODULE("unresolved"), "start: -4167 unresolved.so: "},
        {TEST_DATA "/wire-vectors.json", "start: -4167 wire-vectors.json is no ELF file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct whole whole;

        reserve(&whole);
        whole_take_module(&whole, bad[i].file);
        assert_told(&whole, bad[i].goodbye);
        whole_release(&whole);
    }
}

static void a_ticket_without_a_module_exits_with_70(void **state)
{
    struct whole whole;

    (void)state;
    reserve(&whole);
    assert_told(&whole, "start: -4097 the ticket names no module");
    whole_release(&whole);
}

static void a_plain_function_that_is_not_there_is_told_too(void **state)
{
    struct whole whole;

    (void)state;
    reserve(&whole);
    whole_take_module(&whole, WHOLE_MODULE("plain"));
    hosted_argue(&whole.hosted, "--plain=", "plain_lcm(u64, u64) -> u64");
    assert_told(&whole, "start: -4167 plain.so has no symbol 'plain_lcm'");
    whole_release(&whole);
}

/* There is no module yet that could do it. */
static void a_request_before_a_failed_start_is_answered(void **state)
{
    const struct hub_begin begin = {.handle = 1};
    const struct whole_call call = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_BEGIN),
                                    .types = hub_lifecycle_table[HUB_LIFECYCLE_BEGIN].types,
                                    .arguments = WHOLE_ARGUMENTS(&begin)};
    struct whole_operation operation;
    struct whole whole;
    int r;

    (void)state;
    reserve(&whole);
    whole_take_module(&whole, WHOLE_MODULE("later_abi"));
    whole.chimod = NULL;
    whole_begin(&whole, &call, &operation);
    whole_start(&whole);
    r = whole_finish(&whole, &operation, NULL);
    assert_true(r == RAPAHUB_ENOMETHOD || r == RAPAHUB_ECLOSED);
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_FAILED);
    whole_release(&whole);
}

/* ---- the end ---- */

/* r[verify shm.goodbye.guest] r[verify shm.guest.detach] r[verify message.goodbye.receive] */
static void a_goodbye_of_the_host_exits_with_0(void **state)
{
    struct whole whole;

    (void)state;
    whole_open(&whole);
    hub_link_say_goodbye(whole_host(&whole)->connection.link, "", "stop");
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_DONE);
    assert_int_equal(hub_observe(&whole_entry(&whole)->state), HUB_PEER_GOODBYE);
    whole_release(&whole);
}

/* Without a message: the word in the header is enough. r[verify shm.goodbye.host]
 * r[verify shm.goodbye.host-atomic] */
static void a_host_that_leaves_its_segment_is_left_with_0(void **state)
{
    struct whole whole;

    (void)state;
    whole_open(&whole);
    hub_publish(&whole_host(&whole)->view.header->host_goodbye, 1);
    (void)hub_doorbell_ring(whole_host(&whole)->doorbell);
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_DONE);
    assert_int_equal(hub_observe(&whole_entry(&whole)->state), HUB_PEER_GOODBYE);
    whole_release(&whole);
}

/* Each Response is out before the guest leaves. r[verify shm.guest.detach]
 * r[verify hub.goodbye.drain] */
static void calls_before_the_goodbye_are_answered(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_i64, &rapahub_type_i64,
                                                       &rapahub_type_i64, NULL};
    const int64_t a = 1, b = 2;
    const struct whole_call call = {.method_id = hub_signature_hash("add(i64, i64) -> i64"),
                                    .container = 1,
                                    .types = types,
                                    .arguments = WHOLE_ARGUMENTS(&a, &b)};
    struct whole_operation operations[5];
    struct whole whole;

    (void)state;
    whole_open(&whole);
    for (int i = 0; i < 5; i++)
        whole_begin(&whole, &call, &operations[i]);
    hub_link_say_goodbye(whole_host(&whole)->connection.link, "", "stop");
    for (int i = 0; i < 5; i++) {
        int64_t sum = 0;

        assert_int_equal(whole_finish(&whole, &operations[i], &sum), 0);
        assert_int_equal(sum, 3);
    }
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_DONE);
    whole_release(&whole);
}

static void hang_up(struct whole *whole)
{
    close(whole_host(whole)->doorbell);
    whole_host(whole)->doorbell = -1;
}

/* Like whole_await_end, for a host that is gone: it cannot serve. */
static int await_orphan(struct whole *whole)
{
    pthread_join(whole->thread, NULL);
    return whole->status;
}

/* r[verify shm.doorbell.death] */
static void a_host_that_hangs_up_makes_an_orphan_that_exits_with_75(void **state)
{
    struct whole whole;

    (void)state;
    whole_open(&whole);
    hang_up(&whole);
    assert_int_equal(await_orphan(&whole), RAPAHUB_GUEST_ORPHAN);
    whole_release(&whole);
}

static void a_host_that_was_gone_before_the_start_makes_an_orphan(void **state)
{
    struct whole whole;

    (void)state;
    reserve(&whole);
    hang_up(&whole);
    whole_start(&whole);
    assert_int_equal(await_orphan(&whole), RAPAHUB_GUEST_ORPHAN);
    assert_int_equal(hub_observe(&whole_entry(&whole)->state), HUB_PEER_RESERVED);
    whole_release(&whole);
}

/* It was stopped, given up, and goes on. r[verify hub.death.guard] r[verify shm.crash.epoch] */
static void a_guest_whose_entry_was_taken_away_exits_with_75_and_writes_nothing(void **state)
{
    struct whole whole;
    uint32_t head;

    (void)state;
    whole_open(&whole);
    head = hub_observe(&whole_entry(&whole)->guest_to_host_head);
    hub_add(&whole_entry(&whole)->epoch, 1);
    (void)hub_doorbell_ring(whole_host(&whole)->doorbell);
    assert_int_equal(await_orphan(&whole), RAPAHUB_GUEST_ORPHAN);
    assert_int_equal(hub_observe(&whole_entry(&whole)->guest_to_host_head), head);
    assert_int_equal(hub_observe(&whole_entry(&whole)->state), HUB_PEER_ATTACHED);
    whole_release(&whole);
}

/* r[verify hub.violation] r[verify message.goodbye.send] */
static void a_host_that_breaks_a_rule_is_left_with_76_and_told_the_rule(void **state)
{
    const struct hub_message data = {HUB_DATA, 1, 0};
    const struct hub_parts parts = {.head = {"x", 1}};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(
        hub_link_send(whole_host(&whole)->connection.link, &data, &parts, hub_clock_after(SOON)),
        0);
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_PROTOCOL);
    assert_non_null(strstr(whole_host(&whole)->goodbye, "channeling.unknown"));
    whole_release(&whole);
}

/* ---- heartbeat ---- */

/* r[verify shm.crash.heartbeat] r[verify shm.crash.heartbeat-clock] */
static void a_guest_beats_where_its_host_can_see_it(void **state)
{
    uint64_t before = hub_clock_now(), deadline = hub_clock_after(SOON), beat = 0;
    struct hub_limits limits = hosted_limits();
    struct whole whole;

    (void)state;
    limits.heartbeat_ns = 10 * HUB_MILLISECOND;
    open_own(&whole, &limits);
    while (beat == 0 && hub_clock_left(deadline) != 0) {
        whole_turn(&whole);
        beat = hub_observe64(&whole_entry(&whole)->last_heartbeat);
    }
    assert_true(beat >= before && beat <= hub_clock_now());
    whole_close(&whole);
}

/* ---- the functions of chimod.h elsewhere ---- */

static void outside_of_a_guest_a_chimod_can_do_nothing(void **state)
{
    const struct rapahub_call call = {.method = "add"};

    (void)state;
    assert_null(guest_current());
    assert_int_equal(rapahub_chimod_call(&call, NULL), RAPAHUB_ESTATE);
    assert_null(rapahub_chimod_alloc(1));
    assert_false(rapahub_chimod_cancelled());
}

/* ---- the program ---- */

static void the_program_tells_its_version_and_wants_a_ticket(void **state)
{
    const char *const version[] = {PROCESS_LIBEXEC("rapahub/rapahub-guest"), "--version", NULL};
    const char *const bare[] = {PROCESS_LIBEXEC("rapahub/rapahub-guest"), NULL};
    struct process_result result;

    (void)state;
    if (!process_possible())
        skip();
    assert_int_equal(process_run_argv(version, &result), 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "rapahub-guest " RAPAHUB_VERSION "\n");
    process_result_fini(&result);
    assert_int_equal(process_run_argv(bare, &result), 0);
    assert_int_equal(result.status, RAPAHUB_GUEST_USAGE);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "RAPAHUB_EFORMAT: the argument --hub-path= is missing"));
    process_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_attaches_and_tells_what_its_module_is),
        cmocka_unit_test(a_program_may_be_its_own_chimod),
        cmocka_unit_test(functions_of_a_plain_library_are_served),
        cmocka_unit_test(the_module_may_have_any_descriptor),
        cmocka_unit_test(a_module_that_is_not_there_is_found_before_the_segment),
        cmocka_unit_test(a_bad_ticket_exits_with_64_and_touches_nothing),
        cmocka_unit_test(an_entry_that_is_not_reserved_exits_with_70),
        cmocka_unit_test(a_path_that_leads_nowhere_exits_with_70),
        cmocka_unit_test(a_bad_module_exits_with_70_and_tells_the_host_why),
        cmocka_unit_test(a_ticket_without_a_module_exits_with_70),
        cmocka_unit_test(a_plain_function_that_is_not_there_is_told_too),
        cmocka_unit_test(a_request_before_a_failed_start_is_answered),
        cmocka_unit_test(a_goodbye_of_the_host_exits_with_0),
        cmocka_unit_test(a_host_that_leaves_its_segment_is_left_with_0),
        cmocka_unit_test(calls_before_the_goodbye_are_answered),
        cmocka_unit_test(a_host_that_hangs_up_makes_an_orphan_that_exits_with_75),
        cmocka_unit_test(a_host_that_was_gone_before_the_start_makes_an_orphan),
        cmocka_unit_test(a_guest_whose_entry_was_taken_away_exits_with_75_and_writes_nothing),
        cmocka_unit_test(a_host_that_breaks_a_rule_is_left_with_76_and_told_the_rule),
        cmocka_unit_test(a_guest_beats_where_its_host_can_see_it),
        cmocka_unit_test(outside_of_a_guest_a_chimod_can_do_nothing),
        cmocka_unit_test(the_program_tells_its_version_and_wants_a_ticket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
