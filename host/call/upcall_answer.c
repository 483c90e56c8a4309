/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/upcall_answer.h"

#include <rapahub/error.h>

#include "host/process/guest.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

static const struct rapahub_bytes nothing = {NULL, 0};

void host_upcall_answer_send(struct host_life *life, struct hub_request *request,
                             const struct hub_response *response, struct rapahub_bytes body)
{
    (void)hub_inbound_calls_answer(life->connection.served, request, response, body);
}

void host_upcall_answer_over_budget(struct host_life *life, struct hub_request *request,
                                    enum hub_fault fault)
{
    const struct hub_response response = {.kind = HUB_RESPONSE_CANCELLED, .fault = fault};

    hub_budget_note_refused(hub_inbound_calls_budget(life->connection.served));
    host_upcall_answer_send(life, request, &response, nothing);
}

void host_upcall_answer_refuse(struct host_life *life, struct hub_request *request, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    const char *text = last->code == code ? last->text : rapahub_error_text(code);
    struct hub_response response = {.kind = HUB_RESPONSE_USER,
                                    .code = code,
                                    .text = rapahub_string_of(text),
                                    .fault = HUB_FAULT_ROUTE};

    if (code == RAPAHUB_ECANCELED)
        response = (struct hub_response){.kind = HUB_RESPONSE_CANCELLED};
    else if (code == RAPAHUB_EBUSY)
        response = (struct hub_response){.kind = HUB_RESPONSE_CANCELLED, .fault = HUB_FAULT_BUSY};
    host_upcall_answer_send(life, request, &response, nothing);
}

void host_upcall_answer_unknown(struct host_life *life, struct hub_request *request)
{
    const struct hub_response unknown = {.kind = HUB_RESPONSE_UNKNOWN_METHOD};

    hub_add64(&life->connection.unknown, 1);
    host_upcall_answer_send(life, request, &unknown, nothing);
}

void host_upcall_answer_blame(struct host_life *life, struct hub_request *request)
{
    hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL, "sec.call.own");
    host_upcall_answer_unknown(life, request);
}

void host_upcall_answer_hand_on(struct host_life *life, struct hub_request *request,
                                const struct hub_answer *from)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, from->data, from->size);
    if (hub_response_decode(&reader, &response) < 0) {
        host_upcall_answer_refuse(life, request, RAPAHUB_EPROTOCOL);
        return;
    }
    if (response.kind == HUB_RESPONSE_USER)
        response.fault = HUB_FAULT_NONE; /* no guest speaks for the host */
    host_upcall_answer_send(life, request, &response,
                            (struct rapahub_bytes){reader.at, hub_reader_left(&reader)});
}
