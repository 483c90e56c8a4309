/* SPDX-License-Identifier: Apache-2.0 */
/* invoke: calls a C function with arguments decoded from a payload, and returns its result. The
 * call goes through libffi, or through words.h, or for a checked method of bytes to bytes through
 * its own C type.
 *
 * The plan of a method, which is its call interface and the place of each value, is made once, when
 * the module is loaded. Only one thread at a time may run a plan.
 */
#ifndef HUB_WIRE_INVOKE_H
#define HUB_WIRE_INVOKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/method.h>

#include "hub/base/bytes.h"
#include "hub/wire/signature.h"

struct hub_invoke;

/* Makes the plan of a method. RAPAHUB_EABI if size or offsets of a record differ from those that
 * libffi computes. -ENOTSUP if the C function cannot be called with its signature: a plain function
 * with a bytes result, or with records that hold strings or bytes; the text says why. `method` and
 * its types must outlive the plan. */
int hub_invoke_prepare(const struct rapahub_method *method, struct hub_invoke **out);
void hub_invoke_release(struct hub_invoke **invoke);

const struct hub_signature *hub_invoke_signature(const struct hub_invoke *invoke);
bool hub_invoke_has_streams(const struct hub_invoke *invoke);

/* Returns the C function of a checked method of bytes to bytes, which needs no plan, or NULL for
 * other methods. */
typedef int hub_invoke_raw_function(void *self, struct rapahub_bytes in, struct rapahub_bytes *out);
hub_invoke_raw_function *hub_invoke_raw(const struct hub_invoke *invoke);

/* The outcome of a call. */
struct hub_outcome {
    int status; /* 0, or the value that the function returned; always 0 for a plain function */
    const void *result; /* of the signature's result type; valid until the next run of this plan */
};

/* Returns the struct rapahub_source * or rapahub_sink * that the method gets for the id of a
 * channel, by its type. NULL refuses the call. */
struct hub_invoke_streams {
    void *(*find)(void *user, const struct rapahub_type *type, uint64_t id);
    void *user;
};

/* The objects that a call works on. */
struct hub_invoke_target {
    void *self;                               /* for a checked method */
    const struct hub_invoke_streams *streams; /* NULL: the method has no streams */
};

/* Limit in bytes within which the text that a plain function returns must end. */
#define HUB_INVOKE_TEXT_MAX 65000

/* Decodes the arguments, strictly and to the end, and calls the function. RAPAHUB_EARGUMENTS if
 * they cannot be decoded, and -ENOMEM: in both cases nothing was called. Views point into the
 * reader's memory, or into the frame's for bytes that had to be aligned (align.h). -EMSGSIZE if a
 * plain function returned a text that does not end within HUB_INVOKE_TEXT_MAX.
 *
 * A plan may be run from within its own function: the results of the two runs are kept apart.
 */
int hub_invoke_call(struct hub_invoke *invoke, const struct hub_invoke_target *to,
                    struct hub_reader *arguments, struct hub_outcome *out);

#endif
