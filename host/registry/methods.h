/* SPDX-License-Identifier: Apache-2.0 */
/* methods: the signatures of what a guest or an offer serves. Filled by the owner, then constant
 * and shared by any thread that holds it. */
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

/* Empty, with one holder. NULL for no memory. */
struct host_methods *host_methods_create(void);
struct host_methods *host_methods_hold(struct host_methods *methods);
void host_methods_release(struct host_methods **methods); /* accepts NULL */

/* Adds the signatures in `lines`, one a line: RAPAHUB_EFORMAT where one is malformed, or cannot be
 * a method's; RAPAHUB_EFULL where there are too many. */
int host_methods_add_lines(struct host_methods *methods, struct rapahub_string lines);

/* Takes the signature over, also on failure: RAPAHUB_EFULL, or RAPAHUB_EFORMAT where its id is that
 * of a message of the host's own. */
int host_methods_add(struct host_methods *methods, struct hub_signature *signature);

/* NULL where there is none. */
const struct hub_signature *host_methods_of_id(const struct host_methods *methods, uint64_t id);
const struct hub_signature *host_methods_of_name(const struct host_methods *methods,
                                                 const char *name);

/* Are there streams among these types of arguments? */
bool host_methods_takes_streams(const struct rapahub_type *const *types);

/* -EBUSY: when a guest asked, nobody knew the methods of its target, and so not which channels its
 * request named; what it has sent on them since is lost. */
int host_methods_refuse_streams(void);

/* Why `asked`, a canonical signature or a bare name, cannot be called: RAPAHUB_EARGUMENTS where the
 * name is there, RAPAHUB_ENOMETHOD with near ones where not. `who` serves them. */
int host_methods_refuse(const struct host_methods *methods, const char *who, const char *asked);

#endif
