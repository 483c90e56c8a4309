/* SPDX-License-Identifier: Apache-2.0 */
/* lead: which node leads, where the lead changes hands: what this node knows of the record that
 * says so and of the session of the one that leads, and what it does to lead itself. The metastore
 * decides: a claim is one transaction, which compares all that it is made from; so is whatever the
 * one that leads writes, with the term. So nothing here has to be right for two never to write, but
 * it has to be patient, so that a node that lives keeps the lead.
 *
 * The term is the revision of the last put of the record. The one that leads puts its session again
 * and again: a session that was not put for some time, by the clock of this node, is of a node that
 * is gone, or cannot reach the metastore.
 */
#ifndef CLUSTER_CORE_SESSION_LEAD_H
#define CLUSTER_CORE_SESSION_LEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/states.h"

#define CLUSTER_LEAD_TTL_NS   UINT64_C(6000000000) /* a session is put again three times in it */
#define CLUSTER_LEAD_RENEW_NS (CLUSTER_LEAD_TTL_NS / 3)
/* Clocks may differ by one in 200, both ways, and a little. */
#define CLUSTER_LEAD_SILENCE_NS (CLUSTER_LEAD_TTL_NS + CLUSTER_LEAD_TTL_NS / 100 + 200000000)
#define CLUSTER_LEAD_TURN_NS    UINT64_C(500000000) /* between two that may claim the lead */

enum cluster_lead_state {
    CLUSTER_LEAD_FOLLOWS, /* another node leads, as far as this one knows */
    CLUSTER_LEAD_WAITS,   /* that one is gone: the turn of this one comes */
    CLUSTER_LEAD_CLAIMS,  /* its transaction is under way */
    CLUSTER_LEAD_LEADS,
    CLUSTER_LEAD_STATES
};

extern const struct hub_states cluster_lead_states;

/* The record, with the revision of its last put: 0, there is none. */
struct cluster_lead_record {
    uint32_t node;
    uint64_t session, term;
};

struct cluster_lead {
    uint32_t state; /* enum cluster_lead_state */
    uint32_t node;  /* this one */
    uint64_t session;
    struct cluster_lead_record record;
    uint64_t seen;    /* the last put of the session that the record names; 0: it is over */
    uint64_t seen_ns; /* this node has known that since */
    uint64_t due_ns;  /* WAITS: its turn; LEADS: its session is to be put again */
    bool renewing;    /* that is under way */
};

/* What is to be done now, as one transaction that compares the own session, too. */
enum cluster_lead_action {
    CLUSTER_LEAD_NOTHING,
    CLUSTER_LEAD_CLAIM, /* put the record; its last put was `term` */
    CLUSTER_LEAD_RENEW  /* put the own session again */
};

struct cluster_lead_step {
    enum cluster_lead_action action;
    uint64_t term;
    uint32_t other; /* CLAIM: the session of this node is to be as it was put last: */
    uint64_t seen;  /* 0: it is over, and is not compared */
};

/* The node begins in this session, and knows this record. */
void cluster_lead_begin(struct cluster_lead *lead, uint32_t node, uint64_t session,
                        const struct cluster_lead_record *record, uint64_t now_ns);

/* The metastore has this record; one of a lower term is left. */
void cluster_lead_take(struct cluster_lead *lead, const struct cluster_lead_record *record,
                       uint64_t now_ns);

/* The node that the record names has this session: when it was put first, and last; 0: none. */
void cluster_lead_see(struct cluster_lead *lead, uint64_t session, uint64_t put, uint64_t now_ns);

/* `rank`: how many others are asked before this one. The end of what is to be done is told to one
 * of the two below. */
struct cluster_lead_step cluster_lead_step(struct cluster_lead *lead, uint32_t rank,
                                           uint64_t now_ns);

/* A claim has ended: with the revision that it has, or 0: it did not happen. */
void cluster_lead_claimed(struct cluster_lead *lead, uint64_t revision, uint64_t now_ns);
void cluster_lead_renewed(struct cluster_lead *lead);

/* Returns when the node that leads is gone, if nothing more is seen of it. */
uint64_t cluster_lead_gone_ns(const struct cluster_lead *lead);

/* Returns when something is to be done at the soonest, or UINT64_MAX. */
uint64_t cluster_lead_next(const struct cluster_lead *lead);

/* Returns the term in which this node leads; 0: it does not. */
uint64_t cluster_lead_term(const struct cluster_lead *lead);

#endif
