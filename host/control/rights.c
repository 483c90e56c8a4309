/* SPDX-License-Identifier: Apache-2.0 */
#include "host/control/rights.h"

#include <rapahub/error.h>

static const char *const names[] = {[RAPAHUB_CONTROL_VIEWER] = "a viewer",
                                    [RAPAHUB_CONTROL_OPERATOR] = "an operator",
                                    [RAPAHUB_CONTROL_ADMIN] = "an admin"};

/* The least role for each kind of request. A CANCEL ends only a call of the client itself. */
static const enum rapahub_control_role needed[HOST_FRAME_REQUESTS] = {
    [HOST_FRAME_LIST] = RAPAHUB_CONTROL_VIEWER,   [HOST_FRAME_METHODS] = RAPAHUB_CONTROL_VIEWER,
    [HOST_FRAME_LOGS] = RAPAHUB_CONTROL_VIEWER,   [HOST_FRAME_STATS] = RAPAHUB_CONTROL_VIEWER,
    [HOST_FRAME_TREE] = RAPAHUB_CONTROL_VIEWER,   [HOST_FRAME_CANCEL] = RAPAHUB_CONTROL_VIEWER,
    [HOST_FRAME_CALL] = RAPAHUB_CONTROL_OPERATOR, [HOST_FRAME_STOP] = RAPAHUB_CONTROL_OPERATOR,
    [HOST_FRAME_KILL] = RAPAHUB_CONTROL_OPERATOR, [HOST_FRAME_RESTART] = RAPAHUB_CONTROL_OPERATOR,
    [HOST_FRAME_UPGRADE] = RAPAHUB_CONTROL_ADMIN,
};

/* r[impl sec.control.role] */
int host_rights_check(enum rapahub_control_role role, enum host_frame_kind kind,
                      const union host_frame_record *record)
{
    enum rapahub_control_role least = needed[kind];

    if (kind == HOST_FRAME_STOP && record->name.name.size == 0)
        least = RAPAHUB_CONTROL_ADMIN; /* the whole host */
    return role >= least
               ? 0
               : rapahub_fail(RAPAHUB_EACCES, "sec.control.role",
                              "that takes %s; you are %s of this host", names[least], names[role]);
}
