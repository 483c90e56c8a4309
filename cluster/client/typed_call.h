/* SPDX-License-Identifier: Apache-2.0 */
/* typed_call: the arguments of a call as bytes, and its result as C memory, by its signature. Any
 * thread.
 */
#ifndef CLUSTER_CLIENT_TYPED_CALL_H
#define CLUSTER_CLIENT_TYPED_CALL_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/value.h>

#include "hub/wire/align.h"
#include "hub/wire/signature.h"
#include "hub/wire/stream_ids.h"

struct cluster_typed_call {
    uint64_t method_id;
    const struct rapahub_type *result;
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    struct hub_signature *storage; /* has `result`, where the call has a whole signature; or NULL */
    uint8_t *arguments;            /* a stream is its index in `marks` */
    size_t size;
    struct hub_stream_marks *marks; /* the caller's streams; NULL: it has none */
};

/* Encodes the arguments. RAPAHUB_EARGUMENTS, -EINVAL: they do not fit, or the types are not said;
 * or a stream is NULL; RAPAHUB_ENOTLOCAL: a loan; -EMSGSIZE: more than `most` bytes;
 * -ENOMEM. Nothing is to be released then. */
int cluster_typed_call_make(const struct rapahub_call *call, size_t most,
                            struct cluster_typed_call *out);
void cluster_typed_call_fini(struct cluster_typed_call *call);

/* Decodes a result, whose bytes and strings are views of `payload`, or of `memory` where they had
 * to be moved. `result` NULL: it is not looked at, but a method without one must send no bytes.
 * RAPAHUB_EPROTOCOL: they are no such result; -ENOMEM. */
int cluster_typed_call_result(const struct cluster_typed_call *call, struct rapahub_bytes payload,
                              struct hub_align *memory, void *result);

#endif
