/* SPDX-License-Identifier: Apache-2.0 */
/* caller: a chimod that calls containers: of the host, of other guests, of its own. */
#include <string.h>

#include <rapahub/chimod.h>

static int call(uint32_t pool, const char *method, int64_t number, int64_t *result)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_i64, &rapahub_type_i64, NULL};
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call order = {
        .target = {.pool = {pool, 0}}, .method = method, .types = types, .arguments = arguments};

    return rapahub_chimod_call(&order, result);
}

/* Calls the method `twice` of a pool. */
static int caller_ask(void *self, uint32_t pool, int64_t number, int64_t *result)
{
    (void)self;
    return call(pool, "twice", number, result);
}

/* Makes many short calls first, so that the host looks for this one while it waits. */
static int caller_linger(void *self, uint32_t pool, int64_t number, int64_t *result)
{
    int r = 0;

    (void)self;
    for (int i = 0; i < 2000 && r == 0; i++)
        r = call(pool, "twice", 1, result);
    return r == 0 ? call(pool, "linger", number, result) : r;
}

/* Passes on the result of a call to a pool. */
static int caller_pass(void *self, uint32_t pool, struct rapahub_bytes data,
                       struct rapahub_bytes *out)
{
    const void *const arguments[] = {&data, NULL};
    const struct rapahub_call order = {.target = {.pool = {pool, 0}},
                                       .method = "echo",
                                       .types = RAPAHUB_TYPES(bytes, bytes),
                                       .arguments = arguments};

    (void)self;
    return rapahub_chimod_call(&order, out);
}

static int caller_twice(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = 2 * number;
    return 0;
}

/* Keeps the id of what it calls, from one call to the next. */
static int caller_known(void *self, uint32_t pool, int64_t number, int64_t *result)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_i64, &rapahub_type_i64, NULL};
    static uint64_t id;
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call order = {.target = {.pool = {pool, 0}},
                                       .method = "twice",
                                       .types = types,
                                       .arguments = arguments,
                                       .method_id = &id};
    int r = rapahub_chimod_call(&order, result);

    (void)self;
    return r == 0 && id == 0 ? RAPAHUB_ESTATE : r;
}

/* Without types. */
static int caller_by_name(void *self, uint32_t pool, int64_t number, int64_t *result)
{
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call order = {
        .target = {.pool = {pool, 0}}, .method = "twice", .arguments = arguments};

    (void)self;
    return rapahub_chimod_call(&order, result);
}

/* Types, and nothing that they are of. */
static int caller_too_few(void *self, uint32_t pool, int64_t number, int64_t *result)
{
    const void *const arguments[] = {NULL, &number};
    const struct rapahub_call order = {
        .target = {.pool = {pool, 0}}, .method = "twice(i64) -> i64", .arguments = arguments};

    (void)self;
    return rapahub_chimod_call(&order, result);
}

/* Down to 0 over host and guest: descend(n) calls `descend` of pool `pool` with n - 1. */
static int caller_descend(void *self, int64_t number, int64_t *result)
{
    int r = 0;

    (void)self;
    *result = 0;
    if (number > 0)
        r = call(9, "descend", number - 1, result);
    *result += 1;
    return r;
}

/* Waits for the method `hold` of a pool. */
static int caller_hold(void *self, uint32_t pool, uint32_t ms)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_void, &rapahub_type_u32, NULL};
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call order = {
        .target = {.pool = {pool, 0}}, .method = "hold", .types = types, .arguments = arguments};

    (void)self;
    return rapahub_chimod_call(&order, NULL);
}

/* So many bytes, each the lowest byte of that number. */
static int caller_fill(void *self, uint32_t size, struct rapahub_bytes *result)
{
    uint8_t *bytes = rapahub_chimod_alloc(size > 0 ? size : 1);

    (void)self;
    if (!bytes)
        return RAPAHUB_ENOMEM;
    memset(bytes, (int)(size & 0xff), size);
    *result = (struct rapahub_bytes){bytes, size};
    return 0;
}

static bool is_filled(struct rapahub_bytes bytes)
{
    const uint8_t *data = bytes.data;

    for (size_t i = 0; i < bytes.size; i++)
        if (data[i] != (bytes.size & 0xff))
            return false;
    return true;
}

/* Has a pool fill bytes of many sizes in turn: how many answers were as they should be. */
static int caller_sizes(void *self, uint32_t pool, uint32_t rounds, uint32_t *right)
{
    static const uint32_t sizes[] = {0, 5000, 1, 20, 21, 22, 23, 24, 25, 31, 32, 33, 7, 70000, 2};
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_u32,
                                                       NULL};
    uint64_t id = 0;
    int r = 0;

    (void)self;
    *right = 0;
    for (uint32_t i = 0; i < rounds && r == 0; i++) {
        uint32_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
        const void *const arguments[] = {&size, NULL};
        const struct rapahub_call order = {.target = {.pool = {pool, 0}},
                                           .method = "fill",
                                           .method_id = &id,
                                           .types = types,
                                           .arguments = arguments};
        struct rapahub_bytes bytes = {NULL, 0};

        r = rapahub_chimod_call(&order, &bytes);
        *right += r == 0 && bytes.size == size && is_filled(bytes);
    }
    return r;
}

/* The sum of both parts of the uid of this call. */
static int caller_uid(void *self, uint64_t *sum)
{
    struct rapahub_token token;
    int r = rapahub_chimod_token(&token);

    (void)self;
    *sum = r < 0 ? 0 : token.uid.origin + token.uid.number;
    return r;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(fill, caller_fill, bytes, u32),
    RAPAHUB_METHOD(sizes, caller_sizes, u32, u32, u32),
    RAPAHUB_METHOD(ask, caller_ask, i64, u32, i64),
    RAPAHUB_METHOD(linger, caller_linger, i64, u32, i64),
    RAPAHUB_METHOD(pass, caller_pass, bytes, u32, bytes),
    RAPAHUB_METHOD(known, caller_known, i64, u32, i64),
    RAPAHUB_METHOD(by_name, caller_by_name, i64, u32, i64),
    RAPAHUB_METHOD(too_few, caller_too_few, i64, u32, i64),
    RAPAHUB_METHOD(hold, caller_hold, void, u32, u32),
    RAPAHUB_METHOD(twice, caller_twice, i64, i64),
    RAPAHUB_METHOD(descend, caller_descend, i64, i64),
    RAPAHUB_METHOD(uid, caller_uid, u64, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "caller", .version = "1.0.0", .methods = methods);
