/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/group.h"
#include "host/process/lease.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

static struct host_group *make(bool shared)
{
    const struct hub_limits limits = {.payload_max = 1020,
                                      .credit_size = 1024,
                                      .guests_max = 2,
                                      .ring_size = 8,
                                      .slot_size = 1024,
                                      .slot_count = 4,
                                      .channels_max = 4};
    const struct host_group_plan plan = {.number = 1, .shared = shared};
    struct host_group *group = NULL;

    assert_int_equal(host_group_create(&limits, &plan, &group), 0);
    return group;
}

static uint64_t word_in(const struct host_group *group)
{
    struct hub_segment_view view;

    hub_segment_view(group->segment, 1, &view);
    return hub_observe64(&view.header->lease);
}

/* r[verify hub.lease.word] */
static void all_segments_have_the_end_those_that_come_later_too(void **state)
{
    struct host_group *early = make(true), *late = make(false);
    struct host_lease lease;

    (void)state;
    host_lease_init(&lease);
    assert_false(host_lease_has_end(&lease));
    host_lease_join(&lease, early);
    assert_int_equal(word_in(early), 0);
    host_lease_set(&lease, 700);
    assert_true(host_lease_has_end(&lease));
    assert_int_equal(word_in(early), 700);
    host_lease_join(&lease, late);
    assert_int_equal(word_in(late), 700);
    host_lease_set(&lease, 600); /* an earlier end holds too */
    assert_int_equal(word_in(early), 600);
    assert_int_equal(word_in(late), 600);
    host_lease_leave(&lease, early);
    host_lease_leave(&lease, early);
    host_lease_set(&lease, HUB_NEVER);
    assert_int_equal(word_in(early), 600);
    assert_int_equal(word_in(late), 0);
    host_lease_leave(&lease, late);
    host_lease_fini(&lease);
    host_group_release(&early);
    host_group_release(&late);
}

/* The host goes by its own word, whatever a guest makes of that in its segment. */
static void a_guest_that_changes_the_word_deceives_itself(void **state)
{
    struct host_group *group = make(false);
    struct hub_segment_view view;
    struct host_lease lease;

    (void)state;
    host_lease_init(&lease);
    host_lease_join(&lease, group);
    host_lease_set(&lease, 700);
    hub_segment_view(group->segment, 1, &view);
    hub_publish64(&view.header->lease, 0);
    assert_true(host_lease_has_end(&lease));
    assert_int_equal(hub_observe64(&lease.word), 700);
    host_lease_set(&lease, 800);
    assert_int_equal(word_in(group), 800);
    host_lease_leave(&lease, group);
    host_lease_fini(&lease);
    host_group_release(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_segments_have_the_end_those_that_come_later_too),
        cmocka_unit_test(a_guest_that_changes_the_word_deceives_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
