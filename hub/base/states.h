/* SPDX-License-Identifier: Apache-2.0 */
/* states: a state machine as a table. */
#ifndef HUB_BASE_STATES_H
#define HUB_BASE_STATES_H

#include <stdbool.h>
#include <stdint.h>

#define HUB_STATES_MAX 16
#define HUB_TO(state)  (UINT32_C(1) << (state))

struct hub_states {
    const char *name; /* the log's topic */
    struct {
        const char *name; /* NULL: no such state */
        uint32_t to;      /* HUB_TO of each state that may follow */
    } of[HUB_STATES_MAX];
};

/* Says whether `from` may be followed by `to`. Both may be any numbers, as a peer may have written
 * them. */
bool hub_states_may(const struct hub_states *states, uint32_t from, uint32_t to);

/* Changes `*state` and logs "WHO: From -> To WHY" at debug level. An illegal change aborts, so this
 * is only for states of our own. */
void hub_states_move(const struct hub_states *states, uint32_t *state, uint32_t to, const char *who,
                     const char *why);

const char *hub_states_name(const struct hub_states *states, uint32_t state); /* "?" if unknown */

#endif
