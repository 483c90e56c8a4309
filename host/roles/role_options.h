/* SPDX-License-Identifier: Apache-2.0 */
/* role_options: the roles that the options of a container name, checked. Owner. */
#ifndef HOST_ROLES_ROLE_OPTIONS_H
#define HOST_ROLES_ROLE_OPTIONS_H

#include <rapahub/host.h>

#include "host/process/guest.h"
#include "host/registry/roles.h"
#include "host/roles/regions.h"

/* Makes the lasting record of the roles, and enters them in the lists of their regions; NULL where
 * the options name none. -ENOENT: there is no such region; RAPAHUB_EBADKIND: it has no such role;
 * RAPAHUB_EROLETAKEN: another container has it; -EINVAL; -ENOTSUP: the guest is not trusted, or was
 * not started by the host. r[impl supervise.role.checked] r[impl supervise.role.private] */
int host_role_options_take(const struct host_regions *regions, const struct host_guest *guest,
                           const struct rapahub_container_options *options,
                           struct host_roles **out);

#endif
