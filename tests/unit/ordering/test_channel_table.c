/* SPDX-License-Identifier: Apache-2.0 */
/* A window of bytes that the receiver allows to be written again, and an entry that is used again.
 */
#include <string.h>

#include "hub/shm/channel_table.h"
#include "tests/unit/ordering/ordering.h"

#define WINDOW  2
#define WRITTEN 7

struct rig {
    struct hub_channel_entry entry;
    struct hub_a32 window[WINDOW]; /* stands for what is counted: written only on credit */
    struct hub_a32 sent;
};

static void begin(void *user)
{
    struct rig *rig = user;

    memset(rig, 0, sizeof *rig);
    hub_channel_table_open(&rig->entry, WINDOW);
    weak_data(rig->window, sizeof rig->window);
}

static void send_on_credit(void *user)
{
    struct rig *rig = user;
    uint32_t sent = 0;

    while (sent < WRITTEN && weak_goes_on())
        if (hub_channel_table_credit(hub_channel_table_granted(&rig->entry), sent) > 0) {
            hub_store_relaxed(&rig->window[sent % WINDOW], sent + 1);
            hub_publish(&rig->sent, ++sent);
        }
}

static void take_and_grant(void *user)
{
    struct rig *rig = user;
    uint32_t taken = 0;

    while (taken < WRITTEN && weak_goes_on())
        if (hub_observe(&rig->sent) != taken) {
            weak_expect(hub_load_relaxed(&rig->window[taken % WINDOW]) == taken + 1,
                        "another byte");
            hub_channel_table_grant(&rig->entry, ++taken + WINDOW);
        }
}

/* r[verify shm.flow.ordering.receiver] r[verify shm.flow.ordering.sender] */
static void what_is_granted_was_taken_before(void **state)
{
    const struct weak_plan plan = {.begin = begin, .threads = {send_on_credit, take_and_grant}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

/* ---- an entry that is used again ---- */

static void begin_closed(void *user)
{
    struct rig *rig = user;

    begin(user);
    hub_channel_table_close(&rig->entry);
    weak_data(&rig->entry.granted_total, sizeof rig->entry.granted_total);
}

static void look_and_free(void *user)
{
    struct rig *rig = user;

    weak_expect(hub_channel_table_granted(&rig->entry) == WINDOW, "the credit of the next channel");
    hub_channel_table_free(&rig->entry);
}

static void open_when_free(void *user)
{
    struct rig *rig = user;

    while (weak_goes_on() && !hub_channel_table_is_free(&rig->entry))
        continue;
    hub_channel_table_open(&rig->entry, 100);
}

/* r[verify shm.flow.channel-id-reuse] */
static void an_entry_is_opened_again_behind_the_last_look_at_it(void **state)
{
    const struct weak_plan plan = {.begin = begin_closed,
                                   .threads = {look_and_free, open_when_free}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

static void begin_free(void *user)
{
    struct rig *rig = user;

    memset(rig, 0, sizeof *rig);
    weak_data(&rig->entry.granted_total, sizeof rig->entry.granted_total);
}

static void open_it(void *user)
{
    hub_channel_table_open(&((struct rig *)user)->entry, 100);
}

static void see_it_active(void *user)
{
    struct rig *rig = user;

    while (weak_goes_on() && hub_observe(&rig->entry.state) != HUB_CHANNEL_ACTIVE)
        continue;
    weak_expect(hub_channel_table_granted(&rig->entry) == 100, "Active without its credit");
}

/* r[verify shm.flow.channel-activate] */
static void an_active_entry_has_its_credit(void **state)
{
    const struct weak_plan plan = {.begin = begin_free, .threads = {open_it, see_it_active}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

/* ---- Closed: all that was sent before is there ---- */

static void write_and_close(void *user)
{
    struct rig *rig = user;

    hub_store_relaxed(&rig->window[0], 5);
    hub_channel_table_close(&rig->entry);
}

static void see_it_closed(void *user)
{
    struct rig *rig = user;

    while (weak_goes_on() && hub_observe(&rig->entry.state) != HUB_CHANNEL_CLOSED)
        continue;
    weak_expect(hub_load_relaxed(&rig->window[0]) == 5, "Closed before the last byte");
}

static void what_was_sent_is_there_once_it_is_closed(void **state)
{
    const struct weak_plan plan = {.begin = begin, .threads = {write_and_close, see_it_closed}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_granted_was_taken_before),
        cmocka_unit_test(an_entry_is_opened_again_behind_the_last_look_at_it),
        cmocka_unit_test(an_active_entry_has_its_credit),
        cmocka_unit_test(what_was_sent_is_there_once_it_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
