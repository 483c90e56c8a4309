/* SPDX-License-Identifier: Apache-2.0 */
/* A method of bytes to bytes is called by its own C type, one of whole words with the words in
 * registers, everything else by libffi: the linker puts a ffi_call that counts in front of the
 * library's. */
#include <ffi.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/invoke.h"
#include "tests/support/testing.h"

static unsigned by_ffi;

void __real_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **values);
void __wrap_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **values);

void __wrap_ffi_call(ffi_cif *cif, void (*function)(void), void *result, void **values)
{
    by_ffi++;
    __real_ffi_call(cif, function, result, values);
}

/* The arguments that a method saw, and its result. */
struct box {
    struct hub_invoke *plan;
    struct rapahub_bytes in;
    int status;
    bool began_empty, kept;
};

static int echo(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    struct box *box = self;

    box->in = in;
    box->began_empty = !out->data && out->size == 0;
    *out = in;
    return box->status;
}

static int run(struct hub_invoke *plan, void *self, const void *data, size_t size,
               struct hub_outcome *out)
{
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    return hub_invoke_call(plan, &(struct hub_invoke_target){self, NULL}, &reader, out);
}

static void bytes_to_bytes_is_called_directly(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(echo, echo, bytes, bytes);
    static const _Alignas(64) uint8_t lines[] = {[63] = 3, 'a', 'b', 'c'};
    const uint8_t *const data = lines + 63; /* bytes that begin at a line stay in place */
    struct box box = {.status = -4105};
    struct hub_outcome outcome;

    (void)state;
    by_ffi = 0;
    assert_int_equal(hub_invoke_prepare(&method, &box.plan), 0);
    for (int i = 0; i < 2; i++) {
        const struct rapahub_bytes *result;

        assert_int_equal(run(box.plan, &box, data, 4, &outcome), 0);
        result = outcome.result;
        assert_int_equal(outcome.status, -4105);
        assert_true(box.began_empty);
        assert_ptr_equal(box.in.data, data + 1);
        assert_ptr_equal(result->data, data + 1);
        assert_int_equal(result->size, 3);
    }
    assert_int_equal(by_ffi, 0);
    hub_invoke_release(&box.plan);
}

/* r[verify call.error.invalid-payload] */
static void bytes_that_are_not_all_there_or_more_call_nothing(void **state)
{
    static const struct {
        uint8_t data[4];
        size_t size;
    } cases[] = {{{0}, 0}, {{3, 1, 2}, 3}, {{1, 1, 1}, 3}, {{0x80, 0x80}, 2}};
    const struct rapahub_method method = RAPAHUB_METHOD(echo, echo, bytes, bytes);
    struct box box = {.in = {"", 77}};
    struct hub_outcome outcome;

    (void)state;
    assert_int_equal(hub_invoke_prepare(&method, &box.plan), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(run(box.plan, &box, cases[i].data, cases[i].size, &outcome),
                         RAPAHUB_EARGUMENTS);
        assert_non_null(strstr(rapahub_last_error()->text, "arguments of 'echo': "));
    }
    assert_int_equal(box.in.size, 77);
    hub_invoke_release(&box.plan);
}

/* Each run inside of another has a result of its own. */
static int nested(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    struct box *box = self;
    struct hub_outcome outcome;

    *out = in;
    if (in.size == 0)
        return 0;
    assert_int_equal(run(box->plan, self, in.data, in.size, &outcome), 0);
    box->kept = box->kept && out->data == in.data && out->size == in.size &&
                ((const struct rapahub_bytes *)outcome.result)->size == in.size - 1;
    return 0;
}

static void a_direct_run_inside_of_another_leaves_the_outer_result_alone(void **state)
{
    const struct rapahub_method method = RAPAHUB_METHOD(nested, nested, bytes, bytes);
    static const uint8_t data[] = {3, 2, 1, 0};
    struct box box = {.kept = true};
    struct hub_outcome outcome;

    (void)state;
    by_ffi = 0;
    assert_int_equal(hub_invoke_prepare(&method, &box.plan), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(box.plan, &box, data, sizeof data, &outcome), 0);
        assert_true(box.kept);
        assert_int_equal(((const struct rapahub_bytes *)outcome.result)->size, 3);
    }
    assert_int_equal(by_ffi, 0);
    hub_invoke_release(&box.plan);
}

/* ---- almost raw ---- */

static int takes(void *self, struct rapahub_bytes in)
{
    ((struct box *)self)->in = in;
    return 0;
}

static int gives(void *self, struct rapahub_bytes *out)
{
    (void)self;
    *out = (struct rapahub_bytes){"x", 1};
    return 0;
}

static int takes_text(void *self, struct rapahub_string in, struct rapahub_bytes *out)
{
    (void)self;
    *out = (struct rapahub_bytes){in.data, in.size};
    return 0;
}

static int takes_two(void *self, struct rapahub_bytes in, uint8_t more, struct rapahub_bytes *out)
{
    (void)self;
    *out = (struct rapahub_bytes){in.data, in.size + more};
    return 0;
}

static int counts(void *self, struct rapahub_bytes in, uint64_t *out)
{
    (void)self;
    *out = in.size;
    return 0;
}

static int far(void *self, struct rapahub_bytes a, struct rapahub_bytes b, struct rapahub_bytes c,
               uint64_t *out)
{
    (void)self;
    *out = a.size + b.size + c.size;
    return 0;
}

static int floats(void *self, double a, double *out)
{
    (void)self;
    *out = a;
    return 0;
}

static uint64_t plainly(const void *data, size_t size)
{
    return data ? size : 0;
}

/* Runs each once, and checks how many go through libffi. */
static void each_is_called(const struct rapahub_method *methods, size_t count, unsigned times)
{
    static const uint8_t data[][8] = {{1, 'a'}, {0}, {1, 'a'}, {1, 'a', 2}, {1, 'a'}, {0}};
    static const uint8_t sizes[] = {2, 0, 2, 3, 2, 8};
    static const uint8_t others[][8] = {{0, 0, 0}, {1, 'a'}};
    static const uint8_t other_sizes[] = {3, 2};

    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = times == 0 ? data[i] : others[i];
        struct hub_outcome outcome;
        struct box box = {0};

        by_ffi = 0;
        assert_int_equal(hub_invoke_prepare(&methods[i], &box.plan), 0);
        assert_int_equal(
            run(box.plan, &box, from, times == 0 ? sizes[i] : other_sizes[i], &outcome), 0);
        assert_int_equal(outcome.status, 0);
        assert_int_equal(by_ffi, times);
        hub_invoke_release(&box.plan);
    }
}

static void what_is_made_of_words_is_called_with_words(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_METHOD(takes, takes, void, bytes),
        RAPAHUB_METHOD(gives, gives, bytes, void),
        RAPAHUB_METHOD(takes_text, takes_text, bytes, string),
        RAPAHUB_METHOD(takes_two, takes_two, bytes, bytes, u8),
        RAPAHUB_METHOD(counts, counts, u64, bytes),
        RAPAHUB_METHOD(floats, floats, f64, f64),
    };

    (void)state;
    each_is_called(methods, sizeof methods / sizeof *methods, 0);
}

static void every_other_shape_is_called_by_libffi(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_METHOD(far, far, u64, bytes, bytes, bytes),
        {"plainly", RAPAHUB_TYPES(u64, bytes), (void (*)(void))plainly, RAPAHUB_METHOD_PLAIN},
    };

    (void)state;
    each_is_called(methods, sizeof methods / sizeof *methods, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_to_bytes_is_called_directly),
        cmocka_unit_test(bytes_that_are_not_all_there_or_more_call_nothing),
        cmocka_unit_test(a_direct_run_inside_of_another_leaves_the_outer_result_alone),
        cmocka_unit_test(what_is_made_of_words_is_called_with_words),
        cmocka_unit_test(every_other_shape_is_called_by_libffi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
