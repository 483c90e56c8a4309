/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>

#include "guest-sdk/attach.h"
#include "tests/unit/guest-sdk/hosted.h"

static struct guest guest;

static int attach(struct hosted *hosted)
{
    memset(&guest, 0, sizeof guest);
    return guest_attach_open(&guest, hosted->count, hosted->arguments);
}

static void reserve(struct hosted *hosted)
{
    const struct hub_limits limits = hosted_limits();

    hosted_reserve(hosted, &limits);
}

/* The guest's end of the doorbell is the guest's as soon as it has read its ticket. */
static void detach(struct hosted *hosted)
{
    guest_attach_close(&guest);
    hosted->pair.guest.doorbell = -1;
    hosted_release(hosted);
}

/* r[verify shm.spawn.guest-init] */
static void a_ticket_makes_an_attached_link(void **state)
{
    struct hosted hosted;
    struct pollfd bell;

    (void)state;
    reserve(&hosted);
    assert_int_equal(attach(&hosted), 0);
    assert_int_equal(hub_observe(&hosted.pair.host.view.entry->state), HUB_PEER_ATTACHED);
    assert_int_equal(guest.attach.epoch, hosted.pair.epoch);
    bell = (struct pollfd){.fd = hosted.pair.host.doorbell, .events = POLLIN};
    assert_int_equal(poll(&bell, 1, 0), 1); /* so that a host that sleeps looks */
    assert_true(fcntl(guest.attach.ticket.doorbell, F_GETFD) & FD_CLOEXEC);
    assert_true(guest.next_chain != 0 && guest.next_chain >> 42 == 0); /* six bytes */
    detach(&hosted);
}

/* r[verify shm.spawn.args] */
static void without_a_ticket_nothing_is_touched(void **state)
{
    struct hosted hosted;

    (void)state;
    reserve(&hosted);
    hosted.count = 3; /* no doorbell */
    assert_int_equal(attach(&hosted), RAPAHUB_EFORMAT);
    assert_int_equal(guest.attach.ticket.peer, 0);
    assert_int_equal(hub_observe(&hosted.pair.host.view.entry->state), HUB_PEER_RESERVED);
    guest_attach_close(&guest);
    hosted_release(&hosted);
}

static void an_entry_that_is_not_reserved_is_not_ours(void **state)
{
    struct hosted hosted;

    (void)state;
    reserve(&hosted);
    hub_publish(&hosted.pair.host.view.entry->state, HUB_PEER_GOODBYE);
    assert_int_equal(attach(&hosted), RAPAHUB_ESTALE);
    assert_int_equal(hub_observe(&hosted.pair.host.view.entry->state), HUB_PEER_GOODBYE);
    detach(&hosted);
}

static void a_descriptor_that_is_no_doorbell_is_refused(void **state)
{
    struct hosted hosted;
    int other;

    (void)state;
    reserve(&hosted);
    other = open("/dev/null", O_RDWR | O_CLOEXEC);
    hosted_argue_number(&hosted, "--doorbell-fd=", other);
    assert_int_equal(attach(&hosted), -EINVAL);
    guest_attach_close(&guest); /* closes the descriptor it was given */
    hosted_release(&hosted);
}

/* Its death signal cannot come any more, and there is no other notice. */
static void a_host_that_is_gone_already_is_seen(void **state)
{
    struct hosted hosted;

    (void)state;
    reserve(&hosted);
    close(hosted.pair.host.doorbell);
    hosted.pair.host.doorbell = -1;
    assert_int_equal(attach(&hosted), RAPAHUB_EDIED);
    assert_int_equal(hub_observe(&hosted.pair.host.view.entry->state), HUB_PEER_RESERVED);
    detach(&hosted);
}

static void a_segment_that_is_none_is_refused(void **state)
{
    struct hosted hosted;

    (void)state;
    reserve(&hosted);
    hosted_argue(&hosted, "--hub-path=", "/nowhere/segment");
    assert_int_equal(attach(&hosted), -ENOENT);
    detach(&hosted);
}

/* Both in one process: the guest opens the file by itself, so its lock is its own.
 * r[verify shm.guest.attach] r[verify shm.doorbell.optional] */
static void a_path_alone_takes_an_empty_entry(void **state)
{
    struct hub_limits limits = hosted_limits();
    struct hosted hosted;

    (void)state;
    limits.guests_max = 2;
    hosted_reserve(&hosted, &limits);
    hosted.count = 2;
    assert_int_equal(attach(&hosted), 0);
    assert_int_equal(guest.attach.ticket.peer, 2);
    assert_int_equal(guest.attach.ticket.doorbell, -1);
    assert_int_equal(guest.attach.epoch, 1);
    assert_int_equal(hub_observe(&guest.attach.view.entry->state), HUB_PEER_ATTACHED);
    assert_int_equal(hub_load_relaxed(&guest.attach.view.entry->guest_wait) & 0xff,
                     HUB_WAIT_PART | HUB_WAIT_LOCKED);
    hub_link_leave(guest.attach.connection.link);
    close(hosted.pair.guest.doorbell);
    detach(&hosted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_makes_an_attached_link),
        cmocka_unit_test(without_a_ticket_nothing_is_touched),
        cmocka_unit_test(an_entry_that_is_not_reserved_is_not_ours),
        cmocka_unit_test(a_descriptor_that_is_no_doorbell_is_refused),
        cmocka_unit_test(a_host_that_is_gone_already_is_seen),
        cmocka_unit_test(a_segment_that_is_none_is_refused),
        cmocka_unit_test(a_path_alone_takes_an_empty_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
