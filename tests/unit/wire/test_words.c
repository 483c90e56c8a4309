/* SPDX-License-Identifier: Apache-2.0 */
#include <ffi.h>
#include <string.h>

#include <rapahub/method.h>

#include "hub/wire/words.h"
#include "tests/support/testing.h"

/* The arguments that a function saw. */
static struct {
    int64_t a, b;
    uint64_t c, d;
    struct rapahub_bytes bytes;
    const char *text;
} seen;

static int integers(void *self, int8_t a, int32_t b, uint16_t c, uint64_t d)
{
    seen.a = a;
    seen.b = b;
    seen.c = c;
    seen.d = d;
    return *(int *)self;
}

/* Looks at whole registers, as no C function of small integers does that gcc makes. */
static int registers(uint64_t a, uint64_t b, uint64_t c)
{
    seen.c = a;
    seen.a = (int64_t)b;
    seen.d = c;
    return 0;
}

static int flags(void *self, bool flag)
{
    (void)self;
    return flag;
}

static int views(void *self, struct rapahub_bytes bytes, struct rapahub_string text, uint8_t c)
{
    seen.bytes = bytes;
    seen.text = text.data;
    seen.c = c;
    return *(int *)self + (int)text.size;
}

static const struct rapahub_type *type_of(enum rapahub_kind kind)
{
    static const struct rapahub_type *const types[] = {
        [RAPAHUB_KIND_BOOL] = &rapahub_type_bool,   [RAPAHUB_KIND_I8] = &rapahub_type_i8,
        [RAPAHUB_KIND_I32] = &rapahub_type_i32,     [RAPAHUB_KIND_I64] = &rapahub_type_i64,
        [RAPAHUB_KIND_U8] = &rapahub_type_u8,       [RAPAHUB_KIND_U16] = &rapahub_type_u16,
        [RAPAHUB_KIND_U64] = &rapahub_type_u64,     [RAPAHUB_KIND_F32] = &rapahub_type_f32,
        [RAPAHUB_KIND_F64] = &rapahub_type_f64,     [RAPAHUB_KIND_STRING] = &rapahub_type_string,
        [RAPAHUB_KIND_BYTES] = &rapahub_type_bytes,
    };

    return types[kind];
}

/* Small ones are as wide as a register, with their sign: a callee may rely on it. */
static void integers_of_all_sizes_arrive_as_they_are(void **state)
{
    int status = -4105;
    struct {
        void *self;
        int8_t a;
        int32_t b;
        uint16_t c;
        uint64_t d;
    } memory = {&status, INT8_MIN, -2, UINT16_MAX, UINT64_MAX - 1};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I8), offsetof(__typeof__(memory), a)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I32), offsetof(__typeof__(memory), b)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U16), offsetof(__typeof__(memory), c)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U64), offsetof(__typeof__(memory), d)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))integers, &memory), -4105);
    assert_int_equal(seen.a, INT8_MIN);
    assert_int_equal(seen.b, -2);
    assert_int_equal(seen.c, UINT16_MAX);
    assert_int_equal(seen.d, UINT64_MAX - 1);
}

/* Bytes after a small one are no part of it. */
static void small_ones_are_extended_to_registers(void **state)
{
    struct {
        uint8_t a, behind_a[7];
        int8_t b, behind_b[7];
        uint16_t c, behind_c[3];
    } memory;
    struct hub_words words = {0};

    (void)state;
    memset(&memory, 0x5a, sizeof memory);
    memory.a = 200;
    memory.b = INT8_MIN;
    memory.c = UINT16_MAX;
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U8), offsetof(__typeof__(memory), a)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I8), offsetof(__typeof__(memory), b)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U16), offsetof(__typeof__(memory), c)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))registers, &memory), 0);
    assert_int_equal(seen.c, 200);
    assert_int_equal(seen.a, INT8_MIN);
    assert_int_equal(seen.d, UINT16_MAX);
}

static void a_flag_arrives_as_it_is(void **state)
{
    struct {
        void *self;
        bool flag;
    } memory = {NULL, true};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_BOOL), offsetof(__typeof__(memory), flag)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))flags, &memory), 1);
    memory.flag = false;
    assert_int_equal(hub_words_call(&words, (void (*)(void))flags, &memory), 0);
}

static void a_view_is_two_words(void **state)
{
    static const char text[] = "abc";
    int status = 7;
    struct {
        void *self;
        struct rapahub_bytes bytes;
        struct rapahub_string text;
        uint8_t c;
    } memory = {&status, {text + 1, 2}, {text, 3}, 200};
    struct hub_words words = {0};

    (void)state;
    assert_true(hub_words_add_pointer(&words, offsetof(__typeof__(memory), self)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_BYTES), offsetof(__typeof__(memory), bytes)));
    assert_true(
        hub_words_add(&words, type_of(RAPAHUB_KIND_STRING), offsetof(__typeof__(memory), text)));
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_U8), offsetof(__typeof__(memory), c)));
    assert_int_equal(hub_words_call(&words, (void (*)(void))views, &memory), 10);
    assert_ptr_equal(seen.bytes.data, text + 1);
    assert_int_equal(seen.bytes.size, 2);
    assert_ptr_equal(seen.text, text);
    assert_int_equal(seen.c, 200);
}

/* ---- floats, in any order ---- */

/* Where the arguments of one call lie. */
struct mixed {
    void *self;
    double d[8];
    float f[8];
    int8_t i8;
    uint16_t u16;
    int64_t i64;
    struct rapahub_bytes bytes;
};

/* The arguments, in the order of the parameters, floats widened. */
static double came[HUB_FLOATS_MAX + HUB_WORDS_MAX + 2];

/* More parameters than a function should have: they are tested. */
#define BETWEEN void *self, double a, int8_t b, float c, int64_t d, double e, uint16_t f
static int floats_between(BETWEEN)
{
    came[0] = a;
    came[1] = b;
    came[2] = c;
    came[3] = (double)d;
    came[4] = e;
    came[5] = f;
    return *(int *)self;
}

#define FIRST float a, double b, float c, struct rapahub_bytes d, float e, int8_t f
static int floats_first(FIRST)
{
    came[0] = a;
    came[1] = b;
    came[2] = c;
    came[3] = (double)d.size;
    came[4] = e;
    came[5] = f;
    return *(const int *)d.data;
}

#define ALL                                                                                       \
    float a, void *self, double b, int8_t c, float d, double e, struct rapahub_bytes f, double g, \
        float h, int64_t i, double j, uint16_t k, float l
static int as_many_as_there_are(ALL)
{
    came[0] = a;
    came[1] = b;
    came[2] = c;
    came[3] = d;
    came[4] = e;
    came[5] = (double)f.size;
    came[6] = g;
    came[7] = h;
    came[8] = (double)i;
    came[9] = j;
    came[10] = k;
    came[11] = l;
    return *(int *)self;
}

#define AT(member) offsetof(struct mixed, member)

/* Their parameters: the kind, and where it lies; a pointer is RAPAHUB_KIND_VOID. */
static const struct parameter {
    enum rapahub_kind kind;
    size_t at;
} between[] = {{RAPAHUB_KIND_VOID, AT(self)}, {RAPAHUB_KIND_F64, AT(d[0])},
               {RAPAHUB_KIND_I8, AT(i8)},     {RAPAHUB_KIND_F32, AT(f[0])},
               {RAPAHUB_KIND_I64, AT(i64)},   {RAPAHUB_KIND_F64, AT(d[1])},
               {RAPAHUB_KIND_U16, AT(u16)}},
  first[] = {{RAPAHUB_KIND_F32, AT(f[0])}, {RAPAHUB_KIND_F64, AT(d[0])},
             {RAPAHUB_KIND_F32, AT(f[1])}, {RAPAHUB_KIND_BYTES, AT(bytes)},
             {RAPAHUB_KIND_F32, AT(f[2])}, {RAPAHUB_KIND_I8, AT(i8)}},
  all[] = {
      {RAPAHUB_KIND_F32, AT(f[0])},    {RAPAHUB_KIND_VOID, AT(self)}, {RAPAHUB_KIND_F64, AT(d[0])},
      {RAPAHUB_KIND_I8, AT(i8)},       {RAPAHUB_KIND_F32, AT(f[1])},  {RAPAHUB_KIND_F64, AT(d[1])},
      {RAPAHUB_KIND_BYTES, AT(bytes)}, {RAPAHUB_KIND_F64, AT(d[2])},  {RAPAHUB_KIND_F32, AT(f[2])},
      {RAPAHUB_KIND_I64, AT(i64)},     {RAPAHUB_KIND_F64, AT(d[3])},  {RAPAHUB_KIND_U16, AT(u16)},
      {RAPAHUB_KIND_F32, AT(f[3])}};

static ffi_type *ffi_type_of(enum rapahub_kind kind)
{
    static ffi_type *view[] = {&ffi_type_pointer, &ffi_type_uint64, NULL};
    static ffi_type bytes = {.type = FFI_TYPE_STRUCT, .elements = view};

    switch (kind) {
    case RAPAHUB_KIND_F32:
        return &ffi_type_float;
    case RAPAHUB_KIND_F64:
        return &ffi_type_double;
    case RAPAHUB_KIND_I8:
        return &ffi_type_sint8;
    case RAPAHUB_KIND_U16:
        return &ffi_type_uint16;
    case RAPAHUB_KIND_I64:
        return &ffi_type_sint64;
    case RAPAHUB_KIND_BYTES:
        return &bytes;
    default:
        return &ffi_type_pointer;
    }
}

static int call_by_ffi(const struct parameter *list, size_t count, void (*function)(void),
                       struct mixed *memory)
{
    ffi_type *types[16];
    void *values[16];
    ffi_arg status;
    ffi_cif cif;

    for (size_t i = 0; i < count; i++) {
        types[i] = ffi_type_of(list[i].kind);
        values[i] = (char *)memory + list[i].at;
    }
    assert_int_equal(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)count, &ffi_type_sint, types),
                     FFI_OK);
    ffi_call(&cif, function, &status, values);
    return (int)status;
}

static int call_by_words(const struct parameter *list, size_t count, void (*function)(void),
                         const struct mixed *memory)
{
    struct hub_words words = {0};

    for (size_t i = 0; i < count; i++)
        assert_true(list[i].kind == RAPAHUB_KIND_VOID
                        ? hub_words_add_pointer(&words, list[i].at)
                        : hub_words_add(&words, type_of(list[i].kind), list[i].at));
    return hub_words_call(&words, function, memory);
}

static void check_order(const struct parameter *list, size_t count, void (*function)(void))
{
    static int status = -4105;
    struct mixed memory = {
        &status,     {0.5, -1e300, 3.25, 1e-310}, {-2.5F, 1e30F, 1e-40F, 7}, -100, 60000,
        -5000000000, {&status, sizeof status}};
    double by_words[sizeof came / sizeof *came];

    memset(came, 0x55, sizeof came);
    assert_int_equal(call_by_words(list, count, function, &memory), status);
    memcpy(by_words, came, sizeof came);
    memset(came, 0x55, sizeof came);
    assert_int_equal(call_by_ffi(list, count, function, &memory), status);
    assert_memory_equal(by_words, came, sizeof came);
}

static void floats_and_words_come_in_any_order(void **state)
{
    (void)state;
    check_order(between, sizeof between / sizeof *between, (void (*)(void))floats_between);
    check_order(first, sizeof first / sizeof *first, (void (*)(void))floats_first);
    check_order(all, sizeof all / sizeof *all, (void (*)(void))as_many_as_there_are);
}

/* A NaN with its bits, and the sign of 0. */
static int bits(double a, float b)
{
    memcpy(&seen.c, &a, sizeof a);
    seen.d = 0;
    memcpy(&seen.d, &b, sizeof b);
    return 3;
}

static void each_bit_of_a_float_arrives(void **state)
{
    static const uint64_t doubles[] = {0x7FF0000000000001, 0xFFF8000000001234, 0x8000000000000000};
    static const uint32_t singles[] = {0x7F800001, 0xFFC01234, 0x80000000};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mixed memory = {0};
        const struct parameter list[] = {{RAPAHUB_KIND_F64, AT(d[0])},
                                         {RAPAHUB_KIND_F32, AT(f[0])}};

        memcpy(&memory.d[0], &doubles[i], sizeof doubles[i]);
        memcpy(&memory.f[0], &singles[i], sizeof singles[i]);
        assert_int_equal(call_by_words(list, 2, (void (*)(void))bits, &memory), 3);
        assert_int_equal(seen.c, doubles[i]);
        assert_int_equal(seen.d, singles[i]);
    }
}

/* The conventions put what does not fit elsewhere. */
static void what_needs_more_than_registers_is_refused(void **state)
{
    struct hub_words words = {0};

    (void)state;
    for (int i = 0; i < HUB_FLOATS_MAX; i++)
        assert_true(hub_words_add(&words, type_of(i % 2 ? RAPAHUB_KIND_F32 : RAPAHUB_KIND_F64), 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_F32), 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_F64), 0));
    for (int i = 0; i < HUB_WORDS_MAX - 1; i++)
        assert_true(hub_words_add_pointer(&words, 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_BYTES), 0));
    assert_int_equal(words.count, HUB_WORDS_MAX - 1);
    assert_true(hub_words_add(&words, type_of(RAPAHUB_KIND_I64), 0));
    assert_false(hub_words_add(&words, type_of(RAPAHUB_KIND_I64), 0));
    assert_false(hub_words_add_pointer(&words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_all_sizes_arrive_as_they_are),
        cmocka_unit_test(small_ones_are_extended_to_registers),
        cmocka_unit_test(a_flag_arrives_as_it_is),
        cmocka_unit_test(a_view_is_two_words),
        cmocka_unit_test(floats_and_words_come_in_any_order),
        cmocka_unit_test(each_bit_of_a_float_arrives),
        cmocka_unit_test(what_needs_more_than_registers_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
