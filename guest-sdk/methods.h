/* SPDX-License-Identifier: Apache-2.0 */
/* methods: the methods of a module, prepared when it is loaded, and found by id. Serving thread. */
#ifndef GUEST_SDK_METHODS_H
#define GUEST_SDK_METHODS_H

#include <stdint.h>

#include <rapahub/method.h>

#include "hub/base/id_map.h"
#include "hub/wire/invoke.h"

#define GUEST_METHODS_MAX 1024

struct guest_methods {
    struct hub_invoke **list;
    uint32_t count;
    struct hub_id_map *by_id;
};

/* Prepares the methods. `list` ends with RAPAHUB_METHOD_END and must outlive them; NULL: none.
 * `module` is used in texts. RAPAHUB_EABI for a name that is not valid or is reserved, for two
 * equal ids, and for more than 1,024 methods; also the errors of hub_invoke_prepare. */
int guest_methods_prepare(struct guest_methods *methods, const struct rapahub_method *list,
                          const char *module);
void guest_methods_release(struct guest_methods *methods);

/* NULL if there is none. */
struct hub_invoke *guest_methods_find(const struct guest_methods *methods, uint64_t id);

#endif
