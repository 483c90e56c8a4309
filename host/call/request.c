/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/request.h"

#include <stdlib.h>
#include <string.h>

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/owner/ownership.h"
#include "host/owner/wait.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/line.h"
#include "hub/base/own.h"
#include "hub/call/call_deadline.h"
#include "hub/wire/metadata.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/response.h"

#define FULL_AGAIN  (2 * HUB_MILLISECOND)
#define SHOWN_HEAD  256 /* bytes; enough for the metadata of a response and a length */
#define NESTED_MOST 16  /* requests served in one wait between two turns */

size_t host_request_head(uint64_t container, uint64_t chain, uint8_t *to)
{
    const struct hub_metadata metadata = {.container = container, .chain = chain};
    struct hub_writer writer;

    hub_writer_init(&writer, to, HOST_REQUEST_HEAD_MAX);
    hub_metadata_write(&writer, &metadata);
    return writer.size;
}

/* Takes a turn. A host that never sleeps looks at the other events between two looks for its
 * answer. */
static int take_turn(struct host_call *host, struct hub_calls *calls, uint64_t number)
{
    if (host->process.options.waiting == RAPAHUB_WAIT_POLL)
        return host_wait_turn(&host->process.owner, 0);
    return host_wait_until(&host->process.owner, hub_call_deadline_of(calls, number));
}

/* Serves the requests of the guest that are queued, and those that follow at once, within the limit
 * that protects other work. Returns whether any was served. */
static bool serve(struct host_call *host, struct host_life *life, uint32_t *left)
{
    uint32_t queued = life && *left > 0 ? host->hooks->serve_queued(host, life, *left) : 0;

    *left -= queued;
    if (queued > 0)
        *left -= host->hooks->serve(host, life, *left);
    return queued > 0;
}

/* The owner's wait: it spins first, as any thread does, and then takes turns. With streams more
 * than one answer is to be received, so it spins again after each turn. `life`: requests of this
 * life are served meanwhile without a turn; NULL: none are. */
static int wait_as_owner(struct host_call *host, struct host_life *life, struct hub_calls *calls,
                         uint64_t number, bool streams)
{
    bool again = host->process.options.waiting == RAPAHUB_WAIT_POLL || streams, served;
    uint32_t left = NESTED_MOST;
    int r;

    if (life)
        left -= host->hooks->serve(host, life, left);
    r = hub_calls_wait(calls, number, true);
    while (r == -EAGAIN && !hub_calls_ended(calls, number)) {
        served = serve(host, life, &left);
        if (!served && take_turn(host, calls, number) < 0)
            break;
        if (!served)
            left = NESTED_MOST;
        if (again || served)
            r = hub_calls_wait(calls, number, true);
    }
    return r == -EAGAIN ? hub_calls_wait(calls, number, false) : r;
}

/* Returns the life that the calling thread is inside of, if these are its calls; else NULL. */
static struct host_life *life_of(struct host_call *host, const struct hub_calls *calls)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    struct host_life *life =
        caller && host_caller_is_inside(caller) ? host_caller_life(caller) : NULL;

    return life && life->connection.calls == calls ? life : NULL;
}

int host_request_wait(struct host_call *host, struct hub_calls *calls, uint64_t number,
                      bool streams)
{
    if (!host_ownership_is_owner(&host->process.owner))
        return hub_calls_wait(calls, number, false);
    return wait_as_owner(host, streams ? NULL : life_of(host, calls), calls, number, streams);
}

/* Begins a call. The owner never waits for space in one guest's memory: it takes turns
 * meanwhile. */
static int begin(struct host_call *host, struct hub_calls *calls, const struct hub_call *call,
                 uint64_t *number)
{
    int r = hub_calls_begin(calls, call, number);

    while (r == -EAGAIN) {
        uint64_t again = hub_clock_after(FULL_AGAIN);

        if (hub_clock_left(call->deadline_ns) == 0)
            return RAPAHUB_ETIMEDOUT;
        r = host_wait_until(&host->process.owner,
                            again < call->deadline_ns ? again : call->deadline_ns);
        if (r >= 0)
            r = hub_calls_begin(calls, call, number);
    }
    return r;
}

static bool has_apart(const struct host_request *exchange)
{
    return exchange->loan || exchange->apart.data;
}

/* Writes everything that precedes the bytes apart. If it does not fit before a loan, a size is
 * returned that the link refuses. */
static size_t put_head(const struct host_request *exchange, uint64_t chain, uint8_t *to)
{
    size_t size = host_request_head(exchange->container, chain, to);

    if (!has_apart(exchange))
        return size;
    if (exchange->loan && exchange->arguments.size > HOST_REQUEST_HEAD_MAX - size)
        return HOST_REQUEST_HEAD_MAX;
    CHECK(exchange->loan || exchange->arguments.size <= HOST_REQUEST_BEFORE_MAX);
    memcpy(to + size, exchange->arguments.data, exchange->arguments.size);
    return size + exchange->arguments.size;
}

static int wait_for(struct host_call *host, const struct host_request *exchange, uint64_t number)
{
    struct hub_calls *calls = exchange->life->connection.calls;
    bool streams = exchange->streams != NULL;

    if (!host_ownership_is_owner(&host->process.owner))
        return hub_calls_wait(calls, number, false);
    return wait_as_owner(host, streams ? NULL : exchange->life, calls, number, streams);
}

static int run(struct host_call *host, const struct host_request *exchange,
               struct host_chain_seat *seat, struct hub_answer *answer)
{
    struct hub_calls *calls = exchange->life->connection.calls;
    uint64_t chain = seat ? host_chains_take(seat, exchange->life) : 0;
    bool owner = host_ownership_is_owner(&host->process.owner);
    uint8_t head[HOST_REQUEST_HEAD_MAX + HOST_REQUEST_BEFORE_MAX];
    const struct hub_call call = {
        .method_id = exchange->method_id,
        .payload = {.head = {head, put_head(exchange, chain, head)},
                    .tail = has_apart(exchange) ? exchange->apart : exchange->arguments,
                    .loan = exchange->loan,
                    .aligned = exchange->aligned},
        .deadline_ns = exchange->deadline_ns,
        .answer = answer,
        .view = exchange->view && exchange->life->segment.trusted,
        .at_once = owner,
        .channels = exchange->streams ? hub_streams_channels(exchange->streams) : NULL,
    };
    uint64_t number;
    int r;

    host_corks_push(host); /* this call may wait for a slot that held calls occupy */
    r = begin(host, calls, &call, &number);
    if (r == 0 && seat)
        host_chains_note(seat, number);
    if (r == 0 && exchange->on_begun)
        exchange->on_begun(exchange->user, number);
    if (r == 0 && exchange->streams)
        hub_streams_begin(exchange->streams, number);
    if (r == 0)
        r = wait_for(host, exchange, number);
    return r < 0 ? host_life_explain(exchange->life, r, exchange->method) : 0;
}

/* Returns whether the call belongs to the chain of the request that a service answers now. */
static bool is_chained(struct host_call *host, const struct host_request *exchange)
{
    return host_ownership_is_owner(&host->process.owner) && host->chain.value != 0 &&
           !exchange->own;
}

int host_request_run(struct host_call *host, const struct host_request *exchange,
                     struct hub_answer *answer)
{
    struct host_chain_seat *seat = NULL;
    int r;

    if (is_chained(host, exchange)) {
        seat = host_chains_reserve(host, &host->chain);
        if (!seat)
            return RAPAHUB_ENOMEM;
        seat->container = exchange->target;
    }
    r = run(host, exchange, seat, answer);
    host_chains_leave(&seat);
    return r;
}

/* Without a life the answer is that of the router. r[impl hub.violation] */
static int violation(struct host_life *life, const char *method)
{
    const char *rule = rapahub_last_error()->rule;

    if (!life)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "message.decode-error",
                            "the answer to %s is not what the method returns", method);
    hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL,
                   rule[0] ? rule : "message.decode-error");
    return host_life_explain(life, RAPAHUB_EPROTOCOL, method);
}

/* Reads the length of the bytes. The reader is at the length, in a copy of the first `copied`
 * bytes. */
static bool take_length(const struct hub_answer *answer, struct hub_reader *reader, size_t copied,
                        void *result)
{
    uint64_t size = hub_postcard_read_unsigned(reader, 64);
    size_t before = copied - hub_reader_left(reader);

    if (reader->failure < 0 || size != answer->size - before ||
        !hub_line_begins(answer->view.data + before))
        return false;
    *(struct rapahub_bytes *)result =
        (struct rapahub_bytes){answer->view.data + before, (size_t)size};
    return true;
}

/* Reads an OK without metadata, the usual case, and a length of two or three bytes. */
static bool take_plain(const struct hub_answer *answer, struct rapahub_bytes *result)
{
    uint64_t head = hub_atomic_peek_bytes(answer->view.data);
    uint32_t length, before = 2 + hub_postcard_read_short((uint32_t)(head >> 16), &length);

    if ((head & 0xFFFF) != 0 || before == 2 || length != answer->size - before ||
        !hub_line_begins(answer->view.data + before))
        return false;
    *result = (struct rapahub_bytes){answer->view.data + before, length};
    return true;
}

/* Decodes what precedes the bytes from a copy: a guest may change its memory. Returns false if the
 * answer is not bytes and nothing else, or they do not begin at a cache line. */
static __attribute__((noinline)) bool take_any_shown(const struct hub_answer *answer, void *result)
{
    uint8_t head[SHOWN_HEAD];
    struct hub_response response;
    struct hub_reader reader;

    hub_atomic_copy_bytes(head, answer->view.data, sizeof head);
    hub_reader_init(&reader, head, sizeof head);
    return hub_response_decode(&reader, &response) == 0 && response.kind == HUB_RESPONSE_OK &&
           take_length(answer, &reader, sizeof head, result);
}

/* r[impl hub.view.release] */
bool host_request_decode_shown(const struct hub_answer *answer, const struct rapahub_type *type,
                               void *result)
{
    return result && type->kind == RAPAHUB_KIND_BYTES && answer->size >= SHOWN_HEAD &&
           (take_plain(answer, result) || take_any_shown(answer, result));
}

/* Copies a view into the answer's own memory and releases it. */
static int copy_shown(struct hub_answer *answer)
{
    uint32_t phase = (uint32_t)((uintptr_t)answer->view.data % HUB_LINE);

    if (!hub_responses_reserve(answer, answer->size, phase))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an answer of %u bytes",
                            answer->size);
    hub_atomic_copy_bytes(answer->data, answer->view.data, answer->size);
    hub_view_release(&answer->view);
    return 0;
}

/* Aligns the bytes in the result. */
static int align(struct hub_answer *answer, const struct rapahub_type *type, void *result)
{
    const struct rapahub_type *const types[] = {type, NULL};
    static const size_t at_start[] = {0};

    if (type->kind == RAPAHUB_KIND_BYTES)
        return hub_align_bytes(result, &answer->aligned);
    return type->kind == RAPAHUB_KIND_RECORD
               ? hub_align_values(types, result, at_start, &answer->aligned)
               : 0;
}

int host_request_decode(struct host_life *life, struct hub_answer *answer, const char *method,
                        const struct rapahub_type *type, void *result)
{
    struct hub_reader reader;
    struct hub_response response;

    if (answer->view.link && host_request_decode_shown(answer, type, result))
        return 0;
    if (answer->view.link && copy_shown(answer) < 0)
        return RAPAHUB_ENOMEM;
    hub_reader_init(&reader, answer->data, answer->size);
    if (!hub_response_decode_plain(&reader)) {
        if (hub_response_decode(&reader, &response) < 0)
            return violation(life, method);
        if (response.kind != HUB_RESPONSE_OK)
            return hub_response_code(&response, method);
    }
    if (!result || type->kind == RAPAHUB_KIND_VOID)
        return 0;
    hub_payload_decode(&reader, type, result);
    return hub_postcard_end(&reader) < 0 ? violation(life, method) : align(answer, type, result);
}

/* Encodes the arguments of a lifecycle message in new memory. */
static int encode(enum hub_lifecycle_method method, const void *const *arguments, uint8_t **data,
                  size_t *size)
{
    const struct rapahub_type *const *types = hub_lifecycle_table[method].types + 1;
    struct hub_writer writer;

    hub_writer_count(&writer);
    hub_payload_put_arguments(&writer, types, arguments);
    if (writer.failure < 0)
        return rapahub_fail(writer.failure, "", "the arguments of %s cannot be encoded",
                            hub_lifecycle_table[method].name);
    *data = malloc(writer.size + 1);
    if (!*data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a message to a guest");
    hub_writer_init(&writer, *data, writer.size);
    hub_payload_put_arguments(&writer, types, arguments);
    *size = writer.size;
    return 0;
}

int host_request_ask(struct host_call *host, struct host_life *life,
                     const struct host_request_question *question)
{
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[question->method];
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    OWN(hub_memory) uint8_t *data = NULL;
    struct hub_answer answer;
    size_t size = 0;
    int r = caller ? encode(question->method, question->arguments, &data, &size) : RAPAHUB_ENOMEM;

    if (r < 0)
        return r;
    const struct host_request exchange = {.life = life,
                                          .method_id = entry->id,
                                          .arguments = {data, size},
                                          .deadline_ns = question->deadline_ns,
                                          .method = entry->name,
                                          .own = true};

    answer = host_caller_answer(caller);
    r = host_request_run(host, &exchange, &answer);
    if (r == 0)
        r = host_request_decode(life, &answer, entry->name, entry->types[0], question->result);
    host_caller_show(caller, &answer);
    return r;
}

static int send(struct host_life *life, const struct host_request_message *message, bool at_once)
{
    OWN(hub_memory) uint8_t *data = NULL;
    uint8_t head[HOST_REQUEST_HEAD_MAX];
    struct hub_call call = {.method_id = hub_lifecycle_id(message->method),
                            .payload = {.head = {head, host_request_head(0, 0, head)}},
                            .deadline_ns = message->deadline_ns,
                            .done = message->done,
                            .user = message->user,
                            .at_once = at_once};
    uint64_t number;
    size_t size = 0;
    int r = encode(message->method, message->arguments, &data, &size);

    if (r < 0)
        return r;
    call.payload.tail = (struct rapahub_bytes){data, size};
    r = hub_calls_begin(life->connection.calls, &call, &number);
    return r < 0 ? host_life_explain(life, r, hub_lifecycle_table[message->method].name) : 0;
}

int host_request_send(struct host_life *life, const struct host_request_message *message)
{
    return send(life, message, true);
}

int host_request_post(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, hub_calls_done *done, uint64_t deadline_ns)
{
    const struct host_request_message message = {.method = method,
                                                 .arguments = arguments,
                                                 .done = done,
                                                 .user = life,
                                                 .deadline_ns = deadline_ns};

    return send(life, &message, false);
}

static void forget(void *user, int code, struct hub_answer *answer)
{
    (void)user;
    (void)code;
    (void)answer;
}

int host_request_tell(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, uint64_t deadline_ns)
{
    const struct host_request_message message = {.method = method,
                                                 .arguments = arguments,
                                                 .done = forget,
                                                 .user = life,
                                                 .deadline_ns = deadline_ns};

    return send(life, &message, true);
}
