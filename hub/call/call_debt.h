/* SPDX-License-Identifier: Apache-2.0 */
/* call_debt: what the other side owes: the calls that were made of it and are not answered. */
#ifndef HUB_CALL_CALL_DEBT_H
#define HUB_CALL_CALL_DEBT_H

#include "hub/call/calls.h"

struct hub_call_debt {
    uint32_t open;       /* not answered yet, whether somebody waits or not */
    uint64_t overdue_ns; /* deadline of the first of those whose time is over and whose Cancel was
                            sent; HUB_NEVER: none */
};

/* Any thread. Looks at the whole table: not for each call. */
void hub_call_debt_look(struct hub_calls *calls, struct hub_call_debt *out);

#endif
