/* SPDX-License-Identifier: Apache-2.0 */
/* raw link: offsets are those of docs/spec, sections "header", "peer entry" and "descriptor". */
#include "tests/raw/raw_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/raw/raw_class.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

static uint64_t align64(uint64_t size)
{
    return (size + 63) & ~(uint64_t)63;
}

static bool inside(const struct raw_link *link, uint64_t at, uint64_t size)
{
    return at <= link->size && size <= link->size - at;
}

/* Pools, rings and words of the two directions, seen from the guest. */
static void point_as_guest(struct raw_link *link, uint64_t host_pool)
{
    uint64_t rings = raw_load64(link->base, link->entry + 32);

    link->out_ring = rings;
    link->in_ring = rings + (uint64_t)link->ring_size * 64;
    link->out_pool = raw_load64(link->base, link->entry + 40);
    link->in_pool = host_pool;
    link->out_head = link->entry + 8;
    link->out_tail = link->entry + 12;
    link->in_head = link->entry + 16;
    link->in_tail = link->entry + 20;
    link->own_wait = link->entry + 56;
    link->peer_wait = link->entry + 60;
}

static void swap_words(uint64_t *a, uint64_t *b)
{
    uint64_t kept = *a;

    *a = *b;
    *b = kept;
}

static void turn_to_host(struct raw_link *link)
{
    swap_words(&link->out_ring, &link->in_ring);
    swap_words(&link->out_pool, &link->in_pool);
    swap_words(&link->out_head, &link->in_head);
    swap_words(&link->out_tail, &link->in_tail);
    swap_words(&link->own_wait, &link->peer_wait);
}

/* Where it fails, raw_link_fini releases what there is. */
static int make_room(struct raw_link *link)
{
    uint32_t most = raw_load32(link->base, 24);

    link->classes = NULL;
    link->received = calloc(1, link->slot_size > most ? link->slot_size : most);
    return link->received ? raw_class_init(link, raw_load32(link->base, 32)) : -ENOMEM;
}

int raw_link_init(struct raw_link *link, uint8_t *base, size_t size, uint32_t peer)
{
    uint64_t pool, ring;

    link->base = base;
    link->size = size;
    link->peer = peer;
    if (size < 128 || raw_load64(base, 0) != 0x0142554841504152 || raw_load32(base, 8) != 1)
        return -EPROTO;
    link->ring_size = raw_load32(base, 36);
    link->slot_size = raw_load32(base, 56);
    link->slot_count = raw_load32(base, 60);
    link->entry = raw_load64(base, 40) + 64 * ((uint64_t)peer - 1);
    link->bitmap_size = align64(((uint64_t)link->slot_count + 63) / 64 * 8);
    pool = link->bitmap_size + (uint64_t)link->slot_count * link->slot_size;
    ring = (uint64_t)link->ring_size * 64;
    if (peer < 1 || peer > raw_load32(base, 32) || !inside(link, link->entry, 64))
        return -EPROTO;
    point_as_guest(link, raw_load64(base, 48));
    if (!inside(link, link->out_ring, 2 * ring) || !inside(link, link->out_pool, pool) ||
        !inside(link, link->in_pool, pool))
        return -EPROTO;
    if (link->host)
        turn_to_host(link);
    return make_room(link);
}

void raw_link_fini(struct raw_link *link)
{
    free(link->received);
    link->received = NULL;
    raw_class_fini(link);
    if (link->mapped) {
        munmap(link->base, link->size);
        close(link->file);
    }
    link->mapped = false;
    if (link->bell >= 0)
        close(link->bell);
    link->bell = -1;
}

void raw_link_read_indices(struct raw_link *link)
{
    link->head = raw_load32(link->base, link->out_head);
    link->tail = raw_load32(link->base, link->in_tail);
}

/* Returns the distance of a head and a tail, one of them the other side's; -EPROTO if it is
 * impossible. */
static int distance(const struct raw_link *link, uint32_t head, uint32_t tail)
{
    uint32_t mask = link->ring_size - 1;

    if (link->behaviour.modulo || link->behaviour.tolerant)
        return (int)((head - tail) & mask);
    return head - tail <= mask ? (int)(head - tail) : -EPROTO;
}

static uint32_t next_index(const struct raw_link *link, uint32_t index)
{
    return link->behaviour.modulo ? (index + 1) & (link->ring_size - 1) : index + 1;
}

int raw_link_ready(struct raw_link *link)
{
    return distance(link, raw_load32(link->base, link->in_head), link->tail);
}

static int used(struct raw_link *link)
{
    return distance(link, link->head, raw_load32(link->base, link->out_tail));
}

bool raw_link_left(const struct raw_link *link)
{
    uint32_t state = raw_load32(link->base, link->entry);

    if (link->host)
        return state != 1 && state != 3;
    return raw_load32(link->base, 68) != 0 || state != 1 ||
           raw_load32(link->base, link->entry + 4) != link->epoch;
}

static bool something_to_read(struct raw_link *link)
{
    return raw_link_ready(link) != 0;
}

static bool space_to_write(struct raw_link *link)
{
    return used(link) != (int)link->ring_size - 1;
}

static bool slot_to_take(struct raw_link *link)
{
    return raw_slot_count_free(link) > 0;
}

void raw_link_pack(const struct raw_message *message, uint8_t descriptor[64])
{
    uint32_t most = message->length < 32 ? message->length : 32;

    memset(descriptor, 0, 64);
    descriptor[0] = message->type;
    descriptor[1] = message->flags;
    memcpy(descriptor + 4, &message->id, 4);
    memcpy(descriptor + 8, &message->method, 8);
    memcpy(descriptor + 16, &message->slot, 4);
    memcpy(descriptor + 20, &message->generation, 4);
    memcpy(descriptor + 24, &message->offset, 4);
    memcpy(descriptor + 28, &message->length, 4);
    if (message->slot == RAW_INLINE && most > 0)
        memcpy(descriptor + 32, message->payload, most);
}

static void unpack(const uint8_t descriptor[64], struct raw_message *message)
{
    message->type = descriptor[0];
    message->flags = descriptor[1];
    memcpy(&message->id, descriptor + 4, 4);
    memcpy(&message->method, descriptor + 8, 8);
    memcpy(&message->slot, descriptor + 16, 4);
    memcpy(&message->generation, descriptor + 20, 4);
    memcpy(&message->offset, descriptor + 24, 4);
    memcpy(&message->length, descriptor + 28, 4);
}

int raw_link_put(struct raw_link *link, const uint8_t descriptor[64])
{
    uint64_t at = link->out_ring + (uint64_t)(link->head & (link->ring_size - 1)) * 64;
    int r = used(link);

    if (r < 0)
        return r;
    if (r == (int)link->ring_size - 1)
        return -EAGAIN;
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t word;

        memcpy(&word, descriptor + i, 8);
        __atomic_store_n(raw_word64(link->base, at + i), word, __ATOMIC_RELAXED);
    }
    link->head = next_index(link, link->head);
    return 0;
}

void raw_link_publish(struct raw_link *link)
{
    raw_store32(link->base, link->out_head, link->head);
    raw_wait_wake(link, 0x06, link->out_head);
}

int raw_link_send_descriptor(struct raw_link *link, const uint8_t descriptor[64], int timeout_ms)
{
    const struct raw_wait wait = {link->out_tail, 0x08, 0x10, space_to_write};
    int r = raw_link_put(link, descriptor);

    if (r == -EAGAIN) {
        r = raw_wait_for(link, &wait, timeout_ms);
        if (r == 0)
            r = raw_link_put(link, descriptor);
    }
    if (r == 0)
        raw_link_publish(link);
    return r;
}

static int place_in_class(struct raw_link *link, struct raw_message *message, int timeout_ms)
{
    struct raw_wait wait = {0, 0x08, 0x10, raw_class_ready};
    int r;

    link->wanted_size = message->length;
    while ((r = raw_class_take(link, message->length, &message->slot, &message->generation)) ==
           -EAGAIN) {
        const struct raw_class *of = &link->classes->of[raw_class_select(link, message->length)];

        wait.word = link->host ? of->header + 16 : of->block;
        r = raw_wait_for(link, &wait, timeout_ms);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    memcpy(raw_class_bytes(link, message->slot), message->payload, message->length);
    raw_class_sent(link, message->slot);
    return 0;
}

static int place_payload(struct raw_link *link, struct raw_message *message, int timeout_ms)
{
    const struct raw_wait wait = {link->out_pool, 0x08, 0x10, slot_to_take};
    int r;

    message->slot = RAW_INLINE;
    message->generation = message->offset = 0;
    if (message->length <= 32)
        return 0;
    if (link->classes)
        return place_in_class(link, message, timeout_ms);
    if (message->length > link->slot_size - 4)
        return -EMSGSIZE;
    while ((r = raw_slot_take(link, &message->slot, &message->generation)) == -EAGAIN) {
        r = raw_wait_for(link, &wait, timeout_ms);
        if (r < 0)
            return r;
    }
    if (message->length + link->behaviour.offset <= link->slot_size - 4)
        message->offset = link->behaviour.offset;
    memcpy(raw_slot_bytes(link, message->slot) + message->offset, message->payload,
           message->length);
    return r;
}

int raw_link_send(struct raw_link *link, const struct raw_message *message, int timeout_ms)
{
    struct raw_message placed = *message;
    uint8_t descriptor[64];
    int r = place_payload(link, &placed, timeout_ms);

    if (r < 0)
        return r;
    raw_link_pack(&placed, descriptor);
    return raw_link_send_descriptor(link, descriptor, timeout_ms);
}

/* Everything a sender must keep to: place of the payload, bounds, generation before and after. */
static int fetch_payload(struct raw_link *link, const uint8_t descriptor[64],
                         struct raw_message *message)
{
    uint64_t at = raw_slot_at(link, link->in_pool, message->slot);

    message->payload = link->received;
    if (message->slot == RAW_INLINE) {
        if (message->length > 32 || message->generation != 0 || message->offset != 0)
            return -EPROTO;
        memcpy(link->received, descriptor + 32, message->length);
        return 0;
    }
    if (link->classes)
        return raw_class_accept(link, message);
    if (message->slot >= link->slot_count || message->length <= 32 ||
        (uint64_t)message->offset + message->length > link->slot_size - 4)
        return -EPROTO;
    if (raw_load32(link->base, at) != message->generation)
        return -EPROTO;
    memcpy(link->received, link->base + at + 4 + message->offset, message->length);
    return raw_load32(link->base, at) == message->generation ? 0 : -EPROTO;
}

static void take_descriptor(struct raw_link *link, uint8_t descriptor[64])
{
    uint64_t at = link->in_ring + (uint64_t)(link->tail & (link->ring_size - 1)) * 64;

    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t word = __atomic_load_n(raw_word64(link->base, at + i), __ATOMIC_RELAXED);

        memcpy(descriptor + i, &word, 8);
    }
    link->tail = next_index(link, link->tail);
    raw_store32(link->base, link->in_tail, link->tail);
    raw_wait_wake(link, 0x18, link->in_tail);
}

int raw_link_receive(struct raw_link *link, int timeout_ms, struct raw_message *out)
{
    const struct raw_wait wait = {link->in_head, 0x02, 0x04, something_to_read};
    uint8_t descriptor[64];
    int r = raw_wait_for(link, &wait, timeout_ms);

    if (r == 0)
        r = raw_link_ready(link);
    if (r < 0)
        return r;
    take_descriptor(link, descriptor);
    unpack(descriptor, out);
    r = fetch_payload(link, descriptor, out);
    if (r == 0 && out->slot != RAW_INLINE && !link->behaviour.keeps_slots)
        r = raw_slot_free(link, out->slot);
    return r;
}
