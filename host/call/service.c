/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/service.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

void host_service_release(struct host_service **pointer)
{
    struct host_service *offer = *pointer;

    *pointer = NULL;
    if (!offer)
        return;
    for (uint32_t i = 0; offer->list && offer->methods && i < offer->methods->count; i++)
        hub_invoke_release(&offer->list[i].plan);
    free(offer->list);
    host_methods_release(&offer->methods);
    free(offer);
}

static int add(struct host_service *offer, const struct rapahub_method *method)
{
    uint32_t index = offer->methods->count;
    struct hub_signature *signature;
    int r = hub_signature_make(method->name, method->types, &signature);

    if (r < 0)
        return r;
    if (host_methods_of_id(offer->methods, signature->id)) {
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%s is offered twice", signature->text);
        hub_signature_release(&signature);
        return r;
    }
    r = host_methods_add(offer->methods, signature);
    if (r < 0)
        return r;
    offer->list[index].method = method;
    return hub_invoke_prepare(method, &offer->list[index].plan);
}

int host_service_create(const struct rapahub_method *methods, void *self, struct host_service **out)
{
    OWN(host_service) struct host_service *offer = calloc(1, sizeof *offer);
    int r = 0;

    if (offer) {
        offer->self = self;
        offer->methods = host_methods_create();
        offer->list = calloc(HOST_METHODS_MAX, sizeof *offer->list);
    }
    if (!offer || !offer->methods || !offer->list)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an offer");
    for (; methods->name && r == 0; methods++)
        r = add(offer, methods);
    if (r < 0)
        return r;
    *out = TAKE(offer);
    return 0;
}

struct host_methods *host_service_methods(const struct host_service *offer)
{
    return offer->methods;
}
