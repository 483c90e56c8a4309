/* SPDX-License-Identifier: Apache-2.0 */
/* invoke: a payload of arguments to a C function and its result back: by libffi, but a checked
 * method of bytes to bytes through its own C type.
 *
 * Everything that can be prepared is prepared at load: the call interface, the place of each value.
 * One plan may run on one thread at a time. */
#ifndef HUB_WIRE_INVOKE_H
#define HUB_WIRE_INVOKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/method.h>

#include "hub/base/bytes.h"
#include "hub/wire/signature.h"

struct hub_invoke;

/* Prepares one method. RAPAHUB_EABI where a record's size or offsets are not those libffi computes;
 * -ENOTSUP where the C function cannot be called with such a signature (a plain one with a bytes
 * result, or with records that hold strings or bytes): the text says why. `method` and its types
 * must outlive it. */
int hub_invoke_prepare(const struct rapahub_method *method, struct hub_invoke **out);
void hub_invoke_release(struct hub_invoke **invoke);

const struct hub_signature *hub_invoke_signature(const struct hub_invoke *invoke);
bool hub_invoke_has_streams(const struct hub_invoke *invoke);

/* The C function of a checked method of bytes to bytes, which needs no plan; else NULL. */
typedef int hub_invoke_raw_function(void *self, struct rapahub_bytes in, struct rapahub_bytes *out);
hub_invoke_raw_function *hub_invoke_raw(const struct hub_invoke *invoke);

/* What came of a call. */
struct hub_outcome {
    int status;         /* 0, or what the function returned; of a plain one always 0 */
    const void *result; /* of the signature's result type, until the next run of this plan */
};

/* From the id of a channel to what the method gets in its place, a struct rapahub_source * or sink
 * by its type; NULL refuses the call. */
struct hub_invoke_streams {
    void *(*find)(void *user, const struct rapahub_type *type, uint64_t id);
    void *user;
};

/* On what the function works. */
struct hub_invoke_target {
    void *self;                               /* of a checked one */
    const struct hub_invoke_streams *streams; /* NULL: it has none */
};

/* Bytes that are looked at of the text a plain function returns. */
#define HUB_INVOKE_TEXT_MAX 65000

/* Decodes the arguments, strictly and to the end, and calls. RAPAHUB_EARGUMENTS where they cannot
 * be decoded, -ENOMEM: then nothing was called. Views point into the reader's memory, or, of bytes
 * that do not begin there where they have to (align.h), into that of the run. -EMSGSIZE where a
 * plain function returned a text that does not end within HUB_INVOKE_TEXT_MAX.
 *
 * It may run inside of itself: what the called function returns through its result pointer stays
 * apart from that of a run of this plan within. */
int hub_invoke_call(struct hub_invoke *invoke, const struct hub_invoke_target *to,
                    struct hub_reader *arguments, struct hub_outcome *out);

#endif
