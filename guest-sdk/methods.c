/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/methods.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

static uint32_t count_of(const struct rapahub_method *list)
{
    uint32_t count = 0;

    while (list && list[count].name && count <= GUEST_METHODS_MAX)
        count++;
    return count;
}

static int add(struct guest_methods *methods, const struct rapahub_method *method,
               const char *module)
{
    struct hub_invoke *invoke = NULL;
    const struct hub_signature *signature;
    int r;

    if (strncmp(method->name, "rapahub", strlen("rapahub")) == 0)
        return rapahub_fail(RAPAHUB_EABI, "", "%s: names like '%s' belong to rapahub", module,
                            method->name);
    r = hub_invoke_prepare(method, &invoke);
    if (r < 0)
        return r;
    methods->list[methods->count++] = invoke;
    signature = hub_invoke_signature(invoke);
    if (hub_id_map_put(methods->by_id, signature->id, invoke) < 0)
        return rapahub_fail(RAPAHUB_EABI, "", "%s offers %s twice, or another of the same id",
                            module, signature->text);
    return 0;
}

int guest_methods_prepare(struct guest_methods *methods, const struct rapahub_method *list,
                          const char *module)
{
    uint32_t count = count_of(list);
    int r;

    if (count > GUEST_METHODS_MAX)
        return rapahub_fail(RAPAHUB_EABI, "", "%s offers more than %d methods", module,
                            GUEST_METHODS_MAX);
    methods->list = calloc(count + 1, sizeof(struct hub_invoke *));
    if (!methods->list)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u methods", count);
    r = hub_id_map_create(count + 1, &methods->by_id);
    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = add(methods, &list[i], module);
    return r;
}

void guest_methods_release(struct guest_methods *methods)
{
    for (uint32_t i = 0; i < methods->count; i++)
        hub_invoke_release(&methods->list[i]);
    free(methods->list);
    hub_id_map_release(&methods->by_id);
    *methods = (struct guest_methods){0};
}

struct hub_invoke *guest_methods_find(const struct guest_methods *methods, uint64_t id)
{
    return methods->by_id ? hub_id_map_get(methods->by_id, id) : NULL;
}
