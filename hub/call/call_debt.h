/* SPDX-License-Identifier: Apache-2.0 */
/* call_debt: the calls that the other side has not answered yet. */
#ifndef HUB_CALL_CALL_DEBT_H
#define HUB_CALL_CALL_DEBT_H

#include "hub/call/calls.h"

struct hub_call_debt {
    uint32_t open; /* not answered yet, whether a caller waits or not */
    /* the earliest deadline of calls whose time is over and whose Cancel was sent; HUB_NEVER:
     * none */
    uint64_t overdue_ns;
};

/* Scans the whole table, so it is not for each call. Any thread. */
void hub_call_debt_look(struct hub_calls *calls, struct hub_call_debt *out);

#endif
