/* SPDX-License-Identifier: Apache-2.0 */
/* slots_kind: the functions of a kind of slots. Only slots.c depends on the kind. */
#ifndef HUB_SHM_SLOTS_KIND_H
#define HUB_SHM_SLOTS_KIND_H

#include "hub/shm/slots.h"

struct hub_slots_kind {
    uint32_t start; /* offset of the payload area in a slot */
    int (*loan)(struct hub_slots *slots, uint32_t peer, size_t size, struct hub_slot_loan *out);
    int (*loan_cold)(struct hub_slots *slots, uint32_t peer, size_t size,
                     struct hub_slot_loan *out); /* NULL: as `loan` */
    size_t (*largest)(const struct hub_slots *slots);
    size_t (*piece)(const struct hub_slots *slots);
    void (*drop)(struct hub_slots *slots, uint32_t slot);
    bool (*ready)(struct hub_slots *slots, uint32_t peer, size_t size);
    void (*rest)(struct hub_slots *slots); /* NULL: there is nothing to do */
    int (*take)(struct hub_slots_in *in, const struct hub_descriptor *descriptor, void *to);
    int (*copy)(const struct hub_slots_in *in, const struct hub_descriptor *part, void *to);
    int (*release)(struct hub_slots_in *in, uint32_t slot);
    const struct hub_a32 *(*holds)(const struct hub_slots_in *in, uint32_t slot,
                                   struct hub_a32 *constant); /* limit for its class */
    int (*show)(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                struct hub_slot_held *out, const uint8_t **data); /* `take`, then the address */
    int (*give_back)(struct hub_slots_in *in, const struct hub_slot_held *slot); /* after `show` */
    void (*words)(const struct hub_slots_in *in, uint32_t slot, struct hub_a32 *out[2]);
    uint32_t (*take_back)(struct hub_slots *slots, uint32_t peer); /* NULL for a guest */
    void (*count)(struct hub_slots *slots, struct hub_slot_counts *out);
    void (*fini)(struct hub_slots *slots);
};

/* The functions that a call with a loan needs, for slots of several sizes. They are called by name
 * and not through a table, so that they can be inlined. */
int hub_slots_classes_allocator_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                     struct hub_slot_loan *out);
int hub_slots_classes_allocator_give_back(struct hub_slots_in *in,
                                          const struct hub_slot_held *slot);
int hub_slots_classes_allocator_show(struct hub_slots_in *in,
                                     const struct hub_descriptor *descriptor,
                                     struct hub_slot_held *out, const uint8_t **data);
int hub_slots_classes_cache_loan(struct hub_slots *slots, uint32_t peer, size_t size,
                                 struct hub_slot_loan *out);
int hub_slots_classes_cache_give_back(struct hub_slots_in *in, const struct hub_slot_held *slot);
int hub_slots_classes_cache_show(struct hub_slots_in *in, const struct hub_descriptor *descriptor,
                                 struct hub_slot_held *out, const uint8_t **data);

extern const struct hub_slots_kind hub_slots_pool_kind; /* slots of one size */
extern const struct hub_slots_kind
    hub_slots_classes_allocator;                            /* the host's slots of several sizes */
extern const struct hub_slots_kind hub_slots_classes_cache; /* a guest's slots of several sizes */

#endif
