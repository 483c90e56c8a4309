/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/response.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"

#define ERRORS   4 /* variants of RoamError */
#define TEXT_MAX 1024

/* A method may write any text, but a string on the wire must be UTF-8. */
static void put_text(struct hub_writer *writer, struct rapahub_string text)
{
    if (hub_postcard_utf8(text.data, text.size)) {
        hub_postcard_put_string(writer, text);
        return;
    }
    hub_postcard_put_unsigned(writer, text.size);
    for (size_t i = 0; i < text.size; i++)
        hub_writer_byte(writer, (uint8_t)text.data[i] < 0x80 ? (uint8_t)text.data[i] : '?');
}

/* r[impl core.error.roam-error] r[impl call.error.roam-error] r[impl call.error.user]
 * r[impl shm.metadata.in-payload] */
void hub_response_put_failure(struct hub_writer *writer, const struct hub_response *response)
{
    bool failed = response->kind == HUB_RESPONSE_CANCELLED || response->kind == HUB_RESPONSE_USER;
    struct hub_metadata metadata = {.fault = failed ? response->fault : 0};

    hub_metadata_write(writer, &metadata);
    hub_writer_byte(writer, 1);
    hub_postcard_put_unsigned(writer, (uint64_t)(response->kind - HUB_RESPONSE_USER));
    if (response->kind == HUB_RESPONSE_USER) {
        hub_postcard_put_signed(writer, response->code);
        put_text(writer, response->text);
    }
}

static void take_error(struct hub_reader *reader, struct hub_response *out)
{
    out->kind =
        (enum hub_response_kind)(HUB_RESPONSE_USER + hub_postcard_read_variant(reader, ERRORS));
    if (out->kind == HUB_RESPONSE_USER) {
        out->code = (int)hub_postcard_read_signed(reader, 32);
        out->text = hub_postcard_read_string(reader);
    }
    hub_postcard_end(reader);
}

int hub_response_decode(struct hub_reader *reader, struct hub_response *out)
{
    struct hub_response response = {HUB_RESPONSE_OK, 0, {NULL, 0}, 0};
    struct hub_metadata metadata;
    int r = hub_metadata_read(reader, &metadata);

    if (r < 0)
        return r;
    response.fault = metadata.fault;
    if (hub_postcard_read_variant(reader, 2))
        take_error(reader, &response);
    if (reader->failure)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "message.decode-error",
                            "a response cannot be decoded");
    *out = response;
    return 0;
}

static int fail_application(const struct hub_response *response)
{
    char text[TEXT_MAX];
    size_t size = response->text.size < sizeof(text) ? response->text.size : sizeof(text) - 1;

    if (size)
        memcpy(text, response->text.data, size);
    text[size] = '\0';
    return rapahub_fail_application(response->code, text);
}

/* r[impl sec.call.budget] */
static int fail_budget(uint64_t fault, const char *method)
{
    return rapahub_fail(RAPAHUB_EBUDGET, "sec.call.budget",
                        "%s %s: the other side keeps as many bytes for this one as it may; take "
                        "the answers that wait, or ask for less at once",
                        method,
                        fault == HUB_FAULT_BUDGET ? "was not run"
                                                  : "may have run, its answer was "
                                                    "dropped");
}

static int fail_lease(const char *method)
{
    return rapahub_fail(RAPAHUB_EFENCED, "hub.lease.call",
                        "%s was not run: the lease of its host is over", method);
}

/* r[impl hub.call.fault] */
static int fail_cancelled(uint64_t fault, const char *method)
{
    if (fault == HUB_FAULT_BUSY)
        return rapahub_fail(RAPAHUB_EBUSY, "hub.call.fault",
                            "%s: the other side serves as many "
                            "calls as it may",
                            method);
    if (fault == HUB_FAULT_SIZE)
        return rapahub_fail(
            RAPAHUB_EMSGSIZE, "hub.call.fault",
            "%s: the result is larger than a message may be, or there is no room for it", method);
    if (fault == HUB_FAULT_BUDGET || fault == HUB_FAULT_DROPPED)
        return fail_budget(fault, method);
    if (fault == HUB_FAULT_LEASE)
        return fail_lease(method);
    return rapahub_fail(RAPAHUB_ECANCELED, "", "%s was cancelled", method);
}

/* r[impl call.error.protocol] r[impl call.error.unknown-method] r[impl call.error.invalid-payload]
 */
int hub_response_code(const struct hub_response *response, const char *method)
{
    switch (response->kind) {
    case HUB_RESPONSE_OK:
        return 0;
    case HUB_RESPONSE_USER:
        return fail_application(response);
    case HUB_RESPONSE_UNKNOWN_METHOD:
        return rapahub_fail(RAPAHUB_ENOMETHOD, "call.error.unknown-method", "there is no method %s",
                            method);
    case HUB_RESPONSE_INVALID_PAYLOAD:
        return rapahub_fail(RAPAHUB_EARGUMENTS, "call.error.invalid-payload",
                            "%s does not take such arguments", method);
    case HUB_RESPONSE_CANCELLED:
    default:
        return fail_cancelled(response->fault, method);
    }
}

bool hub_response_is_refusal(const struct hub_response *response)
{
    switch (response->kind) {
    case HUB_RESPONSE_UNKNOWN_METHOD:
    case HUB_RESPONSE_INVALID_PAYLOAD:
        return true;
    case HUB_RESPONSE_CANCELLED:
        return response->fault == HUB_FAULT_BUSY || response->fault == HUB_FAULT_BUDGET ||
               response->fault == HUB_FAULT_LEASE;
    case HUB_RESPONSE_USER:
        return response->fault == HUB_FAULT_ROUTE;
    default:
        return false;
    }
}
