/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"
#include "hub/wire/response.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

static size_t put(const struct hub_response *response, uint8_t *to, size_t capacity)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to, capacity);
    hub_response_put(&writer, response);
    assert_int_equal(writer.failure, 0);
    return writer.size;
}

/* r[verify core.error.roam-error] r[verify call.error.roam-error] r[verify call.error.protocol]
 * r[verify call.error.unknown-method] r[verify hub.call.fault]
 * r[verify sec.call.budget] */
static void the_errors_of_the_vectors_are_written_and_read(void **state)
{
    static const struct {
        const char *name;
        struct hub_response response;
        int code;
    } cases[] = {
        {"response-unknown-method", {.kind = HUB_RESPONSE_UNKNOWN_METHOD}, RAPAHUB_ENOMETHOD},
        {"response-invalid-payload", {.kind = HUB_RESPONSE_INVALID_PAYLOAD}, RAPAHUB_EARGUMENTS},
        {"response-cancelled", {.kind = HUB_RESPONSE_CANCELLED}, -ECANCELED},
        {"response-fault-overloaded", {.kind = HUB_RESPONSE_CANCELLED, .fault = 1}, -EBUSY},
        {"response-fault-too-large", {.kind = HUB_RESPONSE_CANCELLED, .fault = 2}, -EMSGSIZE},
        {"response-fault-budget", {.kind = HUB_RESPONSE_CANCELLED, .fault = 4}, RAPAHUB_EBUDGET},
        {"response-fault-dropped", {.kind = HUB_RESPONSE_CANCELLED, .fault = 5}, RAPAHUB_EBUDGET},
        {"response-fault-lease", {.kind = HUB_RESPONSE_CANCELLED, .fault = 6}, RAPAHUB_EFENCED},
    };
    struct vectors *all = vectors_open();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct vector *vector = vectors_find(all, cases[i].name);
        struct hub_response back;
        struct hub_reader reader;
        uint8_t data[64];

        assert_int_equal(put(&cases[i].response, data, sizeof(data)), vector->size);
        assert_int_equal(memcmp(data, vector->bytes, vector->size), 0);
        hub_reader_init(&reader, vector->bytes, vector->size);
        assert_int_equal(hub_response_decode(&reader, &back), 0);
        assert_int_equal(back.kind, cases[i].response.kind);
        assert_int_equal(back.fault, cases[i].response.fault);
        assert_int_equal(hub_response_code(&back, "add"), cases[i].code);
        assert_int_equal(rapahub_last_error()->code, cases[i].code);
        assert_non_null(strstr(rapahub_last_error()->text, "add"));
    }
    vectors_close(all);
}

/* Both sides treat the channels of a call as free if it was refused before it ran; a call that may
 * have run is no refusal. r[verify hub.channel.orphan] */
static void what_was_not_run_is_a_refusal(void **state)
{
    static const uint64_t faults[] = {HUB_FAULT_BUSY, HUB_FAULT_BUDGET, HUB_FAULT_LEASE},
                          ran[] = {HUB_FAULT_NONE, HUB_FAULT_SIZE, HUB_FAULT_DROPPED};
    struct hub_response response = {.kind = HUB_RESPONSE_CANCELLED};

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        response.fault = faults[i];
        assert_true(hub_response_is_refusal(&response));
    }
    for (size_t i = 0; i < sizeof(ran) / sizeof(*ran); i++) {
        response.fault = ran[i];
        assert_false(hub_response_is_refusal(&response));
    }
}

static void behind_an_ok_stands_the_result(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct vectors *all = vectors_open();
    const struct vector *vector = vectors_find(all, "response-ok-8");
    struct hub_response back;
    struct hub_reader reader;
    uint8_t data[8];

    (void)state;
    assert_int_equal(put(&ok, data, sizeof(data)), 2);
    assert_int_equal(memcmp(data, vector->bytes, 2), 0);
    hub_reader_init(&reader, vector->bytes, vector->size);
    assert_int_equal(hub_response_decode(&reader, &back), 0);
    assert_int_equal(back.kind, HUB_RESPONSE_OK);
    assert_int_equal(hub_postcard_read_signed(&reader, 64), 8);
    assert_int_equal(hub_postcard_end(&reader), 0);
    assert_int_equal(hub_response_code(&back, "add"), 0);
    vectors_close(all);
}

/* r[verify message.decode-error] */
static void the_rejected_vectors_are_refused(void **state)
{
    struct vectors *all = vectors_open();
    size_t checked = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "response-reject", v)); checked++) {
        struct hub_response back;
        struct hub_reader reader;
        int r;

        hub_reader_init(&reader, v->bytes, v->size);
        r = hub_response_decode(&reader, &back);
        if (r == 0) {
            hub_postcard_read_signed(&reader, 64);
            r = hub_postcard_end(&reader);
        } else {
            assert_int_equal(r, RAPAHUB_EPROTOCOL);
            assert_string_equal(rapahub_last_error()->rule, "message.decode-error");
        }
        assert_true(r < 0);
    }
    assert_int_equal(checked, 3);
    vectors_close(all);
}

/* r[verify call.error.user] */
static void what_a_method_returned_reaches_its_caller(void **state)
{
    const struct hub_response sent = {HUB_RESPONSE_USER, -17, {"no such key", 11}, 0};
    const uint8_t expected[] = {0, 1, 0, 33, 11};
    struct hub_response back;
    struct hub_reader reader;
    uint8_t data[64];
    size_t size = put(&sent, data, sizeof(data));

    (void)state;
    assert_memory_equal(data, expected, sizeof(expected));
    hub_reader_init(&reader, data, size);
    assert_int_equal(hub_response_decode(&reader, &back), 0);
    assert_int_equal(hub_response_code(&back, "get"), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, -17);
    assert_string_equal(rapahub_last_error()->text, "no such key");
}

static void a_text_that_is_no_utf8_is_made_one(void **state)
{
    const struct hub_response sent = {HUB_RESPONSE_USER, 1, {"caf\xe9", 4}, 0};
    struct hub_response back;
    struct hub_reader reader;
    uint8_t data[64];
    size_t size = put(&sent, data, sizeof(data));

    (void)state;
    hub_reader_init(&reader, data, size);
    assert_int_equal(hub_response_decode(&reader, &back), 0);
    assert_memory_equal(back.text.data, "caf?", 4);
}

static void a_long_text_is_cut(void **state)
{
    char text[3000];
    const struct hub_response response = {HUB_RESPONSE_USER, 1, {text, sizeof(text)}, 0};

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(hub_response_code(&response, "get"), RAPAHUB_EAPPLICATION);
    assert_int_equal(strlen(rapahub_last_error()->text), 1023);
}

static void bytes_behind_an_error_are_refused(void **state)
{
    const uint8_t data[] = {0, 1, 1, 0};
    struct hub_response back;
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, data, sizeof(data));
    assert_int_equal(hub_response_decode(&reader, &back), RAPAHUB_EPROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_errors_of_the_vectors_are_written_and_read),
        cmocka_unit_test(what_was_not_run_is_a_refusal),
        cmocka_unit_test(behind_an_ok_stands_the_result),
        cmocka_unit_test(the_rejected_vectors_are_refused),
        cmocka_unit_test(what_a_method_returned_reaches_its_caller),
        cmocka_unit_test(a_text_that_is_no_utf8_is_made_one),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(bytes_behind_an_error_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
