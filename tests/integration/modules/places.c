/* SPDX-License-Identifier: Apache-2.0 */
/* places: methods that refuse bytes which begin elsewhere than they have to. */
#include "tests/support/places.h"

#include <string.h>

#include <rapahub/chimod.h>

static int check(struct rapahub_bytes in)
{
    return places_are_good(&in, NULL)
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "hub.bytes.align", "%zu bytes begin at %zu", in.size,
                              (size_t)((uintptr_t)in.data % 64));
}

/* Makes a copy that begins `at` bytes after a line. */
static int copy(struct rapahub_bytes in, size_t at, struct rapahub_bytes *out)
{
    uint8_t *memory = rapahub_chimod_alloc(at + in.size);

    if (!memory)
        return RAPAHUB_ENOMEM;
    if ((uintptr_t)memory % 64 != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "hub.bytes.align",
                            "memory for a result begins elsewhere");
    if (in.size > 0)
        memcpy(memory + at, in.data, in.size);
    *out = (struct rapahub_bytes){memory + at, in.size};
    return 0;
}

static int places_lent(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    int r = check(in);

    (void)self;
    return r < 0 ? r : copy(in, 0, out);
}

static int places_copied(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    int r = check(in);

    (void)self;
    return r < 0 ? r : copy(in, 5, out);
}

/* Not the last argument, and beside others. */
static int places_three(void *self, struct trio in, uint16_t number, struct rapahub_bytes last,
                        struct trio *out)
{
    (void)self;
    (void)number;
    if (!places_of_trio_are_good(&in, &last))
        return rapahub_fail(RAPAHUB_EINVAL, "hub.bytes.align", "one of four begins elsewhere");
    *out = in;
    return 0;
}

static bool places_plain(const void *data, size_t size)
{
    const struct rapahub_bytes in = {data, size};

    return places_are_good(&in, NULL);
}

static int call(uint32_t pool, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call order = {.target = {.pool = {pool, 0}},
                                       .method = "copied",
                                       .types = RAPAHUB_TYPES(bytes, bytes),
                                       .arguments = arguments};
    int r = rapahub_chimod_call(&order, out);

    return r < 0 ? r : check(*out);
}

/* Calls another container: the host's, or another guest's. */
static int places_onward(void *self, uint32_t pool, struct rapahub_bytes in,
                         struct rapahub_bytes *out)
{
    struct rapahub_bytes got;
    int r = check(in);

    (void)self;
    if (r == 0)
        r = call(pool, in, &got);
    return r < 0 ? r : copy(got, 0, out);
}

static int places_trio(void *self, uint32_t pool, struct trio in, struct trio *out)
{
    const uint16_t number = 300;
    const struct rapahub_bytes last = {"last", 4};
    const void *const arguments[] = {&in, &number, &last, NULL};
    const struct rapahub_call order = {.target = {.pool = {pool, 0}},
                                       .method = "three",
                                       .types = RAPAHUB_TYPES(trio, trio, u16, bytes),
                                       .arguments = arguments};
    int r = rapahub_chimod_call(&order, out);

    (void)self;
    if (r == 0 && !places_of_trio_are_good(out, NULL))
        r = rapahub_fail(RAPAHUB_EINVAL, "hub.bytes.align", "one of a result begins elsewhere");
    return r;
}

/* Writes all of it to the sink. */
static int places_pour(void *self, struct rapahub_bytes in, struct rapahub_sink *to)
{
    int r = check(in);

    (void)self;
    if (r == 0)
        r = rapahub_sink_write(to, in.data, in.size);
    return r == 0 ? rapahub_sink_end(to) : r;
}

static int init(void *self, const struct rapahub_container_info *info)
{
    (void)self;
    return check(info->params);
}

static const struct rapahub_container_ops ops = {.init = init};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(lent, places_lent, bytes, bytes),
    RAPAHUB_METHOD(copied, places_copied, bytes, bytes),
    RAPAHUB_METHOD(three, places_three, trio, trio, u16, bytes),
    {"plain", RAPAHUB_TYPES(bool, bytes), (void (*)(void))places_plain, RAPAHUB_METHOD_PLAIN},
    RAPAHUB_METHOD(onward, places_onward, bytes, u32, bytes),
    RAPAHUB_METHOD(trio, places_trio, trio, u32, trio),
    RAPAHUB_METHOD(pour, places_pour, void, bytes, sink),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "places", .version = "1.0.0", .ops = &ops, .methods = methods);
