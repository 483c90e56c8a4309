/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/request.h"
#include "host/call/services.h"
#include "tests/unit/host-call/floor.h"

#define LARGE 3000

struct self {
    struct stage *stage;
    struct host_container *container;
    uint32_t callbacks, depth;
    int inner;
};

static uint8_t large[LARGE];

static int add(void *user, int64_t a, int64_t b, int64_t *result)
{
    struct self *self = user;

    self->callbacks = self->stage->host.process.owner.callbacks;
    *result = a + b;
    return 0;
}

static int refuse(void *user, uint32_t how)
{
    (void)user;
    return how == 1 ? rapahub_fail(-7, "", "not today") : -7;
}

static int fill(void *user, uint32_t size, struct rapahub_bytes *result)
{
    (void)user;
    *result = (struct rapahub_bytes){large, size};
    return 0;
}

static int count_down(void *user, uint32_t from, uint32_t *result);

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, add, i64, i64, i64), RAPAHUB_METHOD(refuse, refuse, void, u32),
    RAPAHUB_METHOD(fill, fill, bytes, u32), RAPAHUB_METHOD(count_down, count_down, u32, u32),
    RAPAHUB_METHOD_END};

static uint64_t id_of(const struct self *self, const char *name)
{
    return host_methods_of_name(host_service_methods(self->container->offer), name)->id;
}

/* Runs a method with these encoded arguments; the reader is then after the head. */
static struct hub_response run(struct self *self, const char *name, const char *arguments,
                               struct hub_answer *answer, struct hub_reader *reader)
{
    const struct host_services_request request = {
        name ? id_of(self, name) : 99, {arguments, strlen(arguments)}, NULL};
    struct hub_response response;

    assert_int_equal(host_services_answer(&self->stage->host, self->container, &request, answer),
                     0);
    hub_reader_init(reader, answer->data, answer->size);
    assert_int_equal(hub_response_decode(reader, &response), 0);
    return response;
}

static int count_down(void *user, uint32_t from, uint32_t *result)
{
    const char next[] = {(char)(from - 1), '\0'};
    struct self *self = user;
    struct hub_answer answer = {0};
    struct hub_reader reader;
    struct hub_response response;

    *result = from;
    self->depth++;
    if (from == 1)
        return 0;
    response = run(self, "count_down", next, &answer, &reader);
    assert_int_equal(response.kind, HUB_RESPONSE_OK);
    assert_int_equal(*reader.at, from - 1);
    hub_responses_fini(&answer);
    return 0;
}

static struct self *open_self(void)
{
    struct self *self = test_calloc(1, sizeof *self);

    self->stage = floor_open();
    self->container = floor_offer(self->stage, methods, self);
    return self;
}

static void close_self(struct self *self)
{
    floor_close(self->stage);
    test_free(self);
}

static void a_method_runs_as_a_callback_of_the_embedder_and_its_result_is_the_answer(void **state)
{
    struct self *self = open_self();
    struct hub_answer answer = {0};
    struct hub_reader reader;

    (void)state;
    assert_int_equal(run(self, "add", "\4\6", &answer, &reader).kind, HUB_RESPONSE_OK);
    assert_int_equal(hub_reader_left(&reader), 1);
    assert_int_equal(*reader.at, 10); /* 2 + 3, as postcard has it */
    assert_int_equal(self->callbacks, 1);
    assert_int_equal(self->stage->host.process.owner.callbacks, 0);
    hub_responses_fini(&answer);
    close_self(self);
}

/* r[verify call.error.unknown-method] r[verify call.error.invalid-payload] */
static void a_request_that_fits_no_method_runs_none(void **state)
{
    struct self *self = open_self();
    struct hub_answer answer = {0};
    struct hub_reader reader;

    (void)state;
    assert_int_equal(run(self, NULL, "\4\6", &answer, &reader).kind, HUB_RESPONSE_UNKNOWN_METHOD);
    assert_int_equal(run(self, "add", "\4", &answer, &reader).kind, HUB_RESPONSE_INVALID_PAYLOAD);
    assert_int_equal(run(self, "add", "\4\6\6", &answer, &reader).kind,
                     HUB_RESPONSE_INVALID_PAYLOAD);
    assert_int_equal(self->callbacks, 0);
    hub_responses_fini(&answer);
    close_self(self);
}

static bool is_text(struct rapahub_string string, const char *text)
{
    return string.size == strlen(text) && memcmp(string.data, text, string.size) == 0;
}

/* The diagnosis of an earlier failure with the same code is not its own. */
static void a_failure_travels_with_the_text_that_the_method_itself_gave(void **state)
{
    struct self *self = open_self();
    struct hub_answer answer = {0};
    struct hub_response response;
    struct hub_reader reader;

    (void)state;
    response = run(self, "refuse", "\1", &answer, &reader);
    assert_int_equal(response.kind, HUB_RESPONSE_USER);
    assert_int_equal(response.code, -7);
    assert_true(is_text(response.text, "not today"));
    rapahub_fail(-7, "", "of yesterday");
    response = run(self, "refuse", "\2", &answer, &reader);
    assert_true(is_text(response.text, rapahub_error_text(-7)));
    hub_responses_fini(&answer);
    close_self(self);
}

static void a_method_may_call_itself(void **state)
{
    struct self *self = open_self();
    struct hub_answer answer = {0};
    struct hub_reader reader;

    (void)state;
    assert_int_equal(run(self, "count_down", "\3", &answer, &reader).kind, HUB_RESPONSE_OK);
    assert_int_equal(*reader.at, 3);
    assert_int_equal(self->depth, 3);
    assert_int_equal(run(self, "count_down", "\1", &answer, &reader).kind, HUB_RESPONSE_OK);
    assert_int_equal(*reader.at, 1);
    hub_responses_fini(&answer);
    close_self(self);
}

/* r[verify hub.bytes.align] */
static void bytes_of_a_result_begin_at_a_line(void **state)
{
    struct self *self = open_self();
    struct hub_answer answer = {0};
    struct rapahub_bytes bytes;
    struct hub_reader reader;

    (void)state;
    assert_int_equal(run(self, "fill", "\xb8\x17", &answer, &reader).kind, HUB_RESPONSE_OK);
    hub_payload_decode(&reader, &rapahub_type_bytes, &bytes);
    assert_int_equal(bytes.size, LARGE);
    assert_int_equal((uintptr_t)bytes.data % 64, 0);
    hub_responses_fini(&answer);
    close_self(self);
}

struct taken {
    unsigned count;
    enum hub_response_kind kind;
    size_t size;
};

static void take(void *user, const struct hub_response *response, struct rapahub_bytes body)
{
    struct taken *taken = user;

    taken->count++;
    taken->kind = response->kind;
    taken->size = body.size;
}

static struct taken serve(struct self *self, const char *name, const char *arguments)
{
    const struct host_services_request request = {
        id_of(self, name), {arguments, strlen(arguments)}, NULL};
    struct taken taken = {0};
    const struct host_services_sink sink = {take, &taken};

    assert_int_equal(host_services_serve(&self->stage->host, self->container, &request, &sink), 0);
    return taken;
}

static void a_result_of_any_size_is_handed_on_once(void **state)
{
    struct self *self = open_self();
    struct taken taken = serve(self, "fill", "\2");

    (void)state;
    assert_true(taken.count == 1 && taken.kind == HUB_RESPONSE_OK && taken.size == 3);
    taken = serve(self, "fill", "\xb8\x17");
    assert_true(taken.count == 1 && taken.kind == HUB_RESPONSE_OK && taken.size == 2 + LARGE);
    taken = serve(self, "refuse", "\1");
    assert_true(taken.count == 1 && taken.kind == HUB_RESPONSE_USER && taken.size == 0);
    close_self(self);
}

static void a_call_of_this_process_has_its_result_decoded(void **state)
{
    struct self *self = open_self();
    struct host_prepared prepared = {.method_id = id_of(self, "add"),
                                     .result = &rapahub_type_i64,
                                     .arguments = {"\4\6", 2},
                                     .name = "add"};
    int64_t sum = 0;

    (void)state;
    assert_int_equal(host_services_call(&self->stage->host, self->container, &prepared,
                                        hub_clock_after(SOON), &sum),
                     0);
    assert_int_equal(sum, 5);
    prepared.method_id = id_of(self, "refuse");
    prepared.arguments = (struct rapahub_bytes){"\1", 1};
    assert_int_equal(host_services_call(&self->stage->host, self->container, &prepared,
                                        hub_clock_after(SOON), &sum),
                     RAPAHUB_EAPPLICATION);
    close_self(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_runs_as_a_callback_of_the_embedder_and_its_result_is_the_answer),
        cmocka_unit_test(a_request_that_fits_no_method_runs_none),
        cmocka_unit_test(a_failure_travels_with_the_text_that_the_method_itself_gave),
        cmocka_unit_test(a_method_may_call_itself),
        cmocka_unit_test(bytes_of_a_result_begin_at_a_line),
        cmocka_unit_test(a_result_of_any_size_is_handed_on_once),
        cmocka_unit_test(a_call_of_this_process_has_its_result_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
