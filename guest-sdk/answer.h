/* SPDX-License-Identifier: Apache-2.0 */
/* answer: what a request is answered with, made from what its method did. */
#ifndef GUEST_SDK_ANSWER_H
#define GUEST_SDK_ANSWER_H

#include "guest-sdk/guest_state.h"
#include "hub/wire/invoke.h"

/* What is to be answered. */
struct guest_answer {
    struct hub_response response;
    struct hub_parts body;
    uint8_t length[16]; /* of a result of bytes, as it stands on the wire */
};

/* An OK without a result. */
static inline void guest_answer_init(struct guest_answer *answer)
{
    answer->response = (struct hub_response){.kind = HUB_RESPONSE_OK};
    answer->body = (struct hub_parts){.loan = NULL};
}

/* Does this result lie in what its method took of the answer's slot? */
static inline bool guest_answer_is_lent(const struct guest_frame *frame,
                                        const struct rapahub_bytes *result)
{
    return frame->loan.data && result->data == frame->loan.data && result->size <= frame->loan.room;
}

/* Of the innermost request, whose method returned `status`. */
void guest_answer_failure(struct guest *guest, int status, struct guest_answer *answer);

/* A result that is encoded into the guest's own memory: before, and behind. */
void guest_answer_start(const struct guest *guest, struct hub_writer *writer);
void guest_answer_result(struct guest *guest, const struct hub_writer *writer,
                         struct guest_answer *answer);

/* A result of bytes, sent from where they lie. */
void guest_answer_bytes(struct guest_frame *frame, const struct rapahub_bytes *result,
                        struct guest_answer *answer);

/* Whatever came of a method. */
void guest_answer_outcome(struct guest *guest, const struct hub_invoke *invoke,
                          const struct hub_outcome *outcome, struct guest_answer *answer);

#endif
