/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cluster/base/entry.h"
#include "cluster/base/ids.h"
#include "tests/support/testing.h"

#define S1 UINT64_C(11) /* sessions of the nodes 1 to 3 */
#define S2 UINT64_C(12)

static bool has_owner(uint32_t state)
{
    return state != CLUSTER_ENTRY_NONE && state != CLUSTER_ENTRY_PASSIVE &&
           state != CLUSTER_ENTRY_QUARANTINED;
}

/* A sound entry in this state; of node 1 where it has an owner, moving to node 2 where it moves. */
static struct cluster_entry entry_in(uint32_t state, uint64_t epoch)
{
    bool moves = state == CLUSTER_ENTRY_MIGRATING, owned = has_owner(state);

    return (struct cluster_entry){.state = (uint8_t)state,
                                  .epoch = epoch,
                                  .lineage = cluster_ids_lineage(epoch < 3 ? epoch : 3, 0),
                                  .owner = owned ? 1 : 0,
                                  .session = owned ? S1 : 0,
                                  .destination = moves ? 2 : 0,
                                  .op = moves ? 77 : 0};
}

static const char *when(const struct cluster_entry *before, const struct cluster_entry *after)
{
    const struct cluster_entry_transition *found = cluster_entry_transition(before, after);

    return found ? found->when : "never";
}

/* Says whether some entry in the one state may become some entry in the other. */
static bool may(uint32_t from, uint32_t to)
{
    struct cluster_entry before = entry_in(from, 5), after = entry_in(to, 5);

    for (int i = 0; i < 6; i++) {
        after.epoch = 5 + (uint64_t)i % 2;
        if (has_owner(to) && to != CLUSTER_ENTRY_MIGRATING)
            after.owner = 1 + (uint32_t)i / 2;
        if (from == CLUSTER_ENTRY_NONE)
            after.epoch = 1, after.lineage = cluster_ids_lineage(1, 0);
        if (cluster_entry_transition(from ? &before : NULL, to ? &after : NULL))
            return true;
    }
    return false;
}

/* r[verify cluster.entry.transitions] */
static void the_states_follow_each_other_as_the_table_of_transitions_says(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < CLUSTER_ENTRY_STATES; from++)
        for (uint32_t to = 0; to < CLUSTER_ENTRY_STATES; to++)
            if (may(from, to) != hub_states_may(&cluster_entry_states, from, to))
                fail_msg("%s to %s: the tables differ",
                         hub_states_name(&cluster_entry_states, from),
                         hub_states_name(&cluster_entry_states, to));
    assert_string_equal(hub_states_name(&cluster_entry_states, CLUSTER_ENTRY_QUARANTINED),
                        "QUARANTINED");
}

/* r[verify cluster.entry.transitions] */
static void a_new_entry_begins_in_its_first_epoch(void **state)
{
    struct cluster_entry after = entry_in(CLUSTER_ENTRY_STARTING, 1);

    (void)state;
    assert_string_equal(when(NULL, &after), "it is created");
    after.epoch = 2;
    assert_string_equal(when(NULL, &after), "never");
    assert_null(cluster_entry_transition(NULL, NULL));
}

/* r[verify cluster.entry.transitions] */
static void only_the_owner_that_has_begun_it_makes_it_active(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_RECOVERING, 5),
                         after = entry_in(CLUSTER_ENTRY_ACTIVE, 5);

    (void)state;
    assert_string_equal(when(&before, &after), "its owner has begun it");
    after.owner = 2;
    assert_string_equal(when(&before, &after), "never");
    after.owner = 1;
    after.session = S2;
    assert_string_equal(when(&before, &after), "never");
    after.session = S1;
    after.epoch = 6;
    assert_string_equal(when(&before, &after), "never");
}

/* r[verify cluster.entry.transitions] */
static void a_move_ends_at_the_destination_or_where_it_began(void **state)
{
    struct cluster_entry active = entry_in(CLUSTER_ENTRY_ACTIVE, 5),
                         moving = entry_in(CLUSTER_ENTRY_MIGRATING, 5), after = active;

    (void)state;
    assert_string_equal(when(&active, &moving), "it is to move");
    assert_string_equal(when(&moving, &active), "it does not move");
    after.owner = 2;
    after.session = S2;
    after.epoch = 6;
    assert_string_equal(when(&moving, &after), "it has moved");
    after.owner = 3;
    assert_string_equal(when(&moving, &after), "never");
    after.owner = 2;
    after.epoch = 5;
    assert_string_equal(when(&moving, &after), "never");
    after = active;
    after.epoch = 6;
    assert_string_equal(when(&moving, &after), "never");
}

/* r[verify cluster.entry.transitions] */
static void who_begins_a_container_anew_raises_its_epoch_by_one(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_ACTIVE, 5),
                         restart = entry_in(CLUSTER_ENTRY_RESTARTING, 6),
                         recover = entry_in(CLUSTER_ENTRY_RECOVERING, 6);

    (void)state;
    restart.session = S2; /* the daemon has another one now */
    assert_string_equal(when(&before, &restart), "its owner's daemon has come back");
    restart.owner = 2;
    assert_string_equal(when(&before, &restart), "never");
    recover.owner = 3;
    assert_string_equal(when(&before, &recover), "its owner is fenced, or gave it up");
    for (uint64_t epoch = 4; epoch <= 7; epoch++) {
        recover.epoch = epoch;
        assert_int_equal(cluster_entry_transition(&before, &recover) != NULL, epoch == 6);
    }
}

/* r[verify cluster.entry.transitions] */
static void a_container_that_fails_goes_on_elsewhere_or_is_put_aside(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_STARTING, 5),
                         again = entry_in(CLUSTER_ENTRY_STARTING, 6),
                         aside = entry_in(CLUSTER_ENTRY_QUARANTINED, 6),
                         released = entry_in(CLUSTER_ENTRY_RECOVERING, 7);

    (void)state;
    assert_string_equal(when(&before, &again), "it failed to begin, or its owner is fenced");
    again.owner = 2;
    assert_string_equal(when(&before, &again), "it failed to begin, or its owner is fenced");
    assert_string_equal(when(&before, &aside), "it failed to begin too often");
    assert_string_equal(when(&aside, &released), "the operator has released it");
    released.epoch = 6;
    assert_string_equal(when(&aside, &released), "never");
}

/* r[verify cluster.entry.transitions] */
static void an_idle_container_has_no_owner_until_it_is_called(void **state)
{
    struct cluster_entry active = entry_in(CLUSTER_ENTRY_ACTIVE, 5),
                         passive = entry_in(CLUSTER_ENTRY_PASSIVE, 6),
                         called = entry_in(CLUSTER_ENTRY_STARTING, 7);

    (void)state;
    assert_string_equal(when(&active, &passive), "it was idle");
    assert_string_equal(when(&passive, &called), "it is called again");
    assert_string_equal(when(&passive, NULL), "its pool is removed");
    assert_string_equal(when(&active, NULL), "its pool is removed");
}

/* r[verify cluster.entry.lineage] */
static void a_lineage_stays_or_begins_with_the_new_epoch(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_ACTIVE, 5),
                         after = entry_in(CLUSTER_ENTRY_RECOVERING, 6), same = before;

    (void)state;
    assert_int_equal(before.lineage, cluster_ids_lineage(3, 0));
    assert_non_null(cluster_entry_transition(&before, &after));
    after.lineage = cluster_ids_lineage(6, 0);
    assert_non_null(cluster_entry_transition(&before, &after));
    after.lineage = cluster_ids_lineage(5, 0);
    assert_null(cluster_entry_transition(&before, &after));
    after.lineage = cluster_ids_lineage(6, 1);
    assert_null(cluster_entry_transition(&before, &after));
    same.lineage = cluster_ids_lineage(5, 0);
    assert_null(cluster_entry_transition(&before, &same));
}

/* r[verify cluster.entry.transitions] */
static void another_version_of_a_module_raises_no_epoch(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_ACTIVE, 5), after = before;

    (void)state;
    after.module = 1;
    assert_string_equal(when(&before, &after), "another version of its module has taken over");
    after.epoch = 6;
    assert_string_equal(when(&before, &after), "never");
}

/* r[verify cluster.entry.sound] */
static void an_entry_has_an_owner_where_its_state_has_one(void **state)
{
    (void)state;
    for (uint32_t in = 1; in < CLUSTER_ENTRY_STATES; in++) {
        struct cluster_entry entry = entry_in(in, 5);

        assert_true(cluster_entry_is_sound(&entry));
        entry.owner = entry.owner ? 0 : 1;
        assert_false(cluster_entry_is_sound(&entry));
        entry = entry_in(in, 5);
        entry.session = entry.session ? 0 : S1;
        assert_false(cluster_entry_is_sound(&entry));
        entry = entry_in(in, 5);
        entry.destination = entry.destination ? 0 : 3;
        assert_int_equal(cluster_entry_is_sound(&entry), entry.state == CLUSTER_ENTRY_QUARANTINED);
    }
}

/* r[verify cluster.entry.sound] */
static void numbers_that_no_entry_has_are_refused(void **state)
{
    struct cluster_entry sound = entry_in(CLUSTER_ENTRY_MIGRATING, 5), entry = sound;

    (void)state;
    entry.op = 0;
    assert_false(cluster_entry_is_sound(&entry));
    entry = sound;
    entry.destination = 1;
    assert_false(cluster_entry_is_sound(&entry));
    entry = sound;
    entry.epoch = 0;
    assert_false(cluster_entry_is_sound(&entry));
    entry.epoch = CLUSTER_EPOCH_MAX + 1;
    assert_false(cluster_entry_is_sound(&entry));
    entry.epoch = 2; /* its lineage began in epoch 3 */
    assert_false(cluster_entry_is_sound(&entry));
    entry = sound;
    entry.lineage = 7;
    assert_false(cluster_entry_is_sound(&entry));
    entry = sound;
    entry.session = UINT64_C(1) << 63 | 1;
    assert_false(cluster_entry_is_sound(&entry));
    entry = entry_in(CLUSTER_ENTRY_PASSIVE, CLUSTER_EPOCH_MAX);
    assert_true(cluster_entry_is_sound(&entry));
    entry.state = CLUSTER_ENTRY_NONE;
    assert_false(cluster_entry_is_sound(&entry));
    entry.state = CLUSTER_ENTRY_STATES;
    assert_false(cluster_entry_is_sound(&entry));
    entry.state = 255;
    assert_false(cluster_entry_is_sound(&entry));
}

static void what_is_put_aside_stays_where_it_was(void **state)
{
    struct cluster_entry entry = entry_in(CLUSTER_ENTRY_QUARANTINED, 5);

    (void)state;
    assert_int_equal(cluster_entry_holder(&entry), 0);
    entry.destination = 3;
    assert_int_equal(cluster_entry_holder(&entry), 3);
    entry = entry_in(CLUSTER_ENTRY_MIGRATING, 5);
    assert_int_equal(cluster_entry_holder(&entry), 1);
}

/* r[verify cluster.entry.sound] */
static void nothing_leads_from_or_to_an_entry_that_is_not_sound(void **state)
{
    struct cluster_entry before = entry_in(CLUSTER_ENTRY_ACTIVE, 5),
                         after = entry_in(CLUSTER_ENTRY_RECOVERING, 6);

    (void)state;
    after.session = 0;
    assert_null(cluster_entry_transition(&before, &after));
    after.session = S1;
    before.session = 0;
    assert_null(cluster_entry_transition(&before, &after));
    assert_null(cluster_entry_transition(&before, NULL));
}

static void an_entry_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(struct cluster_entry) <= 56); /* with its pool and container 72 of 96 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_states_follow_each_other_as_the_table_of_transitions_says),
        cmocka_unit_test(a_new_entry_begins_in_its_first_epoch),
        cmocka_unit_test(only_the_owner_that_has_begun_it_makes_it_active),
        cmocka_unit_test(a_move_ends_at_the_destination_or_where_it_began),
        cmocka_unit_test(who_begins_a_container_anew_raises_its_epoch_by_one),
        cmocka_unit_test(a_container_that_fails_goes_on_elsewhere_or_is_put_aside),
        cmocka_unit_test(an_idle_container_has_no_owner_until_it_is_called),
        cmocka_unit_test(a_lineage_stays_or_begins_with_the_new_epoch),
        cmocka_unit_test(another_version_of_a_module_raises_no_epoch),
        cmocka_unit_test(an_entry_has_an_owner_where_its_state_has_one),
        cmocka_unit_test(numbers_that_no_entry_has_are_refused),
        cmocka_unit_test(what_is_put_aside_stays_where_it_was),
        cmocka_unit_test(nothing_leads_from_or_to_an_entry_that_is_not_sound),
        cmocka_unit_test(an_entry_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
