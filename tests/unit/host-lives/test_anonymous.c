/* SPDX-License-Identifier: Apache-2.0 */
/* The guest is this thread, which opens the segment's file a second time: its lock is another one
 * than the host's. */
#include "host/lives/anonymous.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/peer_table.h"
#include "tests/unit/host-lives/mortal.h"

struct visitor {
    struct hub_segment *segment;
    struct hub_segment_view view;
    uint32_t peer, epoch;
};

struct rig {
    struct host_observe *host;
    struct host_group *shared;
};

static struct rig open_rig(bool anonymous)
{
    struct rig rig = {.host = observe_new()};
    struct host_process *process = HOST_PROCESS(rig.host);
    const struct host_group_plan plan = {.number = 1, .shared = true, .anonymous = anonymous};

    rig.host->supervision.hooks = &mortal_hooks;
    host_events_init(&process->owner.events);
    host_futexes_init(&process->owner.futexes);
    hub_list_init(&rig.host->supervision.call.relays);
    process->options.limits = pair_limits();
    process->options.limits.guests_max = 2;
    assert_int_equal(host_group_create(&process->options.limits, &plan, &process->shared), 0);
    rig.shared = process->shared;
    return rig;
}

/* All lives whose guests have gone are found dead, and freed. */
static void close_rig(struct rig *rig)
{
    struct host_process *process = HOST_PROCESS(rig->host);

    HUB_LIST_EACH (&process->lives, link)
        host_death_look(HUB_LIST_ITEM(link, struct host_life, link));
    process->closing = true;
    host_death_sweep(rig->host);
    assert_true(hub_list_empty(&process->lives) && hub_list_empty(&process->ended));
    host_events_fini(&process->owner.events);
    host_futexes_close(&process->owner.futexes);
    host_group_release(&process->shared);
    rig->host->supervision.hooks = &stage_hooks;
    observe_free(rig->host);
}

static void come(const struct rig *rig, struct visitor *out)
{
    assert_int_equal(hub_anonymous_enter(rig->shared->segment->mapping.path, &out->segment,
                                         &out->view, &out->peer),
                     0);
}

static void attach(struct visitor *visitor)
{
    assert_int_equal(hub_peer_table_attach(visitor->view.entry, &visitor->epoch), 0);
}

static void go(struct visitor *visitor)
{
    hub_segment_release(&visitor->segment);
}

static struct host_life *life_of(const struct rig *rig)
{
    const struct hub_list *lives = &HOST_PROCESS(rig->host)->lives;

    return hub_list_empty(lives) ? NULL : HUB_LIST_ITEM(lives->next, struct host_life, link);
}

static void an_empty_segment_has_nobody_to_receive(void **state)
{
    struct rig rig = open_rig(true);

    (void)state;
    assert_false(host_anonymous_look(rig.host));
    assert_null(life_of(&rig));
    close_rig(&rig);
}

/* r[verify shm.host.poll-peers] r[verify shm.guest.attach] */
static void a_guest_that_has_attached_gets_a_life_and_a_record_of_its_own(void **state)
{
    struct rig rig = open_rig(true);
    struct visitor visitor;
    struct host_life *life;

    (void)state;
    come(&rig, &visitor);
    assert_true(host_anonymous_look(rig.host));
    assert_null(life_of(&rig)); /* it has reserved its entry only */
    attach(&visitor);
    assert_true(host_anonymous_look(rig.host));
    life = life_of(&rig);
    assert_non_null(life);
    assert_true(life->anonymous && life->segment.locked && life->segment.trusted);
    assert_int_equal(life->id.peer, visitor.peer);
    assert_int_equal(life->id.epoch, visitor.epoch);
    assert_int_equal(life->guest->state, HOST_GUEST_ATTACHED);
    assert_true(life->guest->anonymous && life->guest->child.node == HOST_TREE_NONE);
    assert_true(rig.shared->seats[visitor.peer].taken);
    assert_true(life->process.pidfd < 0);        /* this process is the host */
    assert_false(host_anonymous_look(rig.host)); /* once */
    go(&visitor);
    close_rig(&rig);
}

/* r[verify hub.file.lock] */
static void a_guest_whose_lock_is_free_is_proven_dead(void **state)
{
    struct rig rig = open_rig(true);
    struct visitor visitor;

    (void)state;
    come(&rig, &visitor);
    attach(&visitor);
    (void)host_anonymous_look(rig.host);
    host_death_look(life_of(&rig));
    assert_true(life_of(&rig)->death.proven_ns == 0);
    go(&visitor);
    host_death_look(life_of(&rig));
    assert_null(life_of(&rig)); /* among those that have ended */
    host_death_sweep(rig.host);
    assert_false(rig.shared->seats[1].taken);
    close_rig(&rig);
}

static void a_guest_that_goes_before_it_was_served_leaves_its_entry_free(void **state)
{
    struct rig rig = open_rig(true);
    struct visitor visitor;

    (void)state;
    come(&rig, &visitor);
    attach(&visitor);
    go(&visitor);
    assert_true(host_anonymous_look(rig.host));
    assert_null(life_of(&rig));
    assert_false(host_anonymous_look(rig.host));
    come(&rig, &visitor);
    assert_int_equal(visitor.peer, 1);
    go(&visitor);
    (void)host_anonymous_look(rig.host);
    close_rig(&rig);
}

static void a_host_that_ends_receives_nobody(void **state)
{
    struct rig rig = open_rig(true);
    struct visitor visitor;

    (void)state;
    come(&rig, &visitor);
    attach(&visitor);
    HOST_PROCESS(rig.host)->closing = true;
    assert_true(host_anonymous_look(rig.host));
    assert_null(life_of(&rig));
    go(&visitor);
    (void)host_anonymous_look(rig.host);
    close_rig(&rig);
}

/* r[verify shm.segment.peer-state] r[verify hub.death.quarantine] */
static void an_entry_in_a_state_that_no_guest_may_set_stays_out_of_use(void **state)
{
    struct hub_segment_view view;
    struct rig rig = open_rig(true);

    (void)state;
    hub_segment_view(rig.shared->segment, 1, &view);
    hub_publish(&view.entry->state, 77);
    assert_true(host_anonymous_look(rig.host));
    assert_true(rig.shared->seats[1].quarantined);
    assert_false(host_anonymous_look(rig.host));
    close_rig(&rig);
}

/* Its host starts all guests of this segment itself. r[verify shm.segment.peer-state] */
static void an_entry_that_was_taken_without_leave_stays_out_of_use(void **state)
{
    struct hub_segment_view view;
    struct rig rig = open_rig(false);

    (void)state;
    hub_segment_view(rig.shared->segment, 2, &view);
    assert_true(hub_peer_table_claim(view.entry));
    assert_true(host_anonymous_look(rig.host));
    assert_true(rig.shared->seats[2].quarantined);
    assert_null(life_of(&rig));
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_segment_has_nobody_to_receive),
        cmocka_unit_test(a_guest_that_has_attached_gets_a_life_and_a_record_of_its_own),
        cmocka_unit_test(a_guest_whose_lock_is_free_is_proven_dead),
        cmocka_unit_test(a_guest_that_goes_before_it_was_served_leaves_its_entry_free),
        cmocka_unit_test(a_host_that_ends_receives_nobody),
        cmocka_unit_test(an_entry_in_a_state_that_no_guest_may_set_stays_out_of_use),
        cmocka_unit_test(an_entry_that_was_taken_without_leave_stays_out_of_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
