/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/services.h"

#include <stdlib.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/request.h"
#include "host/call/service.h"
#include "host/owner/threads.h"
#include "hub/base/line.h"
#include "hub/base/own.h"
#include "hub/wire/invoke.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/response.h"

#define HEAD_MAX 1280 /* bytes of a response with a text */
#define SMALL    256  /* bytes of a result for which nothing is allocated */

#define LENGTH_ROOM 16 /* bytes of a length */

/* The end of a method. The result is valid until its plan runs again. */
struct ending {
    const struct hub_signature *signature;
    const struct hub_response *response;
    const void *result;
};

/* Encodes an ending. Returns 0 or a failure. */
typedef int take_ending(void *user, const struct ending *ending);

static bool has_result(const struct ending *ending)
{
    return ending->response->kind == HUB_RESPONSE_OK &&
           ending->signature->types[0]->kind != RAPAHUB_KIND_VOID;
}

static void put_result(struct hub_writer *writer, const struct ending *ending)
{
    if (has_result(ending))
        hub_payload_put(writer, ending->signature->types[0], ending->result);
}

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an answer");
}

static int check_result(const struct hub_writer *writer, const struct ending *ending)
{
    return writer->failure < 0
               ? rapahub_fail(writer->failure, "", "the result of %s cannot be encoded",
                              ending->signature->name)
               : 0;
}

/* Returns the phase at which the answer begins, so that a result of only bytes begins at a cache
 * line. */
static uint32_t phase_of(const struct ending *ending)
{
    const struct rapahub_bytes *bytes = ending->result;
    uint8_t length[LENGTH_ROOM];

    if (!has_result(ending) || ending->signature->types[0]->kind != RAPAHUB_KIND_BYTES)
        return 0;
    return -(2 + (uint32_t)hub_postcard_put_length(length, bytes->size)) % HUB_LINE;
}

/* Encodes the answer: the head, then the result if it is an OK. */
static int put_answer(void *user, const struct ending *ending)
{
    struct hub_answer *answer = user;
    struct hub_writer writer;

    hub_writer_count(&writer);
    put_result(&writer, ending);
    if (!hub_responses_reserve(answer, (uint32_t)(writer.size + HEAD_MAX), phase_of(ending)))
        return no_memory();
    hub_writer_init(&writer, answer->data, answer->capacity);
    hub_response_put(&writer, ending->response);
    put_result(&writer, ending);
    answer->size = (uint32_t)writer.size;
    return check_result(&writer, ending);
}

static void hand_over(const struct host_services_sink *sink, const struct ending *ending,
                      const struct hub_writer *writer)
{
    sink->take(sink->user, ending->response, (struct rapahub_bytes){writer->data, writer->size});
}

static int hand_over_large(const struct host_services_sink *sink, const struct ending *ending)
{
    OWN(hub_memory) uint8_t *data = NULL;
    struct hub_writer writer;

    hub_writer_count(&writer);
    put_result(&writer, ending);
    data = malloc(writer.size + 1);
    if (!data)
        return no_memory();
    hub_writer_init(&writer, data, writer.size + 1);
    put_result(&writer, ending);
    if (writer.failure == 0)
        hand_over(sink, ending, &writer);
    return check_result(&writer, ending);
}

/* Passes head and result on separately. Most results are small. */
static int put_apart(void *user, const struct ending *ending)
{
    const struct host_services_sink *sink = user;
    uint8_t small[SMALL];
    struct hub_writer writer;

    hub_writer_init(&writer, small, sizeof small);
    put_result(&writer, ending);
    if (writer.failure == -EMSGSIZE)
        return hand_over_large(sink, ending);
    if (writer.failure == 0)
        hand_over(sink, ending, &writer);
    return check_result(&writer, ending);
}

static void describe(int status, struct hub_response *out)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    const char *text = last->code == status ? last->text : rapahub_error_text(status);

    *out = (struct hub_response){
        .kind = HUB_RESPONSE_USER, .code = status, .text = rapahub_string_of(text)};
}

/* Finds the stream of an id. The streams of a guest's request are its channels. */
static void *find_stream(void *user, const struct rapahub_type *type, uint64_t id)
{
    const struct host_services_request *request = user;

    if (!request->channels)
        return (void *)(uintptr_t)id;
    return hub_channels_find(request->channels, type->kind == RAPAHUB_KIND_SINK, id);
}

/* The function that encodes an ending, and its argument. */
struct taker {
    take_ending *take;
    void *user;
};

static int run(struct host_call *host, struct host_service *offer, uint32_t index,
               const struct host_services_request *request, const struct taker *to)
{
    struct host_services_request asked = *request;
    const struct hub_invoke_streams streams = {find_stream, &asked};
    const struct hub_invoke_target target = {offer->self, &streams};
    struct host_offered *offered = &offer->list[index];
    OWN(hub_invoke) struct hub_invoke *another = NULL;
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    struct ending ending = {offer->methods->list[index], &response, NULL};
    struct hub_outcome outcome = {0};
    struct hub_reader reader;
    bool first = !offered->busy;
    int r = first ? 0 : hub_invoke_prepare(offered->method, &another);

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    rapahub_clear_error();
    offered->busy = true;
    host->process.owner.callbacks++;
    if (r == 0)
        r = hub_invoke_call(first ? offered->plan : another, &target, &reader, &outcome);
    host->process.owner.callbacks--;
    if (r == RAPAHUB_EARGUMENTS)
        response.kind = HUB_RESPONSE_INVALID_PAYLOAD;
    else if (r < 0 || outcome.status != 0)
        describe(r < 0 ? r : outcome.status, &response);
    ending.result = outcome.result;
    r = to->take(to->user, &ending);
    if (first)
        offered->busy = false;
    return r;
}

static int run_method(struct host_call *host, struct host_container *container,
                      const struct host_services_request *request, const struct taker *to)
{
    struct host_service *offer = container->offer;
    const struct hub_response unknown = {.kind = HUB_RESPONSE_UNKNOWN_METHOD};
    const struct ending ending = {offer->methods->list[0], &unknown, NULL};

    for (uint32_t i = 0; i < offer->methods->count; i++)
        if (offer->methods->list[i]->id == request->method_id)
            return run(host, offer, i, request, to);
    return to->take(to->user, &ending);
}

int host_services_answer(struct host_call *host, struct host_container *container,
                         const struct host_services_request *request, struct hub_answer *answer)
{
    return run_method(host, container, request, &(struct taker){put_answer, answer});
}

int host_services_serve(struct host_call *host, struct host_container *container,
                        const struct host_services_request *request,
                        const struct host_services_sink *sink)
{
    struct host_services_sink to = *sink;

    return run_method(host, container, request, &(struct taker){put_apart, &to});
}

/* Work of the owner for another thread, or for itself. */
struct job {
    struct host_container *container;
    struct host_services_request request;
    struct hub_answer *answer;
};

static int run_job(struct host_owner *owner, void *argument)
{
    struct host_call *host = HOST_CALL(owner);
    struct job *job = argument;

    return host_services_answer(host, job->container, &job->request, job->answer);
}

int host_services_call(struct host_call *host, struct host_container *container,
                       const struct host_prepared *prepared, uint64_t deadline_ns, void *result)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    struct hub_answer answer = {0};
    struct job job = {container, {prepared->method_id, prepared->arguments, NULL}, &answer};
    int r = host_threads_ask(&host->process.owner, run_job, &job, deadline_ns);

    if (r == 0)
        r = host_request_decode(NULL, &answer, prepared->name, prepared->result, result);
    host_caller_show(caller, &answer);
    return r;
}
