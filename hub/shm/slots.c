/* SPDX-License-Identifier: Apache-2.0 */
/* slots: one table of functions for each kind; nobody else asks which it is. */
#include "hub/shm/slots.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/own.h"
#include "hub/shm/slot_grants.h"

struct hub_slots_kind {
    int (*loan)(struct hub_slots *slots, uint32_t peer, size_t size,
                struct hub_descriptor *descriptor);
    uint8_t *(*payload)(const struct hub_slots *slots, uint32_t slot);
    void (*sent)(struct hub_slots *slots, uint32_t slot);
    void (*drop)(struct hub_slots *slots, uint32_t slot);
    bool (*ready)(struct hub_slots *slots, uint32_t peer, size_t size);
    void (*rest)(struct hub_slots *slots); /* NULL: there is nothing to do */
    int (*take)(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to);
    int (*release)(struct hub_slots_in *in, uint32_t slot);
    void (*words)(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2]);
    uint32_t (*take_back)(struct hub_slots *slots, uint32_t peer); /* NULL: no host */
    void (*count)(struct hub_slots *slots, struct hub_slot_counts *out);
    void (*fini)(struct hub_slots *slots);
};

static int pool_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                     struct hub_descriptor *descriptor)
{
    (void)size;
    return hub_slot_pool_loan(&slots->pool, peer, &descriptor->payload_slot,
                              &descriptor->payload_generation);
}

static uint8_t *pool_payload(const struct hub_slots *slots, uint32_t slot)
{
    return hub_slot_pool_payload(&slots->pool, slot);
}

static void pool_sent(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_pool_sent(&slots->pool, slot);
}

static void pool_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_pool_drop(&slots->pool, slot);
}

static bool pool_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    (void)size;
    return hub_slot_pool_ready(&slots->pool, peer);
}

static void pool_rest(struct hub_slots *slots)
{
    hub_slot_pool_return_cache(&slots->pool);
}

static int pool_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return to ? hub_slot_reader_copy(&in->reader, descriptor, to)
              : hub_slot_reader_check(&in->reader, descriptor);
}

static int pool_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_reader_free(&in->reader, slot);
}

static void pool_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    out[0] = hub_slot_reader_word(&in->reader, slot);
    out[1] = hub_slot_reader_word(&in->reader, 0);
}

static uint32_t pool_take_back(struct hub_slots *slots, uint32_t peer)
{
    return hub_slot_pool_reclaim(&slots->pool, peer);
}

static void pool_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    *out = (struct hub_slot_counts){.total = slots->pool.count,
                                    .free = hub_slot_pool_free_count(&slots->pool),
                                    .stray = hub_slot_pool_stray_bits(&slots->pool)};
}

static void pool_fini(struct hub_slots *slots)
{
    hub_slot_pool_fini(&slots->pool);
}

static int bank_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                     struct hub_descriptor *descriptor)
{
    return hub_slot_bank_loan(slots->bank, peer, size, descriptor);
}

static uint8_t *bank_payload(const struct hub_slots *slots, uint32_t slot)
{
    return hub_slot_class_data(&slots->bank->map, slot);
}

static void bank_sent(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_bank_sent(slots->bank, slot);
}

static void bank_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_bank_drop(slots->bank, slot);
}

static bool bank_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    return hub_slot_bank_ready(slots->bank, peer, size);
}

static int bank_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return hub_slot_bank_accept(in->own->bank, in->peer, descriptor, to);
}

static int bank_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_grants_free(in->own->bank, slot);
}

static void halves(struct hub_a64 *head, struct hub_a32 *out[2])
{
    out[0] = (struct hub_a32 *)(void *)head;
    out[1] = out[0] + 1;
}

static void bank_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&hub_slot_class_peer(&in->own->bank->map, in->peer, slot >> 24)->free_head, out);
}

static uint32_t bank_take_back(struct hub_slots *slots, uint32_t peer)
{
    return hub_slot_grants_reclaim(slots->bank, peer);
}

static void bank_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    hub_slot_bank_count(slots->bank, out);
}

static void bank_fini(struct hub_slots *slots)
{
    hub_slot_bank_fini(slots->bank);
    hub_memory_release(&slots->bank);
}

static int purse_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                      struct hub_descriptor *descriptor)
{
    (void)peer;
    return hub_slot_purse_loan(slots->purse, size, descriptor);
}

static uint8_t *purse_payload(const struct hub_slots *slots, uint32_t slot)
{
    return hub_slot_class_data(&slots->purse->map, slot);
}

static void purse_sent(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_purse_sent(slots->purse, slot);
}

static void purse_drop(struct hub_slots *slots, uint32_t slot)
{
    hub_slot_purse_drop(slots->purse, slot);
}

static bool purse_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    (void)peer;
    return hub_slot_purse_ready(slots->purse, size);
}

static void purse_rest(struct hub_slots *slots)
{
    hub_slot_purse_rest(slots->purse);
}

static int purse_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return hub_slot_purse_accept(in->own->purse, descriptor, to);
}

static int purse_release(struct hub_slots_in *in, uint32_t slot)
{
    return hub_slot_purse_free(in->own->purse, slot);
}

static void purse_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    halves(&in->own->purse->map.of[slot >> 24].header->free_head, out);
}

static void purse_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    uint32_t free = hub_slot_purse_free_count(slots->purse);

    *out = (struct hub_slot_counts){.total = free, .free = free};
}

static void purse_fini(struct hub_slots *slots)
{
    hub_slot_purse_fini(slots->purse);
    hub_memory_release(&slots->purse);
}

static const struct hub_slots_kind pool_kind = {
    .loan = pool_loan,
    .payload = pool_payload,
    .sent = pool_sent,
    .drop = pool_drop,
    .ready = pool_ready,
    .rest = pool_rest,
    .take = pool_take,
    .release = pool_release,
    .words = pool_words,
    .take_back = pool_take_back,
    .count = pool_count,
    .fini = pool_fini,
};
static const struct hub_slots_kind bank_kind = {
    .loan = bank_loan,
    .payload = bank_payload,
    .sent = bank_sent,
    .drop = bank_drop,
    .ready = bank_ready,
    .take = bank_take,
    .release = bank_release,
    .words = bank_words,
    .take_back = bank_take_back,
    .count = bank_count,
    .fini = bank_fini,
};
static const struct hub_slots_kind purse_kind = {
    .loan = purse_loan,
    .payload = purse_payload,
    .sent = purse_sent,
    .drop = purse_drop,
    .ready = purse_ready,
    .rest = purse_rest,
    .take = purse_take,
    .release = purse_release,
    .words = purse_words,
    .count = purse_count,
    .fini = purse_fini,
};

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the slots of a segment");
}

static int init_pool(struct hub_slots *slots, const struct hub_segment *segment, uint8_t *memory)
{
    int r = hub_slot_pool_init(&slots->pool, &segment->geometry, memory, segment->shared);

    if (r == 0)
        slots->kind = &pool_kind;
    return r;
}

static int init_bank(struct hub_slots *slots, const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;
    struct hub_header *header = (struct hub_header *)(void *)segment->mapping.data;
    const struct hub_slot_growth_plan plan = {.file = segment->shared ? &segment->mapping : NULL,
                                              .current_size =
                                                  segment->shared ? &header->current_size : NULL,
                                              .most = geometry->limits.var_bytes_max};
    OWN(hub_memory) struct hub_slot_bank *bank = calloc(1, sizeof *bank);
    int r;

    if (!bank)
        return no_memory();
    r = hub_slot_bank_init(bank, geometry, segment->mapping.data, segment->shared);
    if (r < 0)
        return r;
    hub_slot_bank_let_grow(bank, &plan);
    slots->bank = TAKE(bank);
    slots->kind = &bank_kind;
    return 0;
}

static int init_purse(struct hub_slots *slots, const struct hub_segment *segment, uint32_t peer)
{
    OWN(hub_memory) struct hub_slot_purse *purse = calloc(1, sizeof *purse);
    int r;

    if (!purse)
        return no_memory();
    r = hub_slot_purse_init(purse, &segment->geometry, &segment->mapping, peer);
    if (r < 0)
        return r;
    slots->purse = TAKE(purse);
    slots->kind = &purse_kind;
    return 0;
}

/* r[impl hub.layout.pools] */
int hub_slots_init_host(struct hub_slots *slots, const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;

    if (geometry->classes.count > 0)
        return init_bank(slots, segment);
    return init_pool(slots, segment, segment->mapping.data + geometry->slot_region);
}

int hub_slots_init_guest(struct hub_slots *slots, const struct hub_segment *segment,
                         const struct hub_segment_view *view, uint32_t peer)
{
    if (segment->geometry.classes.count > 0)
        return init_purse(slots, segment, peer);
    return init_pool(slots, segment, view->guest_pool);
}

const struct hub_doorbell_inbox *hub_slots_connect(struct hub_slots *slots,
                                                   const struct hub_slots_line *line)
{
    if (slots->kind == &bank_kind)
        hub_slot_bank_set_bell(slots->bank, line->bell);
    if (slots->kind != &purse_kind)
        return NULL;
    hub_slot_purse_listen(slots->purse, line->hear, line->user);
    return &slots->purse->arrivals.inbox;
}

void hub_slots_fini(struct hub_slots *slots)
{
    if (!slots->kind)
        return;
    slots->kind->fini(slots);
    slots->kind = NULL;
}

/* r[impl hub.slot.quota] */
void hub_slots_set_guests(struct hub_slots *slots, uint32_t guests)
{
    uint32_t count = slots->pool.count;

    if (slots->kind == &bank_kind)
        hub_slot_bank_set_quota(slots->bank, guests >= 2);
    else
        hub_slot_pool_set_quota(&slots->pool, guests >= 2 ? count / 2 : count);
}

uint8_t *hub_slots_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                        struct hub_descriptor *descriptor, int *code)
{
    *code = slots->kind->loan(slots, peer, size, descriptor);
    return *code < 0 ? NULL : slots->kind->payload(slots, descriptor->payload_slot);
}

void hub_slots_sent(struct hub_slots *slots, uint32_t slot)
{
    slots->kind->sent(slots, slot);
}

void hub_slots_drop(struct hub_slots *slots, uint32_t slot)
{
    slots->kind->drop(slots, slot);
}

bool hub_slots_ready(struct hub_slots *slots, uint32_t peer, size_t size)
{
    return slots->kind->ready(slots, peer, size);
}

bool hub_slots_shared(const struct hub_slots *slots)
{
    return slots->kind != &pool_kind || slots->pool.shared;
}

bool hub_slots_ask(const struct hub_slots *slots)
{
    return slots->kind == &purse_kind;
}

void hub_slots_endow(struct hub_slots *slots, uint32_t peer)
{
    if (slots->kind == &bank_kind)
        (void)hub_slot_grants_endow(slots->bank, peer);
}

uint32_t hub_slots_attend(struct hub_slots *slots, uint32_t peer)
{
    return slots->kind == &bank_kind ? hub_slot_grants_attend(slots->bank, peer) : 0;
}

void hub_slots_rest(struct hub_slots *slots)
{
    if (slots->kind->rest)
        slots->kind->rest(slots);
}

void hub_slots_take_back(struct hub_slots *slots, uint32_t peer)
{
    CHECK(slots->kind->take_back);
    (void)slots->kind->take_back(slots, peer);
}

void hub_slots_count(struct hub_slots *slots, struct hub_slot_counts *out)
{
    slots->kind->count(slots, out);
}

uint32_t hub_slots_free_count(struct hub_slots *slots)
{
    struct hub_slot_counts counts;

    hub_slots_count(slots, &counts);
    return counts.free;
}

int hub_slots_in_init(struct hub_slots_in *in, struct hub_slots *own,
                      const struct hub_geometry *geometry, uint8_t *memory, uint32_t peer)
{
    *in = (struct hub_slots_in){.own = own, .peer = peer};
    return own->kind == &pool_kind ? hub_slot_reader_init(&in->reader, geometry, memory) : 0;
}

void hub_slots_in_fini(struct hub_slots_in *in)
{
    if (in->reader.seen)
        hub_slot_reader_fini(&in->reader);
}

int hub_slots_in_take(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to)
{
    return in->own->kind->take(in, descriptor, to);
}

int hub_slots_in_free(struct hub_slots_in *in, uint32_t slot)
{
    return in->own->kind->release(in, slot);
}

void hub_slots_in_words(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2])
{
    in->own->kind->words(in, slot, out);
}
