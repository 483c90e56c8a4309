/* SPDX-License-Identifier: Apache-2.0 */
/* registry: the lowest floor of a host: the tables in which its threads find their targets. */
#ifndef HOST_REGISTRY_REGISTRY_H
#define HOST_REGISTRY_REGISTRY_H

#include <stdint.h>

#include "host/registry/callers.h"
#include "host/registry/containers.h"
#include "host/registry/floors.h"
#include "host/registry/routes.h"

struct host_guest;

struct host_registry {
    struct host_callers callers; /* the first member: see forked.h */
    struct host_routes routes;
    struct host_containers containers; /* under the routes */
    uint32_t guests_max;               /* entries of the table */
    uint32_t admitted_max;      /* the last of them, which are for admitted guests and no others */
    struct host_guest **guests; /* under the routes */
};

#define HOST_REGISTRY(host) HOST_FLOOR(host_registry, host)

#endif
