/* SPDX-License-Identifier: Apache-2.0 */
/* call: a request to a container, wherever it lives. */
#ifndef RAPAHUB_CALL_H
#define RAPAHUB_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/id.h>
#include <rapahub/method.h>

/* Memory that the target shall read, lent to the caller: what is written there is not copied on its
 * way. From rapahub_host_loan; one thread at a time; not to be copied. */
struct rapahub_loan {
    void *data;         /* a multiple of 64; NULL: sent, or dropped */
    size_t size;        /* bytes, at least what was asked for */
    uint64_t handle[2]; /* the library's */
};

/* The caller keeps all memory and may drop it as soon as the function that took the call returns.
 */
struct rapahub_call {
    struct rapahub_container_id target;
    /* "add" with `types`, or a whole signature, "add(i64, i64) -> i64". These say how the memory of
     * arguments and result is read and written, never the target: a bare name without types is
     * refused, RAPAHUB_EINVAL. r[impl hub.call.memory] */
    const char *method;
    const struct rapahub_type *const *types; /* result, arguments, NULL, as RAPAHUB_TYPES makes
                                                them; default: the signature's */
    const void *const *arguments; /* the address of each, then NULL; NULL where there are none */
    uint64_t timeout_ns;          /* 0: the host's default */
    struct rapahub_loan *loan; /* the last argument, of type bytes, lies at its start; what was sent
                                  is lent no more, what was not stays so; NULL: none */
    bool view; /* bytes of the result may be shown where the guest wrote them (rapahub_host_call) */
    uint64_t *method_id; /* where the library keeps the method's id, 0 at first; NULL: nowhere */
};

#endif
