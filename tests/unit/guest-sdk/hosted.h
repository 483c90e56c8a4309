/* SPDX-License-Identifier: Apache-2.0 */
/* hosted: a guest that runs on a thread of the test, while the test itself is the host's end of the
 * link. All messages go through the segment, as between processes. */
#ifndef TESTS_UNIT_GUEST_SDK_HOSTED_H
#define TESTS_UNIT_GUEST_SDK_HOSTED_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <rapahub/guest.h>

#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"
#include "tests/support/leak.h"
#include "tests/unit/link/pair.h"

#define ARGUMENTS_MAX 8

struct hosted {
    struct leak *leak;
    struct pair pair; /* only the host's end is open; the other is the guest's own */
    const struct rapahub_chimod *chimod;
    char text[ARGUMENTS_MAX][256];
    char *arguments[ARGUMENTS_MAX + 1];
    int count;
    pthread_t thread;
    int segment; /* the ticket's descriptor, which the guest closes once it has attached */
    int status;  /* result of the guest's run */
    struct hub_a32 ended;
    bool ready;
    struct hub_ready says; /* without its texts */
    char name[64];
    uint8_t bytes[2048]; /* bytes of a payload */
    struct hub_answer answer;
    /* Answers a call of the guest's chimod: as a method would. */
    int (*on_call)(struct hosted *hosted, const struct hub_request *request,
                   struct hub_writer *result);
    void *user;
};

__attribute__((unused)) static struct hub_limits hosted_limits(void)
{
    return (struct hub_limits){.payload_max = 65532,
                               .credit_size = 65536,
                               .guests_max = 1,
                               .ring_size = 64,
                               .slot_size = 65536,
                               .slot_count = 4,
                               .channels_max = 4,
                               .heartbeat_ns = 0};
}

__attribute__((unused)) static void hosted_argue(struct hosted *hosted, const char *name,
                                                 const char *value)
{
    assert_true(hosted->count < ARGUMENTS_MAX);
    snprintf(hosted->text[hosted->count], sizeof hosted->text[0], "%s%s", name, value);
    hosted->arguments[hosted->count] = hosted->text[hosted->count];
    hosted->count++;
}

static void hosted_argue_number(struct hosted *hosted, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    hosted_argue(hosted, name, text);
}

/* The host's end, and a ticket for the guest. */
__attribute__((unused)) static void hosted_reserve(struct hosted *hosted,
                                                   const struct hub_limits *limits)
{
    struct pair *pair = &hosted->pair;
    char path[64];

    memset(hosted, 0, sizeof *hosted);
    hosted->leak = leak_begin();
    assert_int_equal(hub_segment_create(limits, limits->guests_max > 1, &pair->host.segment), 0);
    assert_int_equal(hub_peer_table_reserve(pair->host.segment, &pair->peer, &pair->epoch), 0);
    hub_segment_view(pair->host.segment, pair->peer, &pair->host.view);
    assert_int_equal(hub_doorbell_create(&pair->host.doorbell, &pair->guest.doorbell), 0);
    pair_open_end(pair, &pair->host, HUB_ROLE_HOST);
    hosted->segment = fcntl(pair->host.segment->mapping.fd, F_DUPFD_CLOEXEC, 90);
    assert_true(hosted->segment >= 90);
    snprintf(path, sizeof path, "/proc/self/fd/%d", hosted->segment);
    hosted_argue(hosted, "guest", "");
    hosted_argue(hosted, "--hub-path=", path);
    hosted_argue_number(hosted, "--peer-id=", (int)pair->peer);
    hosted_argue_number(hosted, "--doorbell-fd=", pair->guest.doorbell);
}

static void *hosted_run(void *user)
{
    struct hosted *hosted = user;

    hosted->status = rapahub_guest_run(hosted->count, hosted->arguments, hosted->chimod);
    hub_publish(&hosted->ended, 1);
    return NULL;
}

__attribute__((unused)) static void hosted_start(struct hosted *hosted)
{
    hosted->pair.guest.doorbell = -1; /* the guest closes it */
    assert_int_equal(pthread_create(&hosted->thread, NULL, hosted_run, hosted), 0);
}

/* ---- requests of the guest ---- */

static void hosted_take_ready(struct hosted *hosted, struct hub_reader *reader)
{
    hub_payload_decode(reader, &rapahub_type_hub_ready, &hosted->says);
    assert_int_equal(hub_postcard_end(reader), 0);
    snprintf(hosted->name, sizeof hosted->name, "%.*s", (int)hosted->says.name.size,
             hosted->says.name.data);
    hosted->ready = true;
}

static void hosted_answer(struct hosted *hosted, struct hub_request *request)
{
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    uint8_t result[1024];
    struct hub_writer writer;
    struct hub_reader reader;
    int r = 0;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    hub_writer_init(&writer, result, sizeof result);
    if (request->method_id == hub_lifecycle_id(HUB_LIFECYCLE_READY))
        hosted_take_ready(hosted, &reader);
    else
        r = hosted->on_call ? hosted->on_call(hosted, request, &writer) : RAPAHUB_ENOMETHOD;
    if (r == RAPAHUB_ENOMETHOD)
        response.kind = HUB_RESPONSE_UNKNOWN_METHOD;
    else if (r != 0)
        response = (struct hub_response){.kind = HUB_RESPONSE_USER, .code = r};
    (void)hub_inbound_calls_answer(hosted->pair.host.connection.served, request, &response,
                                   (struct rapahub_bytes){result, writer.size});
}

static bool hosted_has_news(void *user)
{
    return hub_load_relaxed(&((struct hosted *)user)->pair.host.requests) != 0;
}

/* Answers what the guest asks, and waits a little. */
static void hosted_turn(struct hosted *hosted)
{
    struct hub_connection *connection = &hosted->pair.host.connection;
    const struct hub_link_until until = {.done = hosted_has_news,
                                         .user = hosted,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(HUB_MILLISECOND)};
    struct hub_request *request;

    (void)hub_link_lead(connection->link, &until);
    hub_store_relaxed(&hosted->pair.host.requests, 0);
    while ((request = hub_inbound_calls_next(connection->served, NULL, NULL)))
        hosted_answer(hosted, request);
}

/* Until the guest is ready, or has given up. */
__attribute__((unused)) static void hosted_await_ready(struct hosted *hosted)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (!hosted->ready && !hub_observe(&hosted->ended) && hub_clock_left(deadline))
        hosted_turn(hosted);
}

__attribute__((unused)) static void hosted_open(struct hosted *hosted,
                                                const struct rapahub_chimod *chimod,
                                                const struct hub_limits *limits)
{
    hosted_reserve(hosted, limits);
    hosted->chimod = chimod;
    hosted_start(hosted);
    hosted_await_ready(hosted);
    assert_true(hosted->ready);
}

/* ---- requests of the host ---- */

/* A call and its expected result. */
struct hosted_call {
    uint64_t method_id;
    uint64_t container, chain;
    const struct rapahub_type *const *types; /* result, arguments, NULL */
    const void *const *arguments;
    uint64_t timeout_ns; /* 0: long enough */
};

/* The Request is out: its number. */
__attribute__((unused)) static int hosted_begin(struct hosted *hosted,
                                                const struct hosted_call *call,
                                                struct hub_answer *answer, uint64_t *number)
{
    const struct hub_metadata metadata = {.container = call->container, .chain = call->chain};
    struct hub_call order = {.method_id = call->method_id, .answer = answer};
    struct hub_writer writer;

    order.deadline_ns = hub_clock_after(call->timeout_ns ? call->timeout_ns : SOON);
    hub_writer_init(&writer, hosted->bytes, sizeof hosted->bytes);
    hub_metadata_write(&writer, &metadata);
    hub_payload_put_arguments(&writer, call->types + 1, call->arguments);
    assert_int_equal(writer.failure, 0);
    order.payload.head = (struct rapahub_bytes){hosted->bytes, writer.size};
    return hub_calls_begin(hosted->pair.host.connection.calls, &order, number);
}

/* Waits, and serves the guest meanwhile: 0, or the code a caller gets. */
__attribute__((unused)) static int hosted_end(struct hosted *hosted, struct hub_answer *answer,
                                              uint64_t number, const struct rapahub_type *type,
                                              void *result)
{
    struct hub_calls *calls = hosted->pair.host.connection.calls;
    struct hub_response response;
    struct hub_reader reader;
    int r;

    while (!hub_calls_ended(calls, number))
        hosted_turn(hosted);
    r = hub_calls_wait(calls, number, false);
    if (r < 0)
        return r;
    hub_reader_init(&reader, answer->data, answer->size);
    assert_int_equal(hub_response_decode(&reader, &response), 0);
    if (response.kind != HUB_RESPONSE_OK)
        return hub_response_code(&response, "it");
    if (type->kind != RAPAHUB_KIND_VOID)
        hub_payload_decode(&reader, type, result);
    return hub_postcard_end(&reader);
}

/* Views in `result` hold until the next ask of the same depth. */
__attribute__((unused)) static int hosted_ask(struct hosted *hosted, const struct hosted_call *call,
                                              void *result)
{
    struct hub_answer answer = {0};
    uint64_t number;
    int r = hosted_begin(hosted, call, &answer, &number);

    if (r == 0)
        r = hosted_end(hosted, &answer, number, call->types[0], result);
    hub_responses_fini(&hosted->answer);
    hosted->answer = answer;
    return r;
}

__attribute__((unused)) static int hosted_tell(struct hosted *hosted,
                                               enum hub_lifecycle_method method,
                                               const void *const *arguments, void *result)
{
    const struct hosted_call call = {.method_id = hub_lifecycle_id(method),
                                     .types = hub_lifecycle_table[method].types,
                                     .arguments = arguments};

    return hosted_ask(hosted, &call, result);
}

__attribute__((unused)) static int hosted_begin_container(struct hosted *hosted, uint64_t handle)
{
    const struct hub_begin begin = {.handle = handle, .id = {1, 0, (uint32_t)handle}};

    return hosted_tell(hosted, HUB_LIFECYCLE_BEGIN, (const void *const[]){&begin, NULL}, NULL);
}

/* A method, by its signature. */
__attribute__((unused)) static int hosted_run_method(struct hosted *hosted, uint64_t container,
                                                     const char *text, const void *const *arguments,
                                                     void *result)
{
    struct hub_signature *signature = NULL;
    struct hosted_call call = {.container = container, .arguments = arguments};
    int r = hub_signature_parse(text, &signature);

    assert_int_equal(r, 0);
    call.method_id = signature->id;
    call.types = signature->types;
    r = hosted_ask(hosted, &call, result);
    hub_signature_release(&signature);
    return r;
}

/* ---- ends ---- */

/* Serves the guest until it has ended: its status. */
__attribute__((unused)) static int hosted_await_end(struct hosted *hosted)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (!hub_observe(&hosted->ended) && hub_clock_left(deadline))
        hosted_turn(hosted);
    assert_int_equal(hub_observe(&hosted->ended), 1);
    pthread_join(hosted->thread, NULL);
    return hosted->status;
}

/* Where no guest has closed it. */
static void hosted_close_segment(const struct hosted *hosted)
{
    struct stat own, given;

    if (fstat(hosted->segment, &given) == 0 &&
        fstat(hosted->pair.host.segment->mapping.fd, &own) == 0 && own.st_ino == given.st_ino)
        close(hosted->segment);
}

__attribute__((unused)) static void hosted_release(struct hosted *hosted)
{
    hub_responses_fini(&hosted->answer);
    hosted_close_segment(hosted);
    pair_close_end(&hosted->pair.host);
    if (hosted->pair.guest.doorbell >= 0)
        close(hosted->pair.guest.doorbell);
    leak_assert_none(hosted->leak);
}

/* Goodbye, and the guest goes: status 0. */
__attribute__((unused)) static void hosted_close(struct hosted *hosted)
{
    hub_link_say_goodbye(hosted->pair.host.connection.link, "", "the test is over");
    assert_int_equal(hosted_await_end(hosted), RAPAHUB_GUEST_DONE);
    hosted_release(hosted);
}

#endif
