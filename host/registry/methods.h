/* SPDX-License-Identifier: Apache-2.0 */
/* methods: the signatures of the methods that a guest or a service has. The owner fills the list;
 * then it is constant and shared by all threads that hold a reference. */
#ifndef HOST_REGISTRY_METHODS_H
#define HOST_REGISTRY_METHODS_H

#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/atomic.h"
#include "hub/wire/signature.h"

#define HOST_METHODS_MAX 1024

struct host_methods {
    struct hub_a32 holders;
    uint32_t count;
    struct hub_signature *list[HOST_METHODS_MAX];
};

/* Makes an empty list with one reference. NULL if there is no memory. */
struct host_methods *host_methods_create(void);
struct host_methods *host_methods_hold(struct host_methods *methods);
void host_methods_release(struct host_methods **methods); /* NULL is allowed in it */

/* Adds the signatures in `lines`, one on each. RAPAHUB_EFORMAT if one is malformed, or is not
 * allowed for a method; RAPAHUB_EFULL if there are too many. */
int host_methods_add_lines(struct host_methods *methods, struct rapahub_string lines);

/* Adds a signature, which it owns from then on, even on failure. RAPAHUB_EFULL, or RAPAHUB_EFORMAT
 * if its id belongs to a message of the host. */
int host_methods_add(struct host_methods *methods, struct hub_signature *signature);

/* NULL if there is none. */
const struct hub_signature *host_methods_of_id(const struct host_methods *methods, uint64_t id);
const struct hub_signature *host_methods_of_name(const struct host_methods *methods,
                                                 const char *name);

/* Says whether there are streams among these argument types. */
bool host_methods_takes_streams(const struct rapahub_type *const *types);

/* Returns -EBUSY: when a guest made the request, the methods of its target were not known, and so
 * neither the channels that the request names. Data sent on them since is lost. */
int host_methods_refuse_streams(void);

/* Returns why `asked`, a canonical signature or a bare name, cannot be called: RAPAHUB_EARGUMENTS
 * if the name exists, else RAPAHUB_ENOMETHOD with similar names. The text names `who` as the
 * server. */
int host_methods_refuse(const struct host_methods *methods, const char *who, const char *asked);

#endif
