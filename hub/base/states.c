/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/states.h"

#include <rapahub/log.h>

#include "hub/base/check.h"

bool hub_states_may(const struct hub_states *states, uint32_t from, uint32_t to)
{
    return from < HUB_STATES_MAX && to < HUB_STATES_MAX && states->of[from].name &&
           states->of[to].name && (states->of[from].to & HUB_TO(to)) != 0;
}

void hub_states_move(const struct hub_states *states, uint32_t *state, uint32_t to, const char *who,
                     const char *why)
{
    CHECK(hub_states_may(states, *state, to));
    rapahub_log(RAPAHUB_LOG_DEBUG, states->name, "%s: %s -> %s %s", who,
                hub_states_name(states, *state), hub_states_name(states, to), why);
    *state = to;
}

const char *hub_states_name(const struct hub_states *states, uint32_t state)
{
    return state < HUB_STATES_MAX && states->of[state].name ? states->of[state].name : "?";
}
