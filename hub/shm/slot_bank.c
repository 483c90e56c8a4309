/* SPDX-License-Identifier: Apache-2.0 */
/* slot_bank: each slot taken from a foreign stack is held to its record, and the record changed,
 * before its link is followed: a circle meets a record it has changed itself. */
#include "hub/shm/slot_bank.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"

static struct hub_bank_record *record_of(const struct hub_slot_bank *bank, uint32_t ref)
    REQUIRES(bank->lock)
{
    struct hub_slot_ref at = hub_slot_ref_unpack(ref);

    CHECK(hub_slot_class_has(&bank->map, ref));
    return &bank->of[at.size_class].records[at.extent][at.index];
}

static struct hub_bank_class *class_of(const struct hub_slot_bank *bank, uint32_t ref)
    REQUIRES(bank->lock)
{
    return &bank->of[ref >> 24];
}

static void to_reserve(struct hub_slot_bank *bank, uint32_t ref) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = class_of(bank, ref);
    struct hub_slot_meta *meta = hub_slot_class_meta(&bank->map, ref);

    record_of(bank, ref)->state = HUB_BANK_RESERVE;
    hub_note(&meta->state, HUB_META_FREE);
    hub_note(&meta->owner_peer, 0);
    CHECK(of->in_reserve < of->total);
    of->reserve[of->in_reserve++] = ref;
}

/* The lowest slot of an extent lies on top. */
static int add_extent(struct hub_slot_bank *bank, uint32_t c, uint32_t extent) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = &bank->of[c];
    uint32_t count = bank->map.of[c].per_extent;
    uint32_t *reserve = realloc(of->reserve, (of->total + (size_t)count) * sizeof *reserve);

    if (reserve)
        of->reserve = reserve;
    of->records[extent] = calloc(count, sizeof *of->records[extent]);
    if (!reserve || !of->records[extent])
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u slots", count);
    of->total += count;
    for (uint32_t i = count; i-- > 0;)
        of->reserve[of->in_reserve++] = hub_slot_ref_pack((struct hub_slot_ref){c, extent, i});
    return 0;
}

int hub_slot_bank_init(struct hub_slot_bank *bank, const struct hub_geometry *geometry,
                       uint8_t *segment, bool shared)
{
    int r = 0;

    *bank = (struct hub_slot_bank){
        .guests_max = geometry->limits.guests_max, .shared = shared, .deferred = HUB_SLOT_REF_NONE};
    hub_slot_class_init(&bank->map, geometry, segment);
    bank->of = calloc(HUB_CLASSES_MAX, sizeof *bank->of);
    if (!bank->of)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the classes of slots");
    hub_mutex_init(&bank->lock);
    hub_mutex_lock(&bank->lock);
    for (uint32_t c = 0; c < bank->map.count && r == 0; c++)
        r = add_extent(bank, c, 0);
    hub_mutex_unlock(&bank->lock);
    if (r < 0)
        hub_slot_bank_fini(bank);
    return r;
}

void hub_slot_bank_fini(struct hub_slot_bank *bank)
{
    if (!bank->of)
        return;
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++) {
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            free(bank->of[c].records[e]);
        free(bank->of[c].reserve);
    }
    free(bank->of);
    hub_mutex_fini(&bank->lock);
    *bank = (struct hub_slot_bank){0};
}

void hub_slot_bank_set_quota(struct hub_slot_bank *bank, bool quota)
{
    hub_mutex_lock(&bank->lock);
    bank->quota = quota;
    hub_mutex_unlock(&bank->lock);
}

/* A slot that a guest pushed for us: one we sent, or one it had been granted. */
static bool take_back(struct hub_slot_bank *bank, uint32_t ref) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = class_of(bank, ref);
    struct hub_bank_record *record = record_of(bank, ref);

    if (record->state == HUB_BANK_SENT) {
        of->lent[record->peer]--;
    } else if (record->state == HUB_BANK_GRANTED && !record->held) {
        of->granted_sum--;
        of->granted[record->peer]--;
        hub_note(&hub_slot_class_peer(&bank->map, record->peer, ref >> 24)->granted,
                 of->granted[record->peer]);
    } else {
        return false;
    }
    to_reserve(bank, ref);
    return true;
}

/* Takes what guests pushed for us. The rest behind a ref that cannot be is dropped: those slots
 * come back when the guest that has them dies. r[impl shm.varslot.freeing] */
static int gather(struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock)
{
    uint32_t ref = hub_slot_class_pop_all(&bank->map.of[c].header->free_head);

    while (ref != HUB_SLOT_REF_NONE) {
        bool there = hub_slot_class_has(&bank->map, ref) && ref >> 24 == c;
        uint32_t next =
            there ? hub_peek(&hub_slot_class_meta(&bank->map, ref)->next_free) : HUB_SLOT_REF_NONE;

        if (!there || !take_back(bank, ref)) {
            bank->stray_refs++;
            if (bank->shared)
                return 0;
            return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freeing",
                                "the peer gave back slot %#x of size class %u, without having it",
                                ref, c);
        }
        ref = next;
    }
    return 0;
}

static bool may_loan(const struct hub_slot_bank *bank, uint32_t c, uint32_t peer)
    REQUIRES(bank->lock)
{
    const struct hub_bank_class *of = &bank->of[c];
    uint32_t ours = of->total - of->granted_sum, most = bank->quota ? ours / 2 : ours;

    return of->in_reserve > 0 && of->lent[peer] < (most > 0 ? most : 1);
}

/* The generation is published with the descriptor, by the ring's head. */
static void loan_top(struct hub_slot_bank *bank, uint32_t c, uint32_t peer,
                     struct hub_descriptor *descriptor) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = &bank->of[c];
    uint32_t ref = of->reserve[--of->in_reserve];
    struct hub_bank_record *record = record_of(bank, ref);
    struct hub_slot_meta *meta = hub_slot_class_meta(&bank->map, ref);

    record->state = HUB_BANK_LOANED;
    record->peer = (uint8_t)peer;
    of->lent[peer]++;
    hub_note(&meta->generation, ++record->generation);
    hub_note(&meta->state, HUB_META_ALLOCATED);
    descriptor->payload_slot = ref;
    descriptor->payload_generation = record->generation;
}

/* r[impl shm.varslot.selection] r[impl hub.slot.quota] */
int hub_slot_bank_loan(struct hub_slot_bank *bank, uint32_t peer, size_t size,
                       struct hub_descriptor *descriptor)
{
    int r = -EAGAIN;

    CHECK(peer >= 1 && peer <= bank->guests_max);
    hub_mutex_lock(&bank->lock);
    for (uint32_t c = hub_slot_class_select(&bank->map, size); c < bank->map.count; c++) {
        int verdict = may_loan(bank, c, peer) ? 0 : gather(bank, c);

        if (verdict < 0) {
            r = verdict;
            break;
        }
        if (may_loan(bank, c, peer)) {
            loan_top(bank, c, peer, descriptor);
            r = 0;
            break;
        }
    }
    hub_mutex_unlock(&bank->lock);
    return r;
}

/* A slot that was pushed may be what helps: only who takes it knows. */
bool hub_slot_bank_ready(struct hub_slot_bank *bank, uint32_t peer, size_t size)
{
    bool ready = false;

    hub_mutex_lock(&bank->lock);
    for (uint32_t c = hub_slot_class_select(&bank->map, size); c < bank->map.count && !ready; c++)
        ready =
            may_loan(bank, c, peer) ||
            hub_slot_ref_first(hub_peek64(&bank->map.of[c].header->free_head)) != HUB_SLOT_REF_NONE;
    hub_mutex_unlock(&bank->lock);
    return ready;
}

void hub_slot_bank_sent(struct hub_slot_bank *bank, uint32_t ref)
{
    hub_mutex_lock(&bank->lock);
    CHECK(record_of(bank, ref)->state == HUB_BANK_LOANED);
    record_of(bank, ref)->state = HUB_BANK_SENT;
    hub_note(&hub_slot_class_meta(&bank->map, ref)->state, HUB_META_IN_FLIGHT);
    hub_mutex_unlock(&bank->lock);
}

void hub_slot_bank_drop(struct hub_slot_bank *bank, uint32_t ref)
{
    hub_mutex_lock(&bank->lock);
    CHECK(record_of(bank, ref)->state == HUB_BANK_LOANED);
    class_of(bank, ref)->lent[record_of(bank, ref)->peer]--;
    to_reserve(bank, ref);
    hub_mutex_unlock(&bank->lock);
}

/* The push is tried again at the next look: a guest that spoils it without end harms itself. */
static void give(struct hub_slot_bank *bank, uint32_t ref) REQUIRES(bank->lock)
{
    struct hub_bank_record *record = record_of(bank, ref);
    struct hub_peer_class *block = hub_slot_class_peer(&bank->map, record->peer, ref >> 24);

    if (hub_slot_class_push(&bank->map, &block->free_head, ref))
        return;
    record->next = bank->deferred;
    bank->deferred = ref;
}

/* One try for each. */
static void give_deferred(struct hub_slot_bank *bank) REQUIRES(bank->lock)
{
    uint32_t ref = bank->deferred;

    bank->deferred = HUB_SLOT_REF_NONE;
    while (ref != HUB_SLOT_REF_NONE) {
        uint32_t next = record_of(bank, ref)->next;

        give(bank, ref);
        ref = next;
    }
}

static void grant_top(struct hub_slot_bank *bank, uint32_t c, uint32_t peer) REQUIRES(bank->lock)
{
    struct hub_bank_class *of = &bank->of[c];
    uint32_t ref = of->reserve[--of->in_reserve];
    struct hub_bank_record *record = record_of(bank, ref);
    struct hub_slot_meta *meta = hub_slot_class_meta(&bank->map, ref);

    *record = (struct hub_bank_record){.generation = record->generation,
                                       .state = HUB_BANK_GRANTED,
                                       .peer = (uint8_t)peer,
                                       .next = HUB_SLOT_REF_NONE};
    hub_note(&meta->owner_peer, peer);
    of->granted_sum++;
    of->granted[peer]++;
    hub_note(&hub_slot_class_peer(&bank->map, peer, c)->granted, of->granted[peer]);
    give(bank, ref);
}

/* However much it asks for, a guest never has more than half of a class. */
static uint32_t grant(struct hub_slot_bank *bank, uint32_t c, uint32_t peer, uint32_t share)
    REQUIRES(bank->lock)
{
    struct hub_bank_class *of = &bank->of[c];
    uint32_t most = of->total / 2, wanted = share > 0 ? share : 1, given = 0;

    if (of->in_reserve < wanted)
        (void)gather(bank, c);
    while (given < wanted && of->in_reserve > 0 && of->granted[peer] < most) {
        grant_top(bank, c, peer);
        given++;
    }
    return given;
}

uint32_t hub_slot_bank_endow(struct hub_slot_bank *bank, uint32_t peer)
{
    uint32_t given = 0;

    hub_mutex_lock(&bank->lock);
    for (uint32_t c = 0; c < bank->map.count; c++)
        given += grant(bank, c, peer, bank->of[c].total / 2 / bank->guests_max);
    hub_mutex_unlock(&bank->lock);
    return given;
}

/* Asked at each sweep: without the lock, so that a grant that waits for a later one is the most
 * that may go wrong. */
static bool asks(const struct hub_slot_bank *bank, uint32_t peer)
{
    for (uint32_t c = 0; c < bank->map.count; c++)
        if (hub_peek(&hub_slot_class_peer(&bank->map, peer, c)->wanted) != 0)
            return true;
    return false;
}

uint32_t hub_slot_bank_attend(struct hub_slot_bank *bank, uint32_t peer)
{
    uint32_t given = 0;

    if (!asks(bank, peer))
        return 0;
    hub_mutex_lock(&bank->lock);
    give_deferred(bank);
    for (uint32_t c = 0; c < bank->map.count; c++) {
        struct hub_peer_class *block = hub_slot_class_peer(&bank->map, peer, c);

        if (hub_peek(&block->wanted) == 0)
            continue;
        hub_note(&block->wanted, 0);
        given += grant(bank, c, peer, bank->of[c].total / 4 / bank->guests_max);
    }
    hub_mutex_unlock(&bank->lock);
    return given;
}

/* r[impl shm.varslot.ownership] r[impl hub.slot.twice] */
static int check_record(const struct hub_bank_record *record, uint32_t peer,
                        const struct hub_descriptor *descriptor)
{
    if (record->state != HUB_BANK_GRANTED || record->peer != peer)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.ownership",
                            "slot %#x is not the guest's own", descriptor->payload_slot);
    if (record->held || (record->accepted && record->seen == descriptor->payload_generation))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "hub.slot.twice",
                            "slot %#x came twice with generation %u", descriptor->payload_slot,
                            descriptor->payload_generation);
    return 0;
}

static int hold(struct hub_slot_bank *bank, uint32_t peer, const struct hub_descriptor *descriptor)
    REQUIRES(bank->lock)
{
    struct hub_bank_record *record = record_of(bank, descriptor->payload_slot);
    int r = check_record(record, peer, descriptor);

    if (r == 0)
        r = hub_slot_class_check_generation(&bank->map, descriptor, "before its payload");
    if (r < 0)
        return r;
    record->seen = descriptor->payload_generation;
    record->accepted = record->held = true;
    return 0;
}

int hub_slot_bank_accept(struct hub_slot_bank *bank, uint32_t peer,
                         const struct hub_descriptor *descriptor, void *to)
{
    int r = hub_slot_class_check(&bank->map, descriptor);

    if (r < 0)
        return r;
    hub_mutex_lock(&bank->lock);
    r = hold(bank, peer, descriptor);
    hub_mutex_unlock(&bank->lock);
    if (r < 0 || !to)
        return r;
    return hub_slot_class_copy(&bank->map, descriptor, to);
}

int hub_slot_bank_free(struct hub_slot_bank *bank, uint32_t ref)
{
    struct hub_slot_meta *meta = hub_slot_class_meta(&bank->map, ref);
    int r = 0;

    hub_mutex_lock(&bank->lock);
    CHECK(record_of(bank, ref)->held);
    record_of(bank, ref)->held = false;
    if (hub_peek(&meta->state) != HUB_META_IN_FLIGHT)
        r = rapahub_fail(RAPAHUB_EPROTOCOL, "shm.varslot.freeing",
                         "slot %#x was given back already", ref);
    if (r == 0) {
        hub_note(&meta->state, HUB_META_FREE);
        give(bank, ref);
    }
    hub_mutex_unlock(&bank->lock);
    return r;
}

static void forget_deferred(struct hub_slot_bank *bank, uint32_t peer) REQUIRES(bank->lock)
{
    uint32_t ref = bank->deferred;

    bank->deferred = HUB_SLOT_REF_NONE;
    while (ref != HUB_SLOT_REF_NONE) {
        struct hub_bank_record *record = record_of(bank, ref);
        uint32_t next = record->next;

        if (record->peer != peer) {
            record->next = bank->deferred;
            bank->deferred = ref;
        }
        ref = next;
    }
}

static uint32_t reclaim_extent(struct hub_slot_bank *bank, struct hub_slot_ref at, uint32_t peer)
    REQUIRES(bank->lock)
{
    uint32_t count = 0;

    for (at.index = 0; at.index < bank->map.of[at.size_class].per_extent; at.index++) {
        uint32_t ref = hub_slot_ref_pack(at);
        struct hub_bank_record *record = record_of(bank, ref);

        if (record->peer != peer ||
            (record->state != HUB_BANK_SENT && record->state != HUB_BANK_GRANTED))
            continue;
        record->held = false;
        (void)take_back(bank, ref);
        hub_note(&hub_slot_class_meta(&bank->map, ref)->generation, ++record->generation);
        count++;
    }
    return count;
}

static void reset_block(struct hub_peer_class *block)
{
    uint32_t tag = hub_slot_ref_tag(hub_peek64(&block->free_head));

    hub_note64(&block->free_head, hub_slot_ref_head(HUB_SLOT_REF_NONE, tag + 1));
    hub_note(&block->wanted, 0);
    hub_note(&block->granted, 0);
}

/* What the dead peer gave back itself is found by the gathering; what others did wrong is theirs.
 * r[impl shm.crash.recovery] */
uint32_t hub_slot_bank_reclaim(struct hub_slot_bank *bank, uint32_t peer)
{
    uint32_t count = 0;

    hub_mutex_lock(&bank->lock);
    forget_deferred(bank, peer);
    for (uint32_t c = 0; c < bank->map.count; c++) {
        (void)gather(bank, c);
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX && bank->of[c].records[e]; e++)
            count += reclaim_extent(bank, (struct hub_slot_ref){c, e, 0}, peer);
        reset_block(hub_slot_class_peer(&bank->map, peer, c));
    }
    hub_mutex_unlock(&bank->lock);
    return count;
}

uint32_t hub_slot_bank_free_count(struct hub_slot_bank *bank)
{
    uint32_t count = 0;

    hub_mutex_lock(&bank->lock);
    for (uint32_t c = 0; c < bank->map.count; c++) {
        (void)gather(bank, c);
        count += bank->of[c].in_reserve;
    }
    hub_mutex_unlock(&bank->lock);
    return count;
}

uint64_t hub_slot_bank_stray_refs(struct hub_slot_bank *bank)
{
    uint64_t count;

    hub_mutex_lock(&bank->lock);
    count = bank->stray_refs;
    hub_mutex_unlock(&bank->lock);
    return count;
}
