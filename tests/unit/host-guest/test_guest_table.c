/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/life.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};

static struct host_guest *at(struct host_supervision *host, uint32_t place)
{
    return HOST_REGISTRY(host)->guests[place];
}

static int enter(struct host_guest *guest)
{
    uint32_t place = GUESTS_MAX;
    int r = host_guest_table_enter(guest, &place);

    if (r == 0)
        assert_ptr_equal(at(HOST_SUPERVISION(guest->host), place), guest);
    return r;
}

/* A host whose guests are all used. */
static struct host_supervision *full_host(void)
{
    struct host_supervision *host = stage_new();

    for (uint32_t i = 0; i < GUESTS_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "guest%u", i);
        stage_enter(host, name)->state = HOST_GUEST_READY;
    }
    return host;
}

static void guests_take_the_first_free_place(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *again = stage_guest(host, "again");

    (void)state;
    for (uint32_t i = 0; i < GUESTS_MAX; i++)
        assert_int_equal(at(host, i)->serial, i + 1);
    host_guest_table_forget(host, 1);
    assert_null(at(host, 1));
    assert_int_equal(enter(again), 0);
    assert_ptr_equal(at(host, 1), again);
    assert_int_equal(again->serial, GUESTS_MAX + 1); /* no serial is given twice */
    stage_free(host);
}

static void a_full_table_refuses_and_changes_nothing(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *another = stage_guest(host, "another");

    (void)state;
    assert_int_equal(enter(another), RAPAHUB_EFULL);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->text, "the host has 3 guests; it may have no more");
    assert_int_equal(another->serial, 0);
    assert_string_equal(at(host, 0)->name, "guest0");
    host_guest_record_release(&another);
    stage_free(host);
}

/* r[verify hub.admit.bound] */
static void neither_kind_of_guests_takes_the_places_of_the_other(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *admitted = stage_guest(host, "admitted");
    struct host_guest *another = stage_guest(host, "another");

    (void)state;
    admitted->admitted = another->admitted = true;
    HOST_REGISTRY(host)->admitted_max = 1;
    host_guest_table_forget(host, 0); /* a place for guests */
    assert_int_equal(enter(admitted), RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->text,
                        "the host has admitted 1 guests; it may admit no more");
    host_guest_table_forget(host, GUESTS_MAX - 1);
    assert_int_equal(enter(admitted), 0);
    assert_ptr_equal(at(host, GUESTS_MAX - 1), admitted);
    admitted->state = HOST_GUEST_READY;
    assert_int_equal(enter(another), RAPAHUB_EFULL);
    another->admitted = false;
    assert_int_equal(enter(another), 0);
    assert_ptr_equal(at(host, 0), another);
    stage_free(host);
}

static void the_guest_that_came_first_of_those_that_are_over_makes_room(void **state)
{
    struct host_supervision *host = full_host();

    (void)state;
    host_guest_table_forget(host, 0);
    stage_enter(host, "youngest")->state = HOST_GUEST_FAILED; /* in the first place */
    at(host, 1)->state = HOST_GUEST_CLOSED;
    at(host, 2)->state = HOST_GUEST_STOPPED;
    assert_int_equal(enter(stage_guest(host, "one")), 0);
    assert_string_equal(at(host, 1)->name, "one");
    at(host, 1)->state = HOST_GUEST_STARTING;
    assert_int_equal(enter(stage_guest(host, "two")), 0);
    assert_string_equal(at(host, 2)->name, "two");
    assert_string_equal(at(host, 0)->name, "youngest");
    stage_free(host);
}

static void one_that_somebody_waits_for_does_not_make_room(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *another = stage_guest(host, "another");

    (void)state;
    at(host, 1)->state = HOST_GUEST_STOPPED;
    at(host, 1)->pins = 1;
    assert_int_equal(enter(another), RAPAHUB_EFULL);
    at(host, 1)->pins = 0;
    assert_int_equal(enter(another), 0);
    assert_ptr_equal(at(host, 1), another);
    stage_free(host);
}

static void one_that_is_kept_makes_room_when_it_is_closed(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *another = stage_guest(host, "another"), *kept;

    (void)state;
    host_guest_table_forget(host, 1);
    kept = stage_add(host, HOST_SUPERVISION_ROOT, "kept", by_hand);
    kept->kept = true;
    assert_int_equal(kept->state, HOST_GUEST_STOPPED);
    assert_int_equal(enter(another), RAPAHUB_EFULL);
    host_supervision_end(kept);
    assert_int_equal(kept->state, HOST_GUEST_CLOSED);
    assert_int_equal(enter(another), 0);
    assert_ptr_equal(at(host, 1), another);
    stage_free(host);
}

static void one_with_a_process_or_that_will_have_one_is_used(void **state)
{
    static const bool used[] = {
        [HOST_GUEST_STOPPED] = false, [HOST_GUEST_STARTING] = true, [HOST_GUEST_ATTACHED] = true,
        [HOST_GUEST_READY] = true,    [HOST_GUEST_DEGRADED] = true, [HOST_GUEST_STOPPING] = true,
        [HOST_GUEST_EXITED] = true,   [HOST_GUEST_BACKOFF] = true,  [HOST_GUEST_FAILED] = false,
        [HOST_GUEST_CLOSED] = false};

    (void)state;
    for (uint32_t i = 0; i < sizeof used / sizeof *used; i++) {
        const struct host_guest guest = {.state = i};

        assert_int_equal(host_guest_table_is_used(&guest), used[i]);
    }
}

static void what_is_forgotten_is_known_to_nobody(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "guest", by_hand);
    struct host_guest *other = stage_enter(host, "other");
    struct host_life life = {.guest = guest}, of_other = {.guest = other};
    uint32_t child = guest->child.node;

    (void)state;
    stage_container(guest, 0);
    stage_container(guest, 1);
    stage_container(other, 2);
    hub_list_append(&host->call.process.ended, &life.link);
    hub_list_append(&host->call.process.ended, &of_other.link);
    host_guest_table_forget(host, 0);
    assert_null(at(host, 0));
    assert_null(life.guest);
    assert_ptr_equal(of_other.guest, other);
    assert_null(host->children[child]);
    assert_int_equal(host_machine_child(&host->machine, child)->state, HOST_CHILD_CLOSED);
    assert_int_equal(HOST_REGISTRY(host)->containers.count, 1);
    stage_free(host);
}

static void a_dropped_guest_is_forgotten_wherever_it_is(void **state)
{
    struct host_supervision *host = full_host();
    struct host_guest *stranger = stage_guest(host, "stranger");

    (void)state;
    host_guest_table_drop(at(host, 2));
    assert_true(at(host, 0) && at(host, 1) && !at(host, 2));
    host_guest_table_drop(stranger);
    assert_true(at(host, 0) && at(host, 1) && !at(host, 2));
    assert_string_equal(stranger->name, "stranger");
    host_guest_record_release(&stranger);
    stage_free(host);
}

static void ids_of_forgotten_containers_are_given_anew(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_enter(host, "guest"), *other = stage_enter(host, "other");
    struct host_container *container = stage_container(guest, 7);

    (void)state;
    hub_add(&container->users, 1);
    host_guest_table_forget_containers(guest);
    assert_true(hub_list_empty(&guest->containers));
    stage_container(other, 7);
    assert_int_equal(HOST_REGISTRY(host)->containers.count, 1);
    assert_int_equal(container->id.container, 7); /* it is there until it is not used */
    host_containers_drop(container);
    stage_free(host);
}

/* r[verify sec.name.own] */
static void each_guest_that_is_used_has_a_name_of_its_own(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *first = stage_enter(host, "calc"), *second, *third;

    (void)state;
    first->state = HOST_GUEST_READY;
    host_guest_table_name(first); /* nobody else has it */
    assert_string_equal(first->name, "calc");
    second = stage_enter(host, "calc");
    second->state = HOST_GUEST_READY;
    host_guest_table_name(second);
    assert_string_equal(second->name, "calc-2");
    third = stage_enter(host, "calc");
    host_guest_table_name(third);
    assert_string_equal(third->name, "calc-3");
    snprintf(third->name, sizeof third->name, "calc");
    second->state = HOST_GUEST_FAILED; /* its name is free, as is its place */
    host_guest_table_name(third);
    assert_string_equal(third->name, "calc-2");
    stage_free(host);
}

static void a_name_that_gets_a_number_still_has_room_for_it(void **state)
{
    char longest[HOST_OPTIONS_NAME_MAX + 1], expected[HOST_OPTIONS_NAME_MAX + 1];
    struct host_supervision *host = stage_new();
    struct host_guest *second;

    (void)state;
    memset(longest, 'x', HOST_OPTIONS_NAME_MAX);
    longest[HOST_OPTIONS_NAME_MAX] = '\0';
    snprintf(expected, sizeof expected, "%.59s-2", longest);
    stage_enter(host, longest)->state = HOST_GUEST_READY;
    second = stage_enter(host, longest);
    host_guest_table_name(second);
    assert_string_equal(second->name, expected);
    stage_free(host);
}

/* r[verify sec.name.own] */
static void a_name_that_a_guest_gave_itself_is_refused(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_enter(host, "calc");

    (void)state;
    guest->state = HOST_GUEST_READY;
    assert_int_equal(host_guest_table_check_name(host, "other"), 0);
    assert_int_equal(host_guest_table_check_name(host, "calc"), 0);
    guest->named = HOST_GUEST_NAMED_BY_ITSELF;
    assert_int_equal(host_guest_table_check_name(host, "calc"), RAPAHUB_EEXIST);
    assert_string_equal(rapahub_last_error()->rule, "sec.name.own");
    assert_int_equal(host_guest_table_check_name(host, "calc2"), 0);
    guest->named = HOST_GUEST_UNNAMED; /* called as its file, for good: it said no other name */
    assert_int_equal(host_guest_table_check_name(host, "calc"), RAPAHUB_EEXIST);
    guest->state = HOST_GUEST_DEGRADED;
    assert_int_equal(host_guest_table_check_name(host, "calc"), RAPAHUB_EEXIST);
    guest->state = HOST_GUEST_STARTING;
    assert_int_equal(host_guest_table_check_name(host, "calc"), 0);
    guest->named = HOST_GUEST_NAMED_BY_ITSELF;
    guest->state = HOST_GUEST_BACKOFF; /* it may come again */
    assert_int_equal(host_guest_table_check_name(host, "calc"), RAPAHUB_EEXIST);
    guest->state = HOST_GUEST_STOPPED;
    assert_int_equal(host_guest_table_check_name(host, "calc"), 0);
    stage_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guests_take_the_first_free_place),
        cmocka_unit_test(a_full_table_refuses_and_changes_nothing),
        cmocka_unit_test(neither_kind_of_guests_takes_the_places_of_the_other),
        cmocka_unit_test(the_guest_that_came_first_of_those_that_are_over_makes_room),
        cmocka_unit_test(one_that_somebody_waits_for_does_not_make_room),
        cmocka_unit_test(one_that_is_kept_makes_room_when_it_is_closed),
        cmocka_unit_test(one_with_a_process_or_that_will_have_one_is_used),
        cmocka_unit_test(what_is_forgotten_is_known_to_nobody),
        cmocka_unit_test(a_dropped_guest_is_forgotten_wherever_it_is),
        cmocka_unit_test(ids_of_forgotten_containers_are_given_anew),
        cmocka_unit_test(each_guest_that_is_used_has_a_name_of_its_own),
        cmocka_unit_test(a_name_that_gets_a_number_still_has_room_for_it),
        cmocka_unit_test(a_name_that_a_guest_gave_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
