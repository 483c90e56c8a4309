/* SPDX-License-Identifier: Apache-2.0 */
#include "host/registry/roles.h"

#include <stdlib.h>

void host_roles_release(struct host_roles **roles)
{
    if (!*roles)
        return;
    for (uint32_t i = 0; i < (*roles)->count; i++)
        hub_list_remove(&(*roles)->of[i].of_region);
    free(*roles);
    *roles = NULL;
}
