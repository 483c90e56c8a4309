/* SPDX-License-Identifier: Apache-2.0 */
/* service: the methods that the host's own process offers as one container, and their plans.
 * Owner. */
#ifndef HOST_CALL_SERVICE_H
#define HOST_CALL_SERVICE_H

#include <stdbool.h>

#include <rapahub/method.h>

#include "host/registry/methods.h"
#include "hub/wire/invoke.h"

/* A method and its plan. A plan runs once at a time: a call inside a call of the same method gets a
 * plan of its own. */
struct host_offered {
    const struct rapahub_method *method;
    struct hub_invoke *plan;
    bool busy;
};

struct host_service {
    void *self;
    struct host_methods *methods;
    struct host_offered *list; /* an entry for each of `methods`, in the same order */
};

/* Prepares the methods, up to the end of the list. RAPAHUB_EABI, -ENOTSUP, RAPAHUB_EFULL, or
 * -EINVAL if two have the same signature. The list and `self` must outlive the service. */
int host_service_create(const struct rapahub_method *methods, void *self,
                        struct host_service **out);

/* Accepts NULL. */
void host_service_release(struct host_service **offer);

struct host_methods *host_service_methods(const struct host_service *offer);

#endif
