/* SPDX-License-Identifier: Apache-2.0 */
/* response: the part of a Response after its metadata: Result<T, RoamError<E>>.
 *
 *     00 T | 01 00 E | 01 01 UnknownMethod | 01 02 InvalidPayload | 01 03 Cancelled
 *
 * E, the error of a method, is {code: i32, text: string}. r[impl call.response.encoding]
 */
#ifndef HUB_WIRE_RESPONSE_H
#define HUB_WIRE_RESPONSE_H

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/wire/metadata.h"

enum hub_response_kind {
    HUB_RESPONSE_OK,
    HUB_RESPONSE_USER,
    HUB_RESPONSE_UNKNOWN_METHOD,
    HUB_RESPONSE_INVALID_PAYLOAD,
    HUB_RESPONSE_CANCELLED
};

struct hub_response {
    enum hub_response_kind kind;
    int code;                   /* for USER: the value that the method returned */
    struct rapahub_string text; /* for USER */
    uint64_t fault;             /* for CANCELLED or USER: enum hub_fault */
};

/* Writes metadata and kind. For OK the caller writes the result after it. */
void hub_response_put_failure(struct hub_writer *writer, const struct hub_response *response);

static inline void hub_response_put(struct hub_writer *writer, const struct hub_response *response)
{
    if (response->kind != HUB_RESPONSE_OK) {
        hub_response_put_failure(writer, response);
        return;
    }
    hub_writer_byte(writer, 0); /* no metadata */
    hub_writer_byte(writer, 0); /* OK */
}

/* Decodes metadata and kind. For OK the reader is then at the result. RAPAHUB_EPROTOCOL with rule
 * message.decode-error or call.metadata.limits. */
int hub_response_decode(struct hub_reader *reader, struct hub_response *out);

/* Says whether this is an OK without metadata, as most are. The reader is then at the result. */
static inline bool hub_response_decode_plain(struct hub_reader *reader)
{
    if (hub_reader_left(reader) < 2 || (reader->at[0] | reader->at[1]) != 0)
        return false;
    reader->at += 2;
    return true;
}

/* Says whether the call was refused before it ran, so that its channels may be unknown at the other
 * side. Both sides then treat them as free and send nothing more. r[impl hub.channel.orphan] */
bool hub_response_is_refusal(const struct hub_response *response);

/* Returns the code of a response that is not OK, and writes the thread's diagnosis:
 * RAPAHUB_EAPPLICATION, RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS, -ECANCELED, -EBUSY, -EMSGSIZE,
 * RAPAHUB_EBUDGET, RAPAHUB_EFENCED.
 * `method` is used in the text. */
int hub_response_code(const struct hub_response *response, const char *method);

#endif
