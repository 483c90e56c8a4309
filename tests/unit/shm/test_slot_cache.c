/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>

#include "hub/base/clock.h"
#include "tests/unit/shm/class_rig.h"

#define ROUNDS 20000

/* r[verify shm.varslot.allocation] r[verify shm.varslot.freelist] */
static void a_guest_has_its_grants_and_says_when_they_are_gone(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_slot_cache *cache = &rig->caches[0];
    struct hub_peer_class *block = hub_slot_class_peer(&cache->map, 1, 2);
    struct hub_descriptor d = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(cache_loan(cache, 4096, &d), 0);
        assert_int_equal(d.payload_generation, 1);
        assert_int_equal(hub_load_relaxed(&meta_of(rig, d.payload_slot)->state),
                         HUB_META_ALLOCATED);
    }
    assert_int_equal(hub_load_relaxed(&block->wanted), 0);
    assert_false(hub_slot_cache_ready(cache, 4096));
    assert_int_equal(cache_loan(cache, 4096, &d), -EAGAIN);
    assert_int_equal(hub_load_relaxed(&block->wanted), 1);
    assert_true(hub_slot_ref_tag(hub_load_relaxed64(&block->free_head)) >= 5);
    assert_int_equal(hub_slot_ref_first(hub_load_relaxed64(&block->free_head)), HUB_SLOT_REF_NONE);
    class_rig_end(rig);
}

static void a_dropped_loan_is_lent_first(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor first = {0}, again = {0};

    (void)state;
    assert_int_equal(cache_loan(&rig->caches[0], 64, &first), 0);
    hub_slot_cache_drop(&rig->caches[0], first.payload_slot);
    assert_int_equal(hub_load_relaxed(&meta_of(rig, first.payload_slot)->state), HUB_META_FREE);
    assert_int_equal(cache_loan(&rig->caches[0], 64, &again), 0);
    assert_int_equal(first.payload_slot, again.payload_slot);
    assert_int_equal(again.payload_generation, 2);
    class_rig_end(rig);
}

/* r[verify hub.var.single-popper] */
static void a_stack_that_holds_what_cannot_be_there_is_a_violation(void **state)
{
    static const uint32_t heads[] = {0x00000018, 0x01000000, 0x00400018, 0x77777777};

    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct class_rig *rig = class_rig_begin(1, false);
        struct hub_descriptor d = {0};

        hub_store_relaxed64(&hub_slot_class_peer(&rig->allocator.map, 1, 0)->free_head,
                            hub_slot_ref_head(heads[i], 1));
        assert_broken(cache_loan(&rig->caches[0], 64, &d), "shm.varslot.freelist");
        class_rig_end(rig);
    }
}

/* r[verify hub.var.single-popper] */
static void a_circle_among_the_free_slots_is_found_at_its_second_round(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, 0);
    uint32_t first = hub_slot_ref_first(hub_load_relaxed64(&block->free_head));
    struct hub_descriptor d = {0};

    (void)state;
    hub_store_relaxed(&meta_of(rig, first)->next_free, first);
    assert_broken(cache_loan(&rig->caches[0], 64, &d), "shm.varslot.freelist");
    class_rig_end(rig);
}

static void a_circle_is_counted_as_often_as_there_may_be_slots(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_slot_cache *cache = &rig->caches[0];
    struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, 0);
    uint32_t first = hub_slot_ref_first(hub_load_relaxed64(&block->free_head)), others;

    (void)state;
    hub_store_relaxed64(&block->free_head, hub_slot_ref_head(HUB_SLOT_REF_NONE, 1));
    others = hub_slot_cache_free_count(cache);
    hub_store_relaxed64(&block->free_head, hub_slot_ref_head(first, 2));
    hub_store_relaxed(&meta_of(rig, first)->next_free, first);
    assert_int_equal(hub_slot_cache_free_count(cache) - others,
                     cache->map.of[0].per_extent * HUB_EXTENTS_MAX);
    class_rig_end(rig);
}

/* The same as in a slot allocator. r[verify hub.slot.twice] */
static void what_waits_to_be_pushed_back_is_held_until_it_is(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_slot_cache *cache = &rig->caches[0];
    struct hub_descriptor d = host_sends(rig, 1, 64, 4);
    struct hub_a64 *head = &cache->map.of[d.payload_slot >> 24].header->free_head;

    (void)state;
    assert_int_equal(hub_slot_cache_accept(cache, &d, NULL), 0);
    class_rig_spoils = true;
    assert_int_equal(hub_slot_cache_free(cache, d.payload_slot), 0);
    class_rig_spoils = false;
    assert_int_equal(cache->deferred, d.payload_slot);
    hub_store_relaxed(&meta_of(rig, d.payload_slot)->state, HUB_META_IN_FLIGHT);
    hub_store_relaxed(&meta_of(rig, d.payload_slot)->generation, ++d.payload_generation);
    assert_broken(hub_slot_cache_accept(cache, &d, NULL), "hub.slot.twice");
    hub_slot_cache_rest(cache);
    assert_int_equal(cache->deferred, HUB_SLOT_REF_NONE);
    assert_int_equal(hub_slot_ref_first(hub_load_relaxed64(head)), d.payload_slot);
    class_rig_end(rig);
}

/* r[verify shm.varslot.ownership] r[verify hub.slot.twice] r[verify shm.varslot.freeing] */
static void a_guest_accepts_only_what_is_the_hosts_and_once(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_slot_cache *cache = &rig->caches[0];
    struct hub_descriptor own = guest_sends(rig, 1, 64, 3), d = host_sends(rig, 1, 64, 4);
    uint8_t got[64];

    (void)state;
    assert_broken(hub_slot_cache_accept(cache, &own, NULL), "shm.varslot.ownership");
    assert_int_equal(hub_slot_cache_accept(cache, &d, got), 0);
    assert_int_equal(got[63], 4);
    assert_broken(hub_slot_cache_accept(cache, &d, got), "hub.slot.twice");
    hub_store_relaxed(&meta_of(rig, d.payload_slot)->state, HUB_META_FREE);
    assert_broken(hub_slot_cache_free(cache, d.payload_slot), "shm.varslot.freeing");
    class_rig_end(rig);
}

/* r[verify shm.varslot.shared] */
static void what_is_above_the_first_share_goes_back_before_a_sleep_and_only_once(void **state)
{
    struct class_rig *rig = class_rig_begin(2, true);
    struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, 0);
    uint32_t share = hub_load_relaxed(&block->granted), more;

    (void)state;
    hub_store_relaxed(&block->wanted, 1);
    more = hub_slot_grants_attend(&rig->allocator, 1);
    assert_true(more > 0);
    assert_int_equal(hub_load_relaxed(&block->granted), share + more);
    hub_slot_cache_rest(&rig->caches[0]);
    hub_slot_cache_rest(&rig->caches[0]);
    (void)allocator_free(&rig->allocator);
    assert_int_equal(hub_load_relaxed(&block->granted), share);
    hub_slot_cache_rest(&rig->caches[0]);
    (void)allocator_free(&rig->allocator);
    assert_int_equal(hub_load_relaxed(&block->granted), share);
    class_rig_end(rig);
}

/* Both ends as threads: a queue of one message each way, passed by a word. */
struct passing {
    struct hub_a32 full; /* 1: `descriptor` is the receiver's */
    struct hub_descriptor descriptor;
};

struct ends {
    struct class_rig *rig;
    struct passing to_host, to_guest;
    uint64_t deadline;
};

static bool hand_over(struct ends *ends, struct passing *passing, bool full)
{
    while (hub_observe(&passing->full) != full)
        if (hub_clock_left(ends->deadline) == 0)
            return false;
        else
            sched_yield();
    return true;
}

/* Why an end gave up; the other one stops at its deadline. */
static void *fault(struct ends *ends, const char *what)
{
    print_error("%s: %s\n", what, rapahub_last_error()->text);
    return ends;
}

static void *guest_end(void *user)
{
    struct ends *ends = user;
    struct hub_slot_cache *cache = &ends->rig->caches[0];
    uint8_t got[4096];

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (!hand_over(ends, &ends->to_host, false))
            return fault(ends, "the host does not take it");
        ends->to_host.descriptor = guest_sends(ends->rig, 1, 64 + i % 4000, (uint8_t)i);
        hub_publish(&ends->to_host.full, 1);
        if (!hand_over(ends, &ends->to_guest, true))
            return fault(ends, "the host does not send");
        if (hub_slot_cache_accept(cache, &ends->to_guest.descriptor, got) < 0 ||
            got[ends->to_guest.descriptor.payload_len - 1] != (uint8_t)i ||
            hub_slot_cache_free(cache, ends->to_guest.descriptor.payload_slot) < 0)
            return fault(ends, "a message of the host");
        hub_publish(&ends->to_guest.full, 0);
        if (i % 16 == 0)
            hub_slot_cache_rest(cache);
    }
    return NULL;
}

static void *host_end(void *user)
{
    struct ends *ends = user;
    struct hub_slot_allocator *allocator = &ends->rig->allocator;
    uint8_t got[4096];

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (!hand_over(ends, &ends->to_host, true))
            return fault(ends, "the guest does not send");
        if (hub_slot_allocator_accept(allocator, 1, &ends->to_host.descriptor, got) < 0 ||
            got[0] != (uint8_t)i ||
            hub_slot_grants_free(allocator, ends->to_host.descriptor.payload_slot))
            return fault(ends, "a message of the guest");
        hub_publish(&ends->to_host.full, 0);
        if (!hand_over(ends, &ends->to_guest, false))
            return fault(ends, "the guest does not take it");
        ends->to_guest.descriptor = host_sends(ends->rig, 1, 64 + i % 3000, (uint8_t)i);
        hub_publish(&ends->to_guest.full, 1);
        if (i % 32 == 0)
            (void)hub_slot_grants_attend(allocator, 1);
    }
    return NULL;
}

/* r[verify shm.varslot.freelist] r[verify shm.varslot.allocation] r[verify hub.var.single-popper]
 */
static void both_ends_may_run_at_once(void **state)
{
    struct ends ends = {.rig = class_rig_begin(1, false),
                        .deadline = hub_clock_after(60 * HUB_SECOND)};
    pthread_t guest;
    void *failure;

    (void)state;
    assert_int_equal(pthread_create(&guest, NULL, guest_end, &ends), 0);
    assert_ptr_equal(host_end(&ends), NULL);
    assert_int_equal(pthread_join(guest, &failure), 0);
    assert_ptr_equal(failure, NULL);
    class_rig_end(ends.rig);
}

/* Attends like a host that has no space. */
static int ask_in_vain(struct class_rig *rig)
{
    struct hub_descriptor descriptor;
    int r = cache_loan(&rig->caches[0], 4096, &descriptor);

    hub_store_relaxed(&hub_slot_class_peer(&rig->allocator.map, 1, 2)->wanted, 0);
    return r;
}

static void assert_refused_after_a_second(struct class_rig *rig)
{
    const struct timespec slice = {0, 10 * HUB_MILLISECOND};
    uint64_t before = hub_clock_now(), after;
    int r;

    while ((r = ask_in_vain(rig)) == -EAGAIN)
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &slice, NULL);
    after = hub_clock_now();
    assert_int_equal(r, -ENOSPC);
    assert_string_equal(rapahub_last_error()->rule, "hub.file.room");
    assert_string_equal(rapahub_last_error()->text,
                        "the hub has no room for a payload of 4096 bytes");
    assert_true(after - before > HUB_SECOND && after - before < 10 * HUB_SECOND);
}

/* A host that does not look is waited for, and who has some of that size waits for these.
 * r[verify hub.var.single-popper] */
static void who_has_none_and_asks_in_vain_is_told_so(void **state)
{
    const struct timespec long_enough = {1, 300 * HUB_MILLISECOND};
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, 2);
    struct hub_descriptor descriptor;

    (void)state;
    while (cache_loan(&rig->caches[0], 4096, &descriptor) == 0)
        continue;
    assert_int_equal(ask_in_vain(rig), -EAGAIN);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &long_enough, NULL);
    assert_int_equal(ask_in_vain(rig), -EAGAIN);
    hub_store_relaxed(&block->granted, 0);
    hub_store_relaxed(&block->wanted, 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cache_loan(&rig->caches[0], 4096, &descriptor), -EAGAIN);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &long_enough, NULL);
    }
    assert_refused_after_a_second(rig);
    assert_int_equal(ask_in_vain(rig), -EAGAIN);
    assert_int_equal(ask_in_vain(rig), -ENOSPC);
    hub_store_relaxed(&block->granted, 1);
    assert_int_equal(ask_in_vain(rig), -EAGAIN);
    assert_int_equal(ask_in_vain(rig), -EAGAIN);
    class_rig_end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_has_its_grants_and_says_when_they_are_gone),
        cmocka_unit_test(a_dropped_loan_is_lent_first),
        cmocka_unit_test(a_stack_that_holds_what_cannot_be_there_is_a_violation),
        cmocka_unit_test(a_circle_among_the_free_slots_is_found_at_its_second_round),
        cmocka_unit_test(a_circle_is_counted_as_often_as_there_may_be_slots),
        cmocka_unit_test(what_waits_to_be_pushed_back_is_held_until_it_is),
        cmocka_unit_test(a_guest_accepts_only_what_is_the_hosts_and_once),
        cmocka_unit_test(what_is_above_the_first_share_goes_back_before_a_sleep_and_only_once),
        cmocka_unit_test(both_ends_may_run_at_once),
        cmocka_unit_test(who_has_none_and_asks_in_vain_is_told_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
