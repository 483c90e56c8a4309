/* SPDX-License-Identifier: Apache-2.0 */
/* inquiries: methods of this process that are answered later, by any thread. Their calls go the way
 * of those that leave the host (router.h), to functions of their container instead of the router's.
 * Constant from its creation, so any thread may read it; it lasts as long as the host. */
#ifndef HOST_CALL_INQUIRIES_H
#define HOST_CALL_INQUIRIES_H

#include <rapahub/route.h>

#include "host/registry/methods.h"

struct host_inquiries {
    struct host_methods *methods;
    struct rapahub_router router; /* without `methods` */
    void (*released)(void *user); /* NULL: not told */
};

/* Copies what is offered. -EINVAL: it is not complete, or two methods are one; RAPAHUB_EFORMAT: one
 * is no method; -ENOTSUP: one has a stream. */
int host_inquiries_create(const struct rapahub_inquiries *inquiries, struct host_inquiries **out);

/* Accepts NULL. The second one, at the end of the host, tells the embedder before. */
void host_inquiries_release(struct host_inquiries **inquiries);
void host_inquiries_end(struct host_inquiries **inquiries);

/* Says whether a call is one that may be handed out: 0, RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS,
 * -ENOMEM. `name` is how the call is named in the text. */
int host_inquiries_check(const struct host_inquiries *inquiries, const char *name,
                         uint64_t method_id, struct rapahub_bytes arguments);

#endif
