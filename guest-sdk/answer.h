/* SPDX-License-Identifier: Apache-2.0 */
/* answer: makes the answer to a request from the outcome of its method. Serving thread. */
#ifndef GUEST_SDK_ANSWER_H
#define GUEST_SDK_ANSWER_H

#include "guest-sdk/guest_state.h"
#include "hub/wire/invoke.h"

/* An answer that is ready to be sent. */
struct guest_answer {
    struct hub_response response;
    struct hub_parts body;
    uint8_t length[16]; /* encoded length of a bytes result */
};

/* Sets OK without a result. */
static inline void guest_answer_init(struct guest_answer *answer)
{
    answer->response = (struct hub_response){.kind = HUB_RESPONSE_OK};
    answer->body = (struct hub_parts){.loan = NULL};
}

/* Says whether the result lies in the memory that its method allocated in a slot for the answer. */
static inline bool guest_answer_is_lent(const struct guest_frame *frame,
                                        const struct rapahub_bytes *result)
{
    return frame->loan.data && result->data == frame->loan.data && result->size <= frame->loan.room;
}

/* Makes the answer of the innermost request, whose method returned `status`. */
void guest_answer_failure(struct guest *guest, int status, struct guest_answer *answer);

/* Begin and end a result that is encoded into the guest's own memory. */
void guest_answer_start(const struct guest *guest, struct hub_writer *writer);
void guest_answer_result(struct guest *guest, const struct hub_writer *writer,
                         struct guest_answer *answer);

/* Makes an answer whose result is bytes, sent from their place. */
void guest_answer_bytes(struct guest_frame *frame, const struct rapahub_bytes *result,
                        struct guest_answer *answer);

/* Makes an answer from any outcome of a method. */
void guest_answer_outcome(struct guest *guest, const struct hub_invoke *invoke,
                          const struct hub_outcome *outcome, struct guest_answer *answer);

#endif
