/* SPDX-License-Identifier: Apache-2.0 */
/* rights: which role each request at the control socket takes. */
#ifndef HOST_CONTROL_RIGHTS_H
#define HOST_CONTROL_RIGHTS_H

#include <rapahub/control.h>

#include "host/control/frame.h"

/* Says whether a role may make a request: 0, or RAPAHUB_EACCES, which names both. */
int host_rights_check(enum rapahub_control_role role, enum host_frame_kind kind,
                      const union host_frame_record *record);

#endif
