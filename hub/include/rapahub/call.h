/* SPDX-License-Identifier: Apache-2.0 */
/* call: the description of a call to a container, wherever the container lives. */
#ifndef RAPAHUB_CALL_H
#define RAPAHUB_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/id.h>
#include <rapahub/method.h>

/* Memory that a caller borrows and the target reads in place: bytes written there are not copied on
 * their way. rapahub_host_loan makes it. Only one thread at a time may use it. The struct must not
 * be copied. */
struct rapahub_loan {
    void *data;         /* a multiple of 64; NULL: sent, or dropped */
    size_t size;        /* bytes, at least as many as were requested */
    uint64_t handle[2]; /* private to the library */
};

/* All memory belongs to the caller, who may release it as soon as the function that was given the
 * call returns. */
struct rapahub_call {
    struct rapahub_container_id target;
    /* "add" with `types`, or a whole signature, "add(i64, i64) -> i64". They alone say how the
     * memory of arguments and result is read and written; the target has no part in it. A bare name
     * without types is refused with RAPAHUB_EINVAL. r[impl hub.call.memory] */
    const char *method;
    /* result, arguments, NULL, as RAPAHUB_TYPES makes them; NULL: those of the signature */
    const struct rapahub_type *const *types;
    const void *const *arguments; /* the address of each, then NULL; NULL if there are none */
    uint64_t timeout_ns;          /* nanoseconds; 0: the host's default */
    /* the last argument, of type bytes, begins at its start; a sent loan is no longer lent, an
     * unsent one still is; NULL: none */
    struct rapahub_loan *loan;
    bool view; /* result bytes may be shown where the guest wrote them (rapahub_host_call) */
    /* a place where the library keeps the method's id, 0 at first; NULL: it is not kept */
    uint64_t *method_id;
};

#endif
