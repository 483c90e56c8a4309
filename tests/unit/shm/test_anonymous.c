/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "tests/support/leak.h"
#include "tests/support/testing.h"

#define GUESTS 3

static const struct hub_limits limits = {.payload_max = 60,
                                         .credit_size = 1024,
                                         .guests_max = GUESTS,
                                         .ring_size = 4,
                                         .slot_size = 64,
                                         .slot_count = 3,
                                         .channels_max = 4};

struct visit {
    struct hub_segment *segment;
    struct hub_segment_view view;
    uint32_t peer;
};

static struct hub_peer_entry
    *overtaken; /* by one without a lock, as soon as the next lock is taken */

int __real_hub_lock_acquire_peer(int fd, uint32_t peer, pid_t pid);
int __wrap_hub_lock_acquire_peer(int fd, uint32_t peer, pid_t pid);
int __wrap_hub_lock_acquire_peer(int fd, uint32_t peer, pid_t pid)
{
    int r = __real_hub_lock_acquire_peer(fd, peer, pid);

    if (overtaken)
        assert_true(hub_claim(&overtaken->state, HUB_PEER_EMPTY, HUB_PEER_ATTACHED));
    overtaken = NULL;
    return r;
}

static int make_segment(void **state)
{
    struct hub_segment *segment = NULL;

    if (hub_segment_create(&limits, true, &segment) < 0)
        return -1;
    *state = segment;
    return 0;
}

static int drop_segment(void **state)
{
    struct hub_segment *segment = *state;

    hub_segment_release(&segment);
    return 0;
}

static int enter(const struct hub_segment *host, struct visit *visit)
{
    *visit = (struct visit){0};
    return hub_anonymous_enter(host->mapping.path, &visit->segment, &visit->view, &visit->peer);
}

static void attach(struct visit *visit)
{
    uint32_t epoch;

    assert_int_equal(hub_peer_table_attach(visit->view.entry, &epoch), 0);
}

static struct hub_peer_entry *entry_of(const struct hub_segment *segment, uint32_t peer)
{
    struct hub_segment_view view;

    hub_segment_view(segment, peer, &view);
    return view.entry;
}

static void assert_found(const struct hub_segment *host, uint32_t peer, enum hub_anonymous expected,
                         pid_t expected_pid)
{
    pid_t pid = 1;

    assert_int_equal(hub_anonymous_look(host, peer, &pid), expected);
    assert_int_equal(pid, expected_pid);
}

static void assert_refused(int r, int code, const char *rule)
{
    assert_int_equal(r, code);
    assert_int_equal(rapahub_last_error()->code, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* r[verify shm.guest.attach] r[verify hub.file.lock] */
static void a_guest_without_a_ticket_takes_the_first_empty_entry(void **state)
{
    const struct hub_segment *host = *state;
    uint32_t peer, epoch;
    struct visit one, two;

    assert_int_equal(hub_peer_table_reserve(host, &peer, &epoch), 0); /* a guest with a ticket */
    assert_int_equal(enter(host, &one), 0);
    assert_int_equal(enter(host, &two), 0);
    assert_int_equal(one.peer, 2);
    assert_int_equal(two.peer, 3);
    assert_int_equal(hub_load_relaxed(&one.view.entry->epoch), 1);
    assert_found(host, 2, HUB_ANONYMOUS_COMING, getpid());
    attach(&one);
    assert_int_equal(hub_load_relaxed(&entry_of(host, 2)->epoch), 1);
    assert_int_equal(hub_load_relaxed(&entry_of(host, 2)->state), HUB_PEER_ATTACHED);
    assert_found(host, 2, HUB_ANONYMOUS_HERE, getpid());
    hub_segment_release(&one.segment);
    hub_segment_release(&two.segment);
}

/* r[verify shm.guest.attach-failure] */
static void a_full_table_takes_no_guest(void **state)
{
    struct leak *leak = leak_begin();
    const struct hub_segment *host = *state;
    struct visit visits[GUESTS], more;

    for (int i = 0; i < GUESTS; i++)
        assert_int_equal(enter(host, &visits[i]), 0);
    assert_refused(enter(host, &more), RAPAHUB_EFULL, "shm.guest.attach-failure");
    assert_null(more.segment);
    for (int i = 0; i < GUESTS; i++)
        hub_segment_release(&visits[i].segment);
    leak_assert_none(leak);
}

static void a_host_that_takes_none_says_so(void **state)
{
    const struct hub_segment *host = *state;
    uint8_t before[128 + GUESTS * 64];
    struct visit visit;

    assert_int_equal(hub_lock_refuse_peers(host->mapping.fd), 0);
    memcpy(before, host->mapping.data, sizeof before);
    assert_refused(enter(host, &visit), RAPAHUB_EACCES, "hub.file.lock");
    assert_memory_equal(host->mapping.data, before, sizeof before);
}

/* r[verify shm.goodbye.host] */
static void a_host_that_leaves_takes_none(void **state)
{
    const struct hub_segment *host = *state;
    struct hub_segment_view view;
    struct visit visit;

    hub_segment_view(host, 1, &view);
    hub_publish(&view.header->host_goodbye, 1);
    assert_refused(enter(host, &visit), RAPAHUB_ECLOSED, "shm.goodbye.host");
}

/* An entry that does not fit is no reason to take the next: the segment is not valid.
 * r[verify hub.layout.validate] */
static void what_an_entry_says_is_checked_before_it_is_taken(void **state)
{
    const struct hub_segment *host = *state;
    struct visit visit;

    entry_of(host, 1)->ring_offset = UINT64_MAX - 63;
    assert_refused(enter(host, &visit), RAPAHUB_EFORMAT, "shm.segment.header");
    assert_int_equal(hub_load_relaxed(&entry_of(host, 1)->state), HUB_PEER_EMPTY);
    assert_found(host, 1, HUB_ANONYMOUS_NONE, 0);
}

/* r[verify hub.death.proof] r[verify shm.guest.attach] */
static void one_that_died_while_it_attached_is_proven_gone(void **state)
{
    struct hub_segment *host = *state;
    struct visit visit;

    assert_int_equal(enter(host, &visit), 0);
    hub_segment_release(&visit.segment);
    assert_found(host, 1, HUB_ANONYMOUS_GONE, 0);
    assert_int_equal(enter(host, &visit), 0); /* not into an entry that is not Empty yet */
    assert_int_equal(visit.peer, 2);
    hub_segment_release(&visit.segment);
}

/* r[verify hub.death.recycle] r[verify hub.death.proof] */
static void one_that_left_is_gone_though_its_process_lives(void **state)
{
    struct hub_segment *host = *state;
    struct hub_slots pool;
    struct visit visit;

    assert_int_equal(hub_slots_init_host(&pool, host), 0);
    for (uint32_t cycle = 1; cycle <= 10; cycle++) {
        assert_int_equal(enter(host, &visit), 0);
        assert_int_equal(visit.peer, 1);
        assert_int_equal(hub_load_relaxed(&visit.view.entry->epoch), cycle);
        attach(&visit);
        hub_peer_table_goodbye(visit.view.entry);
        assert_found(host, 1, HUB_ANONYMOUS_HERE, getpid());
        hub_segment_release(&visit.segment);
        assert_found(host, 1, HUB_ANONYMOUS_GONE, 0);
        hub_reclaim_reset(host, &pool, 1);
        assert_int_equal(hub_lock_drop_peer(host->mapping.fd, 1), 0);
        hub_reclaim_empty(host, 1);
        assert_found(host, 1, HUB_ANONYMOUS_NONE, 0);
    }
    hub_slots_fini(&pool);
}

/* Straight to Attached, like a guest that knows nothing of locks: its death cannot be proven.
 * r[verify hub.death.quarantine] */
static void one_without_a_lock_is_never_proven_gone(void **state)
{
    const struct hub_segment *host = *state;
    struct hub_peer_entry *entry = entry_of(host, 1);

    assert_true(hub_claim(&entry->state, HUB_PEER_EMPTY, HUB_PEER_ATTACHED));
    hub_add(&entry->epoch, 1);
    hub_publish(&entry->guest_wait, HUB_WAIT_PART);
    assert_found(host, 1, HUB_ANONYMOUS_UNLOCKED, 0);
    hub_peer_table_goodbye(entry);
    assert_found(host, 1, HUB_ANONYMOUS_UNLOCKED, 0);
    hub_publish(&entry->state, 77);
    assert_found(host, 1, HUB_ANONYMOUS_WRONG, 0);
}

/* Another that tries its entry has the range for a moment: that lock proves nothing of this one.
 * r[verify hub.death.quarantine] r[verify hub.file.lock] */
static void one_without_a_lock_is_not_taken_for_another_with_one(void **state)
{
    const struct hub_segment *host = *state;
    struct hub_peer_entry *entry = entry_of(host, 1);
    int other = open(host->mapping.path, O_RDWR | O_CLOEXEC);

    assert_true(other >= 0);
    assert_true(hub_claim(&entry->state, HUB_PEER_EMPTY, HUB_PEER_ATTACHED));
    hub_publish(&entry->guest_wait, HUB_WAIT_PART);
    assert_int_equal(hub_lock_acquire_peer(other, 1, getpid()), 0);
    assert_found(host, 1, HUB_ANONYMOUS_UNLOCKED, 0);
    hub_peer_table_goodbye(entry);
    assert_found(host, 1, HUB_ANONYMOUS_UNLOCKED, 0);
    close(other);
}

/* Another took the entry between the check and the lock. Its host may hand it on later, and the
 * next guest locks the range for itself. r[verify hub.file.lock] r[verify shm.guest.attach] */
static void a_range_that_was_of_no_use_is_given_back(void **state)
{
    const struct hub_segment *host = *state;
    int other = open(host->mapping.path, O_RDWR | O_CLOEXEC);
    struct visit visit;

    assert_true(other >= 0);
    overtaken = entry_of(host, 1);
    assert_int_equal(enter(host, &visit), 0);
    assert_int_equal(visit.peer, 2);
    assert_null(overtaken);
    assert_int_equal(hub_lock_acquire_peer(other, 1, getpid()), 0);
    assert_int_equal(hub_lock_acquire_peer(other, 2, getpid()), -EAGAIN); /* it keeps the range */
    close(other);
    hub_segment_release(&visit.segment);
}

static void one_whose_child_still_maps_the_segment_is_not_gone(void **state)
{
    const struct hub_segment *host = *state;
    struct visit visit;
    int copy;

    assert_int_equal(enter(host, &visit), 0);
    attach(&visit);
    copy = dup(visit.segment->mapping.fd); /* like a fork */
    hub_segment_release(&visit.segment);
    assert_found(host, 1, HUB_ANONYMOUS_HERE, getpid());
    close(copy);
    assert_found(host, 1, HUB_ANONYMOUS_GONE, 0);
}

#define WITH_SEGMENT(test) cmocka_unit_test_setup_teardown(test, make_segment, drop_segment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SEGMENT(a_guest_without_a_ticket_takes_the_first_empty_entry),
        WITH_SEGMENT(a_full_table_takes_no_guest),
        WITH_SEGMENT(a_host_that_takes_none_says_so),
        WITH_SEGMENT(a_host_that_leaves_takes_none),
        WITH_SEGMENT(what_an_entry_says_is_checked_before_it_is_taken),
        WITH_SEGMENT(one_that_died_while_it_attached_is_proven_gone),
        WITH_SEGMENT(one_that_left_is_gone_though_its_process_lives),
        WITH_SEGMENT(one_without_a_lock_is_never_proven_gone),
        WITH_SEGMENT(one_without_a_lock_is_not_taken_for_another_with_one),
        WITH_SEGMENT(a_range_that_was_of_no_use_is_given_back),
        WITH_SEGMENT(one_whose_child_still_maps_the_segment_is_not_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
