/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/link_state.h"

#include <rapahub/error.h>

#include "hub/base/futex.h"
#include "hub/link/send_queue.h"

/* On an open link of a guest the host has left, or has given the entry up. */
int hub_link_state_fate(const struct hub_link *link)
{
    if (hub_link_state_closed(link))
        return link->cause;
    return hub_observe(&link->dead) != 0 && hub_observe(&link->detached) == 0 ? RAPAHUB_EDIED
                                                                              : RAPAHUB_ECLOSED;
}

/* Recorded before the link closes: a thread that sees it closed sees why. r[impl hub.violation] */
static void note_violation(struct hub_link *link, const char *rule)
{
    if (!hub_claim(&link->breaking, 0, 1))
        return;
    link->broken_rule = rule;
    hub_publish(&link->broken, 1);
}

/* r[impl core.error.connection] */
void hub_link_state_close(struct hub_link *link, int code, const char *rule)
{
    if (code == RAPAHUB_EPROTOCOL)
        note_violation(link, rule);
    if (!hub_claim(&link->closing, 0, 1))
        return;
    link->cause = code;
    link->rule = rule;
    hub_link_state_hinder(link, true);
    hub_publish(&link->closed, 1);
    hub_wait_wake_own(&link->wait);
    hub_send_queue_wake_all(link);
    hub_link_state_tell(link);
    link->options.on_close(link->options.user);
}

__attribute__((noinline)) void hub_link_state_tell(struct hub_link *link)
{
    hub_fence(&link->crowd);
    if (hub_load_relaxed(&link->crowd) == 0)
        return;
    hub_add(&link->news, 1);
    hub_futex_wake_private(&link->news);
}
