/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/chains.h"

#include <stdlib.h>

#include "host/call/call.h"
#include "hub/base/random.h"

#define SHORTER 22 /* bits dropped; the other 42 take 6 bytes in each call */

uint64_t host_chains_first(void)
{
    return (hub_random_nonce() >> SHORTER) & ~UINT64_C(1);
}

/* Returns whether the call of this seat is open. A received answer closes it, even before its end
 * is reported. */
static bool is_open(const struct host_chain_seat *seat)
{
    return seat->number == 0 || !hub_calls_ended(seat->calls, seat->number);
}

/* Finds the chain that a guest claims. Both lists are bounded: by the open calls of the guest, and
 * by its requests. r[impl sec.call.chain] */
static struct host_chain *find(const struct host_chain_claim *claim)
{
    HUB_LIST_EACH (&claim->life->chains.seats, link) {
        const struct host_chain_seat *seat = HUB_LIST_ITEM(link, struct host_chain_seat, link);

        if (seat->chain->id == claim->value && is_open(seat))
            return seat->chain;
    }
    HUB_LIST_EACH (&claim->life->chains.begun, link) {
        struct host_chain *chain = HUB_LIST_ITEM(link, struct host_chain, link);

        if (chain->own == claim->value)
            return chain;
    }
    return NULL;
}

static struct host_chain *begin(struct host_call *host, const struct host_chain_claim *claim)
{
    struct host_chain *chain = calloc(1, sizeof *chain);

    if (!chain)
        return NULL;
    chain->id = host->chains += 2;
    hub_list_init(&chain->link);
    if (claim->value == 0 || claim->life->death.settled)
        return chain;
    chain->origin = claim->life;
    chain->own = claim->value;
    hub_list_append(&claim->life->chains.begun, &chain->link);
    return chain;
}

struct host_chain_seat *host_chains_reserve(struct host_call *host,
                                            const struct host_chain_claim *claim)
{
    struct host_chain_seat *seat = calloc(1, sizeof *seat);
    struct host_chain *chain = claim->value != 0 ? find(claim) : NULL;

    if (seat && !chain)
        chain = begin(host, claim);
    if (!seat || !chain) {
        free(seat);
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a chain of calls");
        return NULL;
    }
    chain->seats++;
    seat->chain = chain;
    hub_list_init(&seat->link);
    return seat;
}

uint64_t host_chains_take(struct host_chain_seat *seat, struct host_life *life)
{
    seat->calls = life->connection.calls;
    seat->number = 0;
    hub_list_append(&life->chains.seats, &seat->link);
    return seat->chain->origin == life ? seat->chain->own : seat->chain->id;
}

void host_chains_note(struct host_chain_seat *seat, uint64_t number)
{
    seat->number = number;
}

void host_chains_untake(struct host_chain_seat *seat)
{
    hub_list_remove(&seat->link);
}

void host_chains_leave(struct host_chain_seat **pointer)
{
    struct host_chain_seat *seat = *pointer;

    *pointer = NULL;
    if (!seat)
        return;
    hub_list_remove(&seat->link);
    if (--seat->chain->seats == 0) {
        hub_list_remove(&seat->chain->link);
        free(seat->chain);
    }
    free(seat);
}

void host_chains_forget(struct host_life *life)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&life->chains.begun)))
        HUB_LIST_ITEM(link, struct host_chain, link)->origin = NULL;
    while (hub_list_pop(&life->chains.seats))
        continue;
}
