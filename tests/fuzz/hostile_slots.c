/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/hostile_slots.h"

#include "hub/shm/slot_ref.h"
#include "hub/shm/slots.h"

int hostile_slots_endow(struct hub_segment *segment)
{
    struct hub_slots host = {.kind = NULL};
    int r = hub_slots_init_host(&host, segment);

    if (r < 0)
        return r;
    hub_slots_endow(&host, 1);
    hub_slots_fini(&host);
    return 0;
}

static uint8_t take_byte(const struct hostile_slots *hostile)
{
    uint8_t byte;

    hostile->take(hostile->user, &byte, sizeof byte);
    return byte;
}

static uint32_t take_word(const struct hostile_slots *hostile)
{
    uint32_t word;

    hostile->take(hostile->user, &word, sizeof word);
    return word;
}

static const struct hub_size_classes *classes_of(const struct hostile_slots *hostile)
{
    return &hostile->segment->geometry.classes;
}

static struct hub_slot_ref slot_of(const struct hostile_slots *hostile, uint8_t byte)
{
    uint32_t c = byte % classes_of(hostile)->count;

    return (struct hub_slot_ref){c, 0, (byte >> 2) % classes_of(hostile)->of[c].slots_per_extent};
}

static uint8_t *extent_of(const struct hostile_slots *hostile, uint32_t c)
{
    return hostile->segment->mapping.data + classes_of(hostile)->of[c].extents[0];
}

static struct hub_slot_meta *meta_of(const struct hostile_slots *hostile, struct hub_slot_ref at)
{
    uint8_t *metas = extent_of(hostile, at.size_class) + sizeof(struct hub_extent_header);

    return (struct hub_slot_meta *)(void *)metas + at.index;
}

static uint8_t *data_of(const struct hostile_slots *hostile, struct hub_slot_ref at)
{
    const struct hub_size_class *of = &classes_of(hostile)->of[at.size_class];

    return extent_of(hostile, at.size_class) + hub_size_classes_data_offset(of) +
           (size_t)at.index * of->slot_size;
}

/* A slot that is there, or may be; none; or anything. */
static uint32_t take_ref(const struct hostile_slots *hostile)
{
    uint8_t how = take_byte(hostile);
    struct hub_slot_ref at = slot_of(hostile, how);

    if (how >= 0xF0)
        return how == 0xFF ? HUB_SLOT_REF_NONE : take_word(hostile);
    at.extent = (how & 0xE0) == 0xE0 ? 1 : 0;
    return hub_slot_ref_pack(at);
}

static struct hub_size_class_header *header_of(const struct hostile_slots *hostile, uint32_t c)
{
    return (struct hub_size_class_header *)(void *)(hostile->segment->mapping.data +
                                                    classes_of(hostile)->base) +
           c;
}

static struct hub_peer_class *block_of(const struct hostile_slots *hostile, uint32_t c)
{
    return (struct hub_peer_class *)(void *)(hostile->segment->mapping.data +
                                             hub_size_classes_peer_block(classes_of(hostile),
                                                                         hostile->peer)) +
           c;
}

/* Pushes as it ought to be done, or not. */
static void write_head(const struct hostile_slots *hostile, uint32_t c, bool of_peer, bool links)
{
    struct hub_a64 *head =
        of_peer ? &block_of(hostile, c)->free_head : &header_of(hostile, c)->free_head;
    uint64_t old = hub_observe64(head);
    uint32_t ref = take_ref(hostile);
    struct hub_slot_ref at = hub_slot_ref_unpack(ref);

    if (links && at.size_class < classes_of(hostile)->count && at.extent == 0 &&
        at.index < classes_of(hostile)->of[at.size_class].slots_per_extent)
        hub_store_relaxed(&meta_of(hostile, at)->next_free, hub_slot_ref_first(old));
    hub_publish64(head, hub_slot_ref_head(ref, hub_slot_ref_tag(old) + 1));
}

static void write_meta(const struct hostile_slots *hostile)
{
    struct hub_slot_meta *meta = meta_of(hostile, slot_of(hostile, take_byte(hostile)));
    uint8_t which = take_byte(hostile);
    struct hub_a32 *const words[] = {&meta->generation, &meta->state, &meta->owner_peer,
                                     &meta->next_free};

    hub_publish(words[which & 3], (which & 3) == 3 ? take_ref(hostile) : which >> 2);
}

static void write_word(const struct hostile_slots *hostile, uint32_t c)
{
    struct hub_a32 *words = (struct hub_a32 *)(void *)header_of(hostile, c);

    hub_publish(&words[take_byte(hostile) % 16], take_word(hostile));
}

void hostile_slots_write(const struct hostile_slots *hostile)
{
    uint8_t which = take_byte(hostile);
    uint32_t c = (which >> 4) % classes_of(hostile)->count;

    switch (which & 7) {
    case 0:
    case 1:
    case 2:
    case 3:
        write_head(hostile, c, which & 1, which & 2);
        break;
    case 4:
        write_meta(hostile);
        break;
    case 5:
        hub_publish(&block_of(hostile, c)->wanted, which >> 3);
        break;
    case 6:
        hub_publish(&block_of(hostile, c)->granted, which >> 3);
        break;
    default:
        write_word(hostile, c);
        break;
    }
}

void hostile_slots_write_slot(const struct hostile_slots *hostile)
{
    struct hub_slot_ref at = slot_of(hostile, take_byte(hostile));
    uint32_t room = classes_of(hostile)->of[at.size_class].slot_size;
    uint8_t size = take_byte(hostile);

    hostile->take(hostile->user, data_of(hostile, at), size < room ? size : room);
}

uint8_t *hostile_slots_send(const struct hostile_slots *hostile, uint32_t size,
                            struct hub_descriptor *descriptor)
{
    uint8_t which = take_byte(hostile);
    struct hub_slot_ref at = slot_of(hostile, which);
    struct hub_slot_meta *meta;

    while (classes_of(hostile)->of[at.size_class].slot_size < size)
        at.size_class++;
    at.index %= classes_of(hostile)->of[at.size_class].slots_per_extent;
    meta = meta_of(hostile, at);
    descriptor->payload_slot = hub_slot_ref_pack(at);
    descriptor->payload_generation = hub_load_relaxed(&meta->generation) + (which >> 7);
    hub_publish(&meta->generation, descriptor->payload_generation);
    hub_publish(&meta->state, HUB_META_IN_FLIGHT);
    return data_of(hostile, at);
}
