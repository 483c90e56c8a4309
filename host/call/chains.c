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

void host_chains_open(struct host_chain_names *names)
{
    for (size_t i = 0; i < HOST_CHAINS_NAMES; i++)
        hub_list_init(&names->buckets[i]);
}

/* Returns whether the call of this seat is open. A received answer closes it, even before its end
 * is reported. */
static bool is_open(const struct host_chain_seat *seat)
{
    return seat->number == 0 || !hub_calls_ended(seat->calls, seat->number);
}

/* Returns the number by which the guest knows the chain. */
static uint64_t number_at(const struct host_chain *chain, const struct host_life *life)
{
    return chain->origin == life ? chain->own : chain->id;
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
    hub_list_init(&chain->named);
    if (claim->value == 0 || claim->life->death.settled)
        return chain;
    chain->origin = claim->life;
    chain->own = claim->value;
    hub_list_append(&claim->life->chains.begun, &chain->link);
    return chain;
}

/* Returns a seat in the chain, or in a new one if that is NULL. */
static struct host_chain_seat *sit(struct host_call *host, struct host_chain *chain,
                                   const struct host_chain_claim *claim)
{
    struct host_chain_seat *seat = calloc(1, sizeof *seat);

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

/* The call that the guest answers now is the last that it got in this chain, since it serves one
 * inside of another. r[impl hub.route.uid] */
struct rapahub_uid host_chains_uid(const struct host_chain_claim *claim)
{
    struct rapahub_uid uid = {0, 0};

    if (claim->value == 0)
        return uid;
    HUB_LIST_EACH (&claim->life->chains.seats, link) {
        const struct host_chain_seat *seat = HUB_LIST_ITEM(link, struct host_chain_seat, link);

        if (number_at(seat->chain, claim->life) == claim->value && is_open(seat))
            uid = seat->uid;
    }
    return uid;
}

struct host_chain_seat *host_chains_reserve(struct host_call *host,
                                            const struct host_chain_claim *claim)
{
    struct host_chain_seat *seat = sit(host, claim->value != 0 ? find(claim) : NULL, claim);

    if (seat)
        seat->uid = host_chains_uid(claim);
    return seat;
}

static struct hub_list *bucket_of(struct host_call *host, uint64_t outer)
{
    return &host->names.buckets[outer / 2 % HOST_CHAINS_NAMES];
}

static struct host_chain *find_named(struct host_call *host, uint64_t outer)
{
    const struct hub_list *bucket = bucket_of(host, outer);

    HUB_LIST_EACH (bucket, link) {
        struct host_chain *chain = HUB_LIST_ITEM(link, struct host_chain, named);

        if (chain->outer == outer)
            return chain;
    }
    return NULL;
}

static void name(struct host_call *host, struct host_chain *chain, uint64_t outer)
{
    if (chain->outer != 0 || outer == 0)
        return;
    chain->outer = outer;
    hub_list_append(bucket_of(host, outer), &chain->named);
}

/* r[impl hub.route.chain] */
struct host_chain_seat *host_chains_join(struct host_call *host, uint64_t outer,
                                         struct rapahub_uid uid)
{
    const struct host_chain_claim nobody = {NULL, 0};
    struct host_chain_seat *seat = sit(host, outer != 0 ? find_named(host, outer) : NULL, &nobody);

    if (!seat)
        return NULL;
    name(host, seat->chain, outer);
    seat->uid = uid;
    return seat;
}

uint64_t host_chains_away(struct host_call *host, const struct host_chain_seat *seat)
{
    name(host, seat->chain, seat->chain->id);
    return seat->chain->outer;
}

uint64_t host_chains_take(struct host_chain_seat *seat, struct host_life *life)
{
    seat->calls = life->connection.calls;
    seat->number = 0;
    hub_list_append(&life->chains.seats, &seat->link);
    return number_at(seat->chain, life);
}

void host_chains_note(struct host_chain_seat *seat, uint64_t number)
{
    seat->number = number;
}

void host_chains_untake(struct host_chain_seat *seat)
{
    hub_list_remove(&seat->link);
}

/* r[impl cluster.hold.chain] */
bool host_chains_run_in(const struct host_chain *chain, const struct host_life *life,
                        const struct host_container *container)
{
    if (chain->origin == life)
        return true;
    HUB_LIST_EACH (&life->chains.seats, link) {
        const struct host_chain_seat *seat = HUB_LIST_ITEM(link, struct host_chain_seat, link);

        if (seat->chain == chain && seat->container == container && is_open(seat))
            return true;
    }
    return false;
}

const struct host_chain *host_chains_look(const struct host_chain_claim *claim,
                                          struct host_chain *begins)
{
    const struct host_chain *chain = claim->value != 0 ? find(claim) : NULL;

    if (chain || claim->value == 0)
        return chain;
    *begins = (struct host_chain){.origin = claim->life, .own = claim->value};
    return begins;
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
        hub_list_remove(&seat->chain->named);
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
