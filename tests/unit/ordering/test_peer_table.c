/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of an entry when its state says that it changes hands. */
#include <string.h>

#include "hub/shm/peer_table.h"
#include "tests/unit/ordering/ordering.h"

struct rig {
    struct hub_peer_entry entry;
    uint32_t epoch;
};

static void begin_as(struct rig *rig, uint32_t state)
{
    memset(rig, 0, sizeof *rig);
    rig->entry.state.word = state;
    rig->entry.epoch.word = rig->epoch = 1;
}

static void name_data(struct hub_a32 *word)
{
    weak_data(word, sizeof *word);
}

/* ---- Attached ---- */

static void begin_reserved(void *user)
{
    struct rig *rig = user;

    begin_as(rig, HUB_PEER_RESERVED);
    name_data(&rig->entry.guest_wait);
}

static void prepare_and_attach(void *user)
{
    struct rig *rig = user;
    uint32_t epoch;

    hub_store_relaxed(&rig->entry.guest_wait, HUB_WAIT_PART);
    weak_expect(hub_peer_table_attach(&rig->entry, &epoch) == 0 && epoch == 1, "not attached");
}

static void wait_for_state(struct rig *rig, uint32_t from, uint32_t to)
{
    uint32_t seen = from;

    while (seen != to && weak_goes_on())
        weak_expect(hub_peer_table_look(&rig->entry, rig->epoch, &seen) == 0, "a state is refused");
}

static void see_it_attached(void *user)
{
    struct rig *rig = user;

    wait_for_state(rig, HUB_PEER_RESERVED, HUB_PEER_ATTACHED);
    weak_expect(hub_load_relaxed(&rig->entry.guest_wait) == HUB_WAIT_PART,
                "attached before it was ready");
}

/* r[verify shm.spawn.guest-init] */
static void who_is_seen_attached_has_prepared_its_words(void **state)
{
    const struct weak_plan plan = {.begin = begin_reserved,
                                   .threads = {prepare_and_attach, see_it_attached}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

/* ---- Goodbye ---- */

static void begin_attached(void *user)
{
    struct rig *rig = user;

    begin_as(rig, HUB_PEER_ATTACHED);
    name_data(&rig->entry.guest_to_host_head);
}

static void send_and_leave(void *user)
{
    struct rig *rig = user;

    hub_store_relaxed(&rig->entry.guest_to_host_head, 9);
    hub_peer_table_goodbye(&rig->entry);
}

static void see_it_leave(void *user)
{
    struct rig *rig = user;

    wait_for_state(rig, HUB_PEER_ATTACHED, HUB_PEER_GOODBYE);
    weak_expect(hub_load_relaxed(&rig->entry.guest_to_host_head) == 9,
                "Goodbye before the last message");
}

/* r[verify shm.goodbye.guest] */
static void who_is_seen_leaving_has_sent_all(void **state)
{
    const struct weak_plan plan = {.begin = begin_attached,
                                   .threads = {send_and_leave, see_it_leave}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

/* ---- Empty ---- */

static void begin_to_clear(void *user)
{
    struct rig *rig = user;

    begin_as(rig, HUB_PEER_RESERVED);
    name_data(&rig->entry.guest_wait);
}

static void clear_and_leave_empty(void *user)
{
    hub_peer_table_unreserve(&((struct rig *)user)->entry);
}

static void claim_when_empty(void *user)
{
    struct rig *rig = user;

    while (weak_goes_on() && !hub_peer_table_claim(&rig->entry))
        continue;
    weak_expect(hub_load_relaxed(&rig->entry.guest_wait) == (HUB_WAIT_PART | HUB_WAIT_LOCKED),
                "cleared behind its next owner");
}

static void an_entry_is_clean_before_it_is_empty(void **state)
{
    const struct weak_plan plan = {.begin = begin_to_clear,
                                   .threads = {clear_and_leave_empty, claim_when_empty}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_seen_attached_has_prepared_its_words),
        cmocka_unit_test(who_is_seen_leaving_has_sent_all),
        cmocka_unit_test(an_entry_is_clean_before_it_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
