/* SPDX-License-Identifier: Apache-2.0 */
/* chains: calls that are made to answer one another, as the host knows them. Who waits in a chain
 * serves what comes in it, so a guest's word for the chain it is in counts only where the host
 * knows it there: by a call that the host sent it in this chain, and that is open, or because the
 * chain began with that guest. No guest learns what another one calls a chain: the host gives each
 * a number of its own. Owner. */
#ifndef HOST_CALL_CHAINS_H
#define HOST_CALL_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/list.h"

struct hub_calls;
struct host_life;
struct host_call;

/* What a guest says of its request; a value of 0: it is in none. */
struct host_chain_claim {
    struct host_life *life;
    uint64_t value;
};

struct host_chain {
    uint64_t id; /* what all but its origin know it by: even, and never used again */
    uint32_t seats;
    struct host_life *origin; /* it began there; NULL: that has ended, or never named it */
    uint64_t own;             /* what the origin calls it */
    struct hub_list link;     /* of the origin's */
};

/* A call in a chain: its guest is in the chain while the call is open. */
struct host_chain_seat {
    struct host_chain *chain;
    struct hub_calls *calls; /* of the guest it was sent to; NULL: not sent yet */
    uint64_t number;         /* there; 0: not known */
    struct hub_list link;    /* of the life's */
};

/* What the numbers of a host begin with: even, and nobody knows it beforehand. */
uint64_t host_chains_first(void);

/* A seat for a call that a request of `claim` leads to, in its chain, or in a new one where the
 * guest is in none by that name. NULL with the diagnosis for no memory. */
struct host_chain_seat *host_chains_reserve(struct host_call *host,
                                            const struct host_chain_claim *claim);

/* The call goes to this guest now: what the chain is called there. */
uint64_t host_chains_take(struct host_chain_seat *seat, struct host_life *life);

/* It was sent, under this number; or was not, and may be once more. */
void host_chains_note(struct host_chain_seat *seat, uint64_t number);
void host_chains_untake(struct host_chain_seat *seat);

/* It has ended. Accepts NULL. */
void host_chains_leave(struct host_chain_seat **seat);

/* The life has ended: nothing is of its chains any more. */
void host_chains_forget(struct host_life *life);

#endif
