/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/silence.h"

#include "hub/base/clock.h"

void cluster_silence_heard(struct cluster_silence *silence, uint64_t now_ns)
{
    silence->heard_ns = now_ns;
    silence->asked = false;
}

void cluster_silence_moved(struct cluster_silence *silence, uint64_t now_ns)
{
    silence->asked_ns = now_ns;
}

uint64_t cluster_silence_due(const struct cluster_silence *silence)
{
    if (silence->ask_ns == 0)
        return HUB_NEVER;
    if (!silence->asked)
        return silence->heard_ns + silence->ask_ns;
    return silence->end_ns == 0 ? HUB_NEVER : silence->asked_ns + silence->end_ns - silence->ask_ns;
}

/* r[impl cluster.link.alive] r[impl cluster.link.silent] */
enum cluster_silence_step cluster_silence_step(struct cluster_silence *silence, uint64_t now_ns)
{
    if (now_ns < cluster_silence_due(silence))
        return CLUSTER_SILENCE_NOTHING;
    if (silence->asked)
        return CLUSTER_SILENCE_END;
    silence->asked = true;
    silence->asked_ns = now_ns;
    return CLUSTER_SILENCE_ASK;
}
