/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/suspicion.h"

#define ONE          65536u /* a logarithm of one */
#define LOG10_OF_2   19728u /* log10(2) in the same */
#define MAX_TO_MIN   6
#define CONFIRMED_BY (CLUSTER_ACCUSERS_MAX - 1)

uint32_t cluster_suspicion_log2(uint32_t number)
{
    uint32_t whole = 0, part = 0;
    uint64_t rest;

    while (number >> (whole + 1))
        whole++;
    rest = ((uint64_t)number << 31) >> whole; /* 1 to 2, in 1/2^31 */
    for (uint32_t bit = ONE / 2; bit > 0; bit /= 2) {
        rest = (rest * rest) >> 31;
        if (rest >= UINT64_C(1) << 32) {
            rest >>= 1;
            part += bit;
        }
    }
    return whole * ONE + part;
}

/* The decimal logarithm, in 1/65536. */
static uint64_t log10_of(uint32_t number)
{
    return (uint64_t)cluster_suspicion_log2(number) * LOG10_OF_2 / ONE;
}

uint32_t cluster_suspicion_log10_up(uint32_t number, uint32_t factor)
{
    return (uint32_t)((log10_of(number) * factor + ONE - 1) / ONE);
}

/* r[impl cluster.swim.suspicion] */
uint64_t cluster_suspicion_span(const struct cluster_suspicion_rule *rule, uint32_t present,
                                uint32_t confirmations)
{
    uint32_t others = present > 2 ? present - 2 : 0;
    uint32_t needed = others < CONFIRMED_BY ? others : CONFIRMED_BY;
    uint64_t scale = log10_of(present > 0 ? present : 1), least, most;

    if (rule->fixed_ns > 0)
        return rule->fixed_ns;
    if (scale < ONE)
        scale = ONE;
    least = rule->period_ns * rule->alpha * scale / ONE; /* both fit 64 bits: see swim.c */
    most = MAX_TO_MIN * least;
    if (confirmations >= needed)
        return least;
    return most - (most - least) * cluster_suspicion_log2(confirmations + 1) /
                      cluster_suspicion_log2(needed + 1);
}

bool cluster_suspicion_accuse(struct cluster_member *member, uint32_t accuser)
{
    if (member->accusers_count == CLUSTER_ACCUSERS_MAX)
        return false;
    for (uint32_t i = 0; i < member->accusers_count; i++)
        if (member->accusers[i] == accuser)
            return false;
    member->accusers[member->accusers_count++] = accuser;
    return true;
}
