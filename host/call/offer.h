/* SPDX-License-Identifier: Apache-2.0 */
/* offer: the methods that this very process offers as one container, and their plans. Owner. */
#ifndef HOST_CALL_OFFER_H
#define HOST_CALL_OFFER_H

#include <stdbool.h>

#include <rapahub/method.h>

#include "host/registry/methods.h"
#include "hub/wire/invoke.h"

/* A method and its plan. A plan runs once at a time: a call inside of a call of the same method
 * gets a plan of its own. */
struct host_offered {
    const struct rapahub_method *method;
    struct hub_invoke *plan;
    bool busy;
};

struct host_offer {
    void *self;
    struct host_methods *methods;
    struct host_offered *list; /* as many, in the same order */
};

/* Prepares the methods, up to the end of the list: RAPAHUB_EABI, -ENOTSUP, RAPAHUB_EFULL, -EINVAL
 * where two have the same signature. List and `self` outlive it. */
int host_offer_create(const struct rapahub_method *methods, void *self, struct host_offer **out);

/* Accepts NULL. */
void host_offer_release(struct host_offer **offer);

struct host_methods *host_offer_methods(const struct host_offer *offer);

#endif
