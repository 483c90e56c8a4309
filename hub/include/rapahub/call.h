/* SPDX-License-Identifier: Apache-2.0 */
/* call: a request to a container, wherever it lives. */
#ifndef RAPAHUB_CALL_H
#define RAPAHUB_CALL_H

#include <rapahub/id.h>
#include <rapahub/method.h>

/* The caller keeps all memory and may drop it as soon as the function that took the call returns.
 */
struct rapahub_call {
    struct rapahub_container_id target;
    /* "add", or a whole signature, "add(i64, i64) -> i64". With a bare name and no `types` the
     * target is asked for the signature. */
    const char *method;
    const struct rapahub_type *const *types; /* result, arguments, NULL; default: the signature's */
    const void *const *arguments;            /* the address of each; NULL where there are none */
    uint64_t timeout_ns;                     /* 0: the host's default */
    uint64_t *method_id; /* where the library keeps the method's id, 0 at first; NULL: nowhere */
};

#endif
