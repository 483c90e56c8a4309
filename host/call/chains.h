/* SPDX-License-Identifier: Apache-2.0 */
/* chains: calls that are made to answer one another, as the host knows them. A thread that waits in
 * a chain serves the requests of that chain. So a guest's claim to be in a chain counts only if the
 * host knows the guest there: the host sent it an open call in this chain, or the chain began with
 * that guest. The host gives each chain a number of its own, so that no guest learns the number
 * another guest uses. Owner. */
#ifndef HOST_CALL_CHAINS_H
#define HOST_CALL_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/route.h>

#include "hub/base/list.h"

struct hub_calls;
struct host_container;
struct host_life;
struct host_call;

/* The chain that a guest names in its request; a value of 0: none. */
struct host_chain_claim {
    struct host_life *life;
    uint64_t value;
};

struct host_chain {
    uint64_t id; /* the number that all guests but the origin know: even, and never used again */
    uint32_t seats;
    struct host_life *origin; /* where it began; NULL: that has ended, or never named it */
    uint64_t own;             /* the number that the origin gave it */
    struct hub_list link;     /* in the list of the origin */
    uint64_t outer;           /* the number that other hosts know; 0: none does */
    struct hub_list named;    /* in the list of those numbers */
};

/* The chains that other hosts know, by their numbers. Owner. */
#define HOST_CHAINS_NAMES 256
struct host_chain_names {
    struct hub_list buckets[HOST_CHAINS_NAMES];
};

/* A call in a chain: its guest is in the chain while the call is open. */
struct host_chain_seat {
    struct host_chain *chain;
    struct hub_calls *calls; /* the calls of the guest it was sent to; NULL: not sent yet */
    uint64_t number;         /* its number in `calls`; 0: not known */
    struct rapahub_uid uid;  /* of the call, or of the one that it is made to answer */
    const struct host_container *container; /* that it goes to; set by its caller */
    struct hub_list link;                   /* in the list of the life */
};

void host_chains_open(struct host_chain_names *names);

/* Returns the first number of a host's chains: even and random, so that it cannot be guessed. */
uint64_t host_chains_first(void);

/* Returns a seat for a call that is made to answer a request of `claim`: in the chain that the
 * claim names, or in a new chain if the guest is in none of that name. NULL with the diagnosis if
 * there is no memory. */
struct host_chain_seat *host_chains_reserve(struct host_call *host,
                                            const struct host_chain_claim *claim);

/* Returns a seat for a call that comes from another host: in the chain of this number, which may
 * have begun here, or in a new one; 0: a new one. NULL with the diagnosis. */
struct host_chain_seat *host_chains_join(struct host_call *host, uint64_t outer,
                                         struct rapahub_uid uid);

/* Returns the number by which other hosts know the chain of a call from now on. */
uint64_t host_chains_away(struct host_call *host, const struct host_chain_seat *seat);

/* Returns the uid of the call that a request of `claim` is made to answer; {0, 0}: it has none.
 * A guest cannot choose it. */
struct rapahub_uid host_chains_uid(const struct host_chain_claim *claim);

/* Enters the seat at the guest to which the call goes now. Returns the number of the chain
 * there. */
uint64_t host_chains_take(struct host_chain_seat *seat, struct host_life *life);

/* host_chains_note records the number under which the call was sent. host_chains_untake records
 * that it was not sent, and may be tried again. */
void host_chains_note(struct host_chain_seat *seat, uint64_t number);
void host_chains_untake(struct host_chain_seat *seat);

/* Says whether a chain runs in the container, of this life, already: it began in that life, or a
 * call of it is open in the container. A call of such a chain cannot wait until the calls there
 * have ended. */
bool host_chains_run_in(const struct host_chain *chain, const struct host_life *life,
                        const struct host_container *container);

/* Returns the chain that a guest claims. A guest that is in none of that name begins one with its
 * next call; `begins` is filled with it then. NULL: the claim names none. */
const struct host_chain *host_chains_look(const struct host_chain_claim *claim,
                                          struct host_chain *begins);

/* Frees the seat of a call that has ended. Accepts NULL. */
void host_chains_leave(struct host_chain_seat **seat);

/* Removes a life that has ended from all chains. */
void host_chains_forget(struct host_life *life);

#endif
