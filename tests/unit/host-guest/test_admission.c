/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/supervise.h>

#include "host/guest/admission.h"
#include "tests/unit/host-guest/module_file.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_container_options container = {.id = {{1, 2}, 3}, .pool_name = "pool"};

struct rig {
    struct host_supervision *host;
    struct module_file file;
    struct rapahub_supervision how;
    struct rapahub_guest_options options;
    struct host_guest *started;
};

static struct rig *present;

static void on_start(struct host_guest *guest)
{
    present->started = guest;
}

static struct rig *open_rig(void)
{
    static struct host_supervision_hooks hooks;
    struct rig *rig = test_calloc(1, sizeof *rig);

    present = rig;
    module_file_make(&rig->file, "calc.so");
    rig->host = stage_new();
    hooks = stage_hooks;
    hooks.decisions.start = on_start;
    rig->host->hooks = &hooks;
    rig->how = (struct rapahub_supervision){.restarts_max = 5};
    rig->options = (struct rapahub_guest_options){
        .chimod = rig->file.path, .name = "calc", .supervision = &rig->how};
    return rig;
}

static void close_rig(struct rig *rig)
{
    stage_free(rig->host);
    module_file_remove(&rig->file);
    test_free(rig);
}

static int admit(struct rig *rig, bool trial, struct host_guest **out)
{
    const struct host_admission_plan plan = {
        .options = &rig->options, .supervisor = HOST_SUPERVISION_ROOT, .trial = trial};

    *out = NULL;
    return host_admission(rig->host, &plan, out);
}

static uint32_t guests_of(const struct rig *rig)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < GUESTS_MAX; i++)
        count += HOST_REGISTRY(rig->host)->guests[i] != NULL;
    return count;
}

static uint32_t children_of(const struct rig *rig)
{
    uint32_t count = 0;

    HOST_TREE_EACH_CHILD(&rig->host->machine.tree, HOST_SUPERVISION_ROOT, i)
    count++;
    return count;
}

static void an_admitted_guest_is_in_the_table_and_in_the_tree_and_starts(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *guest;

    (void)state;
    rig->options.container = &container;
    assert_int_equal(admit(rig, false, &guest), 0);
    assert_int_equal(guests_of(rig), 1);
    assert_string_equal(stage_child(guest)->name, "calc");
    assert_ptr_equal(rig->started, guest);
    assert_int_equal(guest->pins, 0);
    assert_ptr_equal(
        host_containers_find(&HOST_REGISTRY(rig->host)->containers, container.id)->guest, guest);
    close_rig(rig);
}

/* r[verify sec.name.own] */
static void a_name_that_another_guest_bears_is_refused(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *guest;

    (void)state;
    rig->options.name = NULL;
    assert_int_equal(admit(rig, false, &guest), 0);
    stage_serve(guest);
    rig->options.name = "calc";
    assert_int_equal(admit(rig, false, &guest), -EEXIST);
    assert_null(guest);
    assert_int_equal(guests_of(rig), 1);
    close_rig(rig);
}

static void a_guest_for_which_there_is_no_place_leaves_no_trace(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *guest;

    (void)state;
    rig->options.name = NULL;
    for (int i = 0; i < GUESTS_MAX; i++)
        assert_int_equal(admit(rig, false, &guest), 0);
    assert_int_equal(admit(rig, false, &guest), RAPAHUB_EFULL);
    assert_null(guest);
    assert_int_equal(children_of(rig), GUESTS_MAX);
    close_rig(rig);
}

/* r[verify supervise.container] */
static void a_guest_whose_container_cannot_be_kept_leaves_no_trace(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *guest;

    (void)state;
    rig->options.name = NULL;
    rig->options.container = &container;
    assert_int_equal(admit(rig, false, &guest), 0);
    rig->started = NULL;
    assert_int_equal(admit(rig, false, &guest), -EEXIST);
    assert_null(guest);
    assert_null(rig->started);
    assert_int_equal(guests_of(rig), 1);
    assert_int_equal(children_of(rig), 1);
    close_rig(rig);
}

static void a_guest_that_no_supervisor_takes_leaves_no_trace(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *guest;

    (void)state;
    rig->options.container = &container;
    rig->how.backoff_factor = 0.5;
    assert_int_equal(admit(rig, false, &guest), RAPAHUB_EINVAL);
    assert_int_equal(guests_of(rig) + children_of(rig), 0);
    assert_null(host_containers_find(&HOST_REGISTRY(rig->host)->containers, container.id));
    close_rig(rig);
}

/* ---- a caller that waits ---- */

struct spawned {
    struct host_admission_spawn spawn;
    struct rapahub_guest_id id;
};

static void begin(struct rig *rig, struct spawned *out)
{
    *out = (struct spawned){.spawn = {.options = &rig->options, .out = &out->id}};
    assert_int_equal(host_admission_spawn_task.begin(HOST_OWNER(rig->host), &out->spawn), 0);
    assert_int_equal(out->spawn.guest->pins, 1);
    assert_false(host_admission_spawn_task.is_over(&out->spawn));
}

static int end(struct rig *rig, struct spawned *spawned)
{
    assert_true(host_admission_spawn_task.is_over(&spawned->spawn));
    return host_admission_spawn_task.end(HOST_OWNER(rig->host), &spawned->spawn);
}

static void the_caller_gets_the_id_of_a_guest_that_serves(void **state)
{
    struct rig *rig = open_rig();
    struct spawned spawned;

    (void)state;
    begin(rig, &spawned);
    spawned.spawn.guest->id = (struct rapahub_guest_id){.group = 1, .peer = 2, .epoch = 3};
    stage_serve(spawned.spawn.guest);
    spawned.spawn.guest->child.initial = false;
    assert_int_equal(end(rig, &spawned), 0);
    assert_int_equal(spawned.id.peer, 2);
    assert_int_equal(spawned.spawn.guest->pins, 0);
    assert_false(host_loop_is_set(&spawned.spawn.due));
    assert_int_equal(guests_of(rig), 1);
    close_rig(rig);
}

static void a_guest_whose_first_life_does_not_serve_is_removed_with_its_reason(void **state)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};
    struct rig *rig = open_rig();
    struct spawned spawned;

    (void)state;
    begin(rig, &spawned);
    rapahub_fail(RAPAHUB_ELOAD, "", "no such symbol");
    host_verdict_take(&spawned.spawn.guest->failure.verdict, RAPAHUB_ELOAD);
    host_supervision_exited(spawned.spawn.guest, &ending);
    rapahub_fail(RAPAHUB_EIO, "", "something else");
    assert_int_equal(end(rig, &spawned), RAPAHUB_ELOAD);
    assert_string_equal(rapahub_last_error()->text, "no such symbol");
    assert_int_equal(guests_of(rig), 0);
    close_rig(rig);
}

static void a_guest_that_another_caller_waits_for_is_removed_by_the_last(void **state)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};
    struct rig *rig = open_rig();
    struct spawned spawned;

    (void)state;
    begin(rig, &spawned);
    spawned.spawn.guest->pins++;
    rapahub_fail(RAPAHUB_ELOAD, "", "no such symbol");
    host_verdict_take(&spawned.spawn.guest->failure.verdict, RAPAHUB_ELOAD);
    host_supervision_exited(spawned.spawn.guest, &ending);
    assert_int_equal(end(rig, &spawned), RAPAHUB_ELOAD);
    assert_int_equal(guests_of(rig), 1);
    assert_int_equal(spawned.spawn.guest->pins, 1);
    spawned.spawn.guest->pins--;
    close_rig(rig);
}

static void a_guest_that_waits_for_its_turn_to_start_is_waited_for_so_long_only(void **state)
{
    const struct rapahub_dependency needs[] = {{.on = "other", .kind = RAPAHUB_REQUIRES}, {0}};
    const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};
    struct rig *rig = open_rig();
    struct spawned spawned;

    (void)state;
    stage_add(rig->host, HOST_SUPERVISION_ROOT, "other", by_hand);
    rig->how.dependencies = needs;
    begin(rig, &spawned);
    spawned.spawn.due.due_ns = hub_clock_now(); /* its time is over */
    assert_int_equal(end(rig, &spawned), RAPAHUB_ETIMEDOUT);
    assert_int_equal(guests_of(rig), 1);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_admitted_guest_is_in_the_table_and_in_the_tree_and_starts),
        cmocka_unit_test(a_name_that_another_guest_bears_is_refused),
        cmocka_unit_test(a_guest_for_which_there_is_no_place_leaves_no_trace),
        cmocka_unit_test(a_guest_whose_container_cannot_be_kept_leaves_no_trace),
        cmocka_unit_test(a_guest_that_no_supervisor_takes_leaves_no_trace),
        cmocka_unit_test(the_caller_gets_the_id_of_a_guest_that_serves),
        cmocka_unit_test(a_guest_whose_first_life_does_not_serve_is_removed_with_its_reason),
        cmocka_unit_test(a_guest_that_another_caller_waits_for_is_removed_by_the_last),
        cmocka_unit_test(a_guest_that_waits_for_its_turn_to_start_is_waited_for_so_long_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
