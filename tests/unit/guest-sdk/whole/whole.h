/* SPDX-License-Identifier: Apache-2.0 */
/* whole: a guest that runs on a thread of the test, from its ticket to its exit status, while the
 * test itself is the host's end of the link. All messages go through the segment, as between
 * processes. */
#ifndef TESTS_UNIT_GUEST_SDK_WHOLE_WHOLE_H
#define TESTS_UNIT_GUEST_SDK_WHOLE_WHOLE_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <rapahub/guest.h>

#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"
#include "tests/unit/guest-sdk/hosted.h"

#define WHOLE_MODULE(name) TEST_MODULES "/" name ".so"
#define WHOLE_BYTES        66000 /* bytes of a request's payload, at most */

/* The addresses of a call's arguments. */
#define WHOLE_ARGUMENTS(...) \
    (const void *const[])    \
    {                        \
        __VA_ARGS__, NULL    \
    }

struct whole {
    struct hosted hosted;
    const struct rapahub_chimod *chimod; /* built in; NULL: the ticket's module */
    int module;                          /* its descriptor; -1: none */
    pthread_t thread;
    int status; /* result of the guest's run */
    struct hub_a32 ended;

    int refusal; /* with which the host answers that the guest is ready; 0: none */
    bool ready;
    struct hub_ready says; /* without its texts, which are: */
    char name[64], version[64];

    /* Answers a call of the guest's chimod, as a method would; NULL: there is none. */
    int (*on_call)(struct whole *whole, const struct hub_request *request,
                   struct hub_writer *result);
    void *user;

    struct hub_answer shown; /* memory of views in the last result */
};

static struct end *whole_host(struct whole *whole)
{
    return &whole->hosted.pair.host;
}

__attribute__((unused)) static struct hub_peer_entry *whole_entry(struct whole *whole)
{
    return whole_host(whole)->view.entry;
}

/* ---- start ---- */

static void *whole_nothing(void *user)
{
    return user;
}

/* ThreadSanitizer starts a thread of its own together with the program's first one. It must exist
 * before the leaks of a test are counted. */
static void whole_warm_up(void)
{
    pthread_t first;

    assert_int_equal(pthread_create(&first, NULL, whole_nothing, NULL), 0);
    pthread_join(first, NULL);
}

/* The host's end, and a ticket; no guest yet. */
__attribute__((unused)) static void whole_reserve(struct whole *whole,
                                                  const struct hub_limits *limits)
{
    whole_warm_up();
    memset(whole, 0, sizeof *whole);
    whole->module = -1;
    hosted_reserve(&whole->hosted, limits);
}

/* Puts a module on the ticket, under a number that no other module had: dlopen takes the same name
 * for the same module. */
__attribute__((unused)) static void whole_take_module(struct whole *whole, const char *path)
{
    static int last = 100;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char number[16];

    assert_true(fd >= 0);
    whole->module = fcntl(fd, F_DUPFD_CLOEXEC, last + 1);
    assert_true(whole->module > last);
    last = whole->module;
    close(fd);
    snprintf(number, sizeof number, "%d", last);
    hosted_argue(&whole->hosted, "--module-fd=", number);
    hosted_argue(&whole->hosted, "--module-name=", strrchr(path, '/') + 1);
}

static void *whole_run(void *user)
{
    struct whole *whole = user;

    whole->status = rapahub_guest_run(whole->hosted.count, whole->hosted.arguments, whole->chimod);
    hub_publish(&whole->ended, 1);
    return NULL;
}

__attribute__((unused)) static void whole_start(struct whole *whole)
{
    whole->hosted.pair.guest.doorbell = -1; /* the guest closes it */
    assert_int_equal(pthread_create(&whole->thread, NULL, whole_run, whole), 0);
}

/* ---- requests of the guest ---- */

static void whole_take_ready(struct whole *whole, struct hub_reader *reader)
{
    hub_payload_decode(reader, &rapahub_type_hub_ready, &whole->says);
    assert_int_equal(hub_postcard_end(reader), 0);
    snprintf(whole->name, sizeof whole->name, "%.*s", (int)whole->says.name.size,
             whole->says.name.data);
    snprintf(whole->version, sizeof whole->version, "%.*s", (int)whole->says.version.size,
             whole->says.version.data);
    whole->ready = true;
}

static void whole_answer(struct whole *whole, struct hub_request *request)
{
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    uint8_t result[1024];
    struct hub_writer writer;
    struct hub_reader reader;
    int r = whole->refusal;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    hub_writer_init(&writer, result, sizeof result);
    if (request->method_id == hub_lifecycle_id(HUB_LIFECYCLE_READY))
        whole_take_ready(whole, &reader);
    else
        r = whole->on_call ? whole->on_call(whole, request, &writer) : RAPAHUB_ENOMETHOD;
    if (r == RAPAHUB_ENOMETHOD)
        response.kind = HUB_RESPONSE_UNKNOWN_METHOD;
    else if (r != 0)
        response = (struct hub_response){
            .kind = HUB_RESPONSE_USER, .code = r, .text = rapahub_string_of("the host's word")};
    (void)hub_inbound_calls_answer(whole_host(whole)->connection.served, request, &response,
                                   (struct rapahub_bytes){result, writer.size});
}

static bool whole_has_news(void *user)
{
    struct whole *whole = user;

    return hub_load_relaxed(&whole_host(whole)->requests) != 0 || hub_observe(&whole->ended) != 0;
}

/* Answers what the guest asks, and waits a little. */
static void whole_turn(struct whole *whole)
{
    struct hub_connection *connection = &whole_host(whole)->connection;
    const struct hub_link_until until = {.done = whole_has_news,
                                         .user = whole,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(HUB_MILLISECOND)};
    struct hub_request *request;

    (void)hub_link_lead(connection->link, &until);
    hub_store_relaxed(&whole_host(whole)->requests, 0);
    while ((request = hub_inbound_calls_next(connection->served, NULL, NULL)))
        whole_answer(whole, request);
}

/* Turns until the word is not 0; false where that takes too long. */
__attribute__((unused)) static bool whole_until(struct whole *whole, struct hub_a32 *word)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (hub_observe(word) == 0 && hub_clock_left(deadline) != 0)
        whole_turn(whole);
    return hub_observe(word) != 0;
}

/* Until the guest is ready, or has given up. */
__attribute__((unused)) static void whole_await_ready(struct whole *whole)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (!whole->ready && hub_observe(&whole->ended) == 0 && hub_clock_left(deadline) != 0)
        whole_turn(whole);
}

/* ---- requests of the host ---- */

/* A call and its expected result. */
struct whole_call {
    uint64_t method_id;
    uint64_t container, chain;
    const struct rapahub_type *const *types; /* result, arguments, NULL */
    const void *const *arguments;
};

/* A call on its way. */
struct whole_operation {
    uint64_t number;
    const struct rapahub_type *type; /* type of the result */
    struct hub_answer answer;
};

/* The Request is out. */
__attribute__((unused)) static void whole_begin(struct whole *whole, const struct whole_call *call,
                                                struct whole_operation *operation)
{
    const struct hub_metadata metadata = {.container = call->container, .chain = call->chain};
    struct hub_call order = {.method_id = call->method_id,
                             .deadline_ns = hub_clock_after(SOON),
                             .answer = &operation->answer};
    uint8_t *bytes = malloc(WHOLE_BYTES);
    struct hub_writer writer;

    assert_non_null(bytes);
    *operation = (struct whole_operation){.type = call->types[0]};
    hub_writer_init(&writer, bytes, WHOLE_BYTES);
    hub_metadata_write(&writer, &metadata);
    hub_payload_put_arguments(&writer, call->types + 1, call->arguments);
    assert_int_equal(writer.failure, 0);
    order.payload.head = (struct rapahub_bytes){bytes, writer.size};
    assert_int_equal(
        hub_calls_begin(whole_host(whole)->connection.calls, &order, &operation->number), 0);
    free(bytes);
}

static bool whole_is_over(struct whole *whole, const struct whole_operation *operation)
{
    return hub_calls_ended(whole_host(whole)->connection.calls, operation->number);
}

/* Waits, and serves the guest meanwhile: 0, or the code a caller gets, with its diagnosis. Views in
 * *result hold until the next finish. */
__attribute__((unused)) static int whole_finish(struct whole *whole,
                                                struct whole_operation *operation, void *result)
{
    struct hub_response response;
    struct hub_reader reader;
    int r;

    while (!whole_is_over(whole, operation))
        whole_turn(whole);
    r = hub_calls_wait(whole_host(whole)->connection.calls, operation->number, false);
    hub_responses_fini(&whole->shown);
    whole->shown = operation->answer;
    if (r < 0)
        return r;
    hub_reader_init(&reader, whole->shown.data, whole->shown.size);
    assert_int_equal(hub_response_decode(&reader, &response), 0);
    if (response.kind != HUB_RESPONSE_OK)
        return hub_response_code(&response, "it");
    if (operation->type->kind != RAPAHUB_KIND_VOID)
        hub_payload_decode(&reader, operation->type, result);
    assert_int_equal(hub_postcard_end(&reader), 0);
    return 0;
}

__attribute__((unused)) static int whole_ask(struct whole *whole, const struct whole_call *call,
                                             void *result)
{
    struct whole_operation operation;

    whole_begin(whole, call, &operation);
    return whole_finish(whole, &operation, result);
}

__attribute__((unused)) static int whole_tell(struct whole *whole, enum hub_lifecycle_method method,
                                              const void *const *arguments, void *result)
{
    const struct whole_call call = {.method_id = hub_lifecycle_id(method),
                                    .types = hub_lifecycle_table[method].types,
                                    .arguments = arguments};

    return whole_ask(whole, &call, result);
}

__attribute__((unused)) static int whole_begin_container(struct whole *whole, uint64_t handle)
{
    const struct hub_begin begin = {
        .handle = handle, .id = {1, 2, (uint32_t)handle}, .pool_name = {"pool", 4}};

    return whole_tell(whole, HUB_LIFECYCLE_BEGIN, WHOLE_ARGUMENTS(&begin), NULL);
}

/* A method, by its signature. */
__attribute__((unused)) static int whole_run_method(struct whole *whole, uint64_t container,
                                                    const char *text, const void *const *arguments,
                                                    void *result)
{
    struct whole_call call = {.container = container, .arguments = arguments};
    struct hub_signature *signature = NULL;
    int r;

    assert_int_equal(hub_signature_parse(text, &signature), 0);
    call.method_id = signature->id;
    call.types = signature->types;
    r = whole_ask(whole, &call, result);
    hub_signature_release(&signature);
    return r;
}

/* The last failure was the method's own, with that code and text. */
__attribute__((unused)) static void whole_assert_application(int code, const char *text)
{
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, code);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' is not in '%s'", text, rapahub_last_error()->text);
}

/* ---- the module `good` ---- */

/* A guest that is ready and has container 1. */
__attribute__((unused)) static void whole_open_with(struct whole *whole,
                                                    const struct hub_limits *limits)
{
    whole_reserve(whole, limits);
    whole_take_module(whole, WHOLE_MODULE("good"));
    whole_start(whole);
    whole_await_ready(whole);
    assert_true(whole->ready);
    assert_int_equal(whole_begin_container(whole, 1), 0);
}

__attribute__((unused)) static void whole_open(struct whole *whole)
{
    const struct hub_limits limits = hosted_limits();

    whole_open_with(whole, &limits);
}

/* Returns the result of its method `bump`: the total. */
__attribute__((unused)) static int64_t whole_bump(struct whole *whole, uint64_t container,
                                                  int64_t by)
{
    int64_t total = -1;

    assert_int_equal(
        whole_run_method(whole, container, "bump(i64) -> i64", WHOLE_ARGUMENTS(&by), &total), 0);
    return total;
}

/* ---- the end ---- */

/* Serves the guest until it has ended, and takes its last messages: its status. */
__attribute__((unused)) static int whole_await_end(struct whole *whole)
{
    assert_true(whole_until(whole, &whole->ended));
    pthread_join(whole->thread, NULL);
    (void)hub_link_sweep(whole_host(whole)->connection.link, UINT32_MAX);
    return whole->status;
}

__attribute__((unused)) static void whole_release(struct whole *whole)
{
    hub_responses_fini(&whole->shown);
    if (whole->module >= 0)
        close(whole->module);
    hosted_release(&whole->hosted);
}

/* Goodbye, and the guest goes: status 0. */
__attribute__((unused)) static void whole_close(struct whole *whole)
{
    hub_link_say_goodbye(whole_host(whole)->connection.link, "", "the test is over");
    assert_int_equal(whole_await_end(whole), RAPAHUB_GUEST_DONE);
    whole_release(whole);
}

#endif
