/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/answer.h"

#include <stdio.h>

#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define FAILURE_HEAD 16 /* size of a Response before the text of a failure */

static struct rapahub_string own_text(int status)
{
    const struct rapahub_diagnosis *why = rapahub_last_error();

    return rapahub_string_of(why->code == status && why->text[0] != '\0' ? why->text : "");
}

/* A method's failure is its own code with the text that it wrote for that code. The text is cut if
 * the messages of this segment are small, so that the caller gets at least the code. */
void guest_answer_failure(struct guest *guest, int status, struct guest_answer *answer)
{
    const struct hub_request *request = guest->frame->request;
    size_t room = hub_link_limits(guest->attach.connection.link)->payload_max - FAILURE_HEAD;
    char *text = (char *)guest->scratch;

    if (status == -ECANCELED && hub_request_is_cancelled(request)) {
        answer->response.kind = HUB_RESPONSE_CANCELLED;
        return;
    }
    answer->response.kind = HUB_RESPONSE_USER;
    answer->response.code = status;
    answer->response.text = own_text(status);
    if (answer->response.text.size == 0) {
        snprintf(text, room, "%s returned %d (%s)", guest->frame->method, status,
                 rapahub_error_text(status));
        answer->response.text = rapahub_string_of(text);
    }
    if (answer->response.text.size > room)
        answer->response.text.size = room;
}

void guest_answer_start(const struct guest *guest, struct hub_writer *writer)
{
    hub_writer_init(writer, guest->scratch,
                    hub_link_limits(guest->attach.connection.link)->payload_max);
}

/* A result that no message can carry is answered as too large. */
void guest_answer_result(struct guest *guest, const struct hub_writer *writer,
                         struct guest_answer *answer)
{
    if (writer->failure == -EMSGSIZE) {
        answer->response.kind = HUB_RESPONSE_CANCELLED;
        answer->response.fault = HUB_FAULT_SIZE;
    } else if (writer->failure < 0) {
        rapahub_fail(RAPAHUB_EINVAL, "", "%s returned a string that is not UTF-8",
                     guest->frame->method);
        guest_answer_failure(guest, RAPAHUB_EINVAL, answer);
    } else {
        answer->body.tail = (struct rapahub_bytes){guest->scratch, writer->size};
    }
}

/* Bytes are sent from their place, which belongs to the method until its next call. Bytes in a loan
 * are not copied at all. r[impl hub.loan.align] */
void guest_answer_bytes(struct guest_frame *frame, const struct rapahub_bytes *result,
                        struct guest_answer *answer)
{
    answer->body.head = (struct rapahub_bytes){
        answer->length, hub_postcard_put_length(answer->length, result->size)};
    answer->body.tail = *result;
    if (guest_answer_is_lent(frame, result))
        answer->body.loan = &frame->loan;
}

void guest_answer_outcome(struct guest *guest, const struct hub_invoke *invoke,
                          const struct hub_outcome *outcome, struct guest_answer *answer)
{
    struct hub_writer writer;

    if (outcome->status != 0) {
        guest_answer_failure(guest, outcome->status, answer);
        return;
    }
    if (guest->frame->lends) {
        guest_answer_bytes(guest->frame, outcome->result, answer);
        return;
    }
    guest_answer_start(guest, &writer);
    hub_payload_put(&writer, hub_invoke_signature(invoke)->types[0], outcome->result);
    guest_answer_result(guest, &writer, answer);
}
