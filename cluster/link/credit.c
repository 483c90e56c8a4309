/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/credit.h"

#include <rapahub/error.h>

#define STEPS 8 /* credit goes back when an eighth of it was taken */

void cluster_credit_init(struct cluster_credit *credit, uint32_t whole)
{
    *credit = (struct cluster_credit){.whole = whole, .left = whole, .granted = whole};
}

void cluster_credit_withhold(struct cluster_credit *credit)
{
    credit->left = credit->granted = 0;
}

/* r[impl cluster.link.credit] */
bool cluster_credit_may_send(const struct cluster_credit *credit)
{
    return credit->left > 0;
}

void cluster_credit_sent(struct cluster_credit *credit, uint64_t bytes)
{
    credit->left -= (int64_t)bytes;
}

/* r[impl cluster.link.credit] */
int cluster_credit_gain(struct cluster_credit *credit, uint32_t bytes)
{
    if (credit->left + bytes > credit->whole)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.link.credit",
                            "credit came back for more bytes than were sent");
    credit->left += bytes;
    return 0;
}

/* r[impl cluster.link.credit] */
int cluster_credit_begin(const struct cluster_credit *credit)
{
    return credit->granted > 0 ? 0
                               : rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.link.credit",
                                              "a body began for which there was no credit");
}

void cluster_credit_received(struct cluster_credit *credit, uint64_t bytes)
{
    credit->granted -= (int64_t)bytes;
}

/* r[impl cluster.stream.credit] */
int cluster_credit_take(struct cluster_credit *credit, uint64_t bytes)
{
    if (credit->granted < 0 || bytes > (uint64_t)credit->granted)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.stream.credit",
                            "more bytes of a stream came than there was credit for");
    cluster_credit_received(credit, bytes);
    return 0;
}

/* r[impl cluster.link.credit] */
uint32_t cluster_credit_consume(struct cluster_credit *credit, uint64_t bytes)
{
    int64_t back;

    credit->consumed += (int64_t)bytes;
    if (credit->consumed < credit->whole / STEPS)
        return 0;
    back = credit->consumed;
    credit->consumed = 0;
    credit->granted += back;
    return (uint32_t)back; /* at most the whole and one body, which have 32 bits */
}
