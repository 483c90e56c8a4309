/* SPDX-License-Identifier: Apache-2.0 */
/* slot_stock: how many slots of the first extents the bank has to give: those whose pages are
 * there. The others, the last ones of their extent, are in no reserve: nobody is given one, no ref
 * to one is ever accepted, so nobody touches what is not there. */
#ifndef HUB_SHM_SLOT_STOCK_H
#define HUB_SHM_SLOT_STOCK_H

#include "hub/shm/slot_bank.h"

/* A part of an extent that is there: to the reserve, the lowest on top. */
void hub_slot_stock_add(struct hub_slot_bank *bank, struct hub_slot_ref first, uint32_t count)
    REQUIRES(bank->lock);

/* Before anybody has a slot, for a bank whose segment is a file: of each class only a side's share
 * is there, for the host. -ENOSPC, as hub_mapping_take. */
int hub_slot_stock_open(struct hub_slot_bank *bank) REQUIRES(bank->lock);

/* Somebody needs one, and the reserve is empty: are there some now? Where there is no room that is
 * logged, and not tried again for a while. */
bool hub_slot_stock_more(struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock);

/* May the next need be met so? */
bool hub_slot_stock_may(const struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock);

/* A guest asks for one more: may it have one, and a side's stay with the host? Without room for
 * all that one is taken that there is room for, or the host keeps half of that, one at least. */
bool hub_slot_stock_spare(struct hub_slot_bank *bank, uint32_t c) REQUIRES(bank->lock);

/* Shall a guest that comes have `few` slots, as large ones will be there when it asks: their pages
 * are taken, and there is ample room for all that are laid out? r[impl hub.file.room] */
bool hub_slot_stock_may_wait(struct hub_slot_bank *bank);

/* What it is granted of a class: its share, or few bytes of that. r[impl hub.var.single-popper] */
uint32_t hub_slot_stock_first(const struct hub_slot_bank *bank, uint32_t c, bool few)
    REQUIRES(bank->lock);

/* A guest comes: of each class as many are there as that, besides a side's for the host and what is
 * granted already, or where it comes with its whole share promised, or all that there are: 0,
 * -ENOSPC. Takes the lock for each step of it.
 */
int hub_slot_stock_share(struct hub_slot_bank *bank, bool few);

#endif
