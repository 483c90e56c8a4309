/* SPDX-License-Identifier: Apache-2.0 */
/* usurper: a chimod that tries to give its neighbour the orders that are its host's to give, by the
 * public functions alone: the id is set beforehand, as if it were known from the last time. */
#include <rapahub/chimod.h>
#include <rapahub/stream.h>

#define MOST 16 /* bytes of arguments */

enum way { PLAIN, WITH_STREAM, FOR_A_RESULT, TO_ITSELF, TO_AN_OFFER };

/* Bytes as they are on the wire: an argument of type u8 each. */
static int call(enum way way, uint64_t id, struct rapahub_bytes bytes)
{
    const struct rapahub_type *types[MOST + 3] = {&rapahub_type_void};
    const void *arguments[MOST + 2] = {NULL};
    struct rapahub_call order = {.target = {.pool = {1, 0}},
                                 .method = "innocent",
                                 .types = types,
                                 .arguments = arguments,
                                 .method_id = &id};
    struct rapahub_source *source = NULL;
    uint8_t result[64];
    size_t i = 0;
    int r;

    for (; i < bytes.size && i < MOST; i++) {
        types[i + 1] = &rapahub_type_u8;
        arguments[i] = (const uint8_t *)bytes.data + i;
    }
    if (way == WITH_STREAM) {
        r = rapahub_source_of_memory(&id, sizeof(id), &source);
        if (r < 0)
            return r;
        types[i + 1] = &rapahub_type_source;
        arguments[i] = &source;
    }
    if (way == FOR_A_RESULT)
        types[0] = &rapahub_type_u8;
    order.target.pool.major = way == TO_ITSELF ? 2 : way == TO_AN_OFFER ? 9 : 1;
    r = rapahub_chimod_call(&order, result);
    rapahub_source_destroy(source);
    return r;
}

static int usurper_usurp(void *self, uint32_t way, uint64_t id, struct rapahub_bytes bytes,
                         int32_t *status)
{
    (void)self;
    *status = call((enum way)way, id, bytes);
    return 0;
}

/* The same by its name, whole or bare. */
static int usurper_name(void *self, struct rapahub_string name, int32_t *status)
{
    static const uint64_t numbers[MOST];
    const void *arguments[MOST];
    char text[256] = "";
    const struct rapahub_call order = {
        .target = {.pool = {1, 0}}, .method = text, .arguments = arguments};
    uint8_t result[256];

    (void)self;
    for (size_t i = 0; i < MOST; i++)
        arguments[i] = &numbers[i];
    for (size_t i = 0; i < name.size && i + 1 < sizeof(text); i++)
        text[i] = name.data[i];
    *status = rapahub_chimod_call(&order, result);
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(usurp, usurper_usurp, i32, u32, u64, bytes),
    RAPAHUB_METHOD(name, usurper_name, i32, string),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "usurper", .version = "1.0.0", .methods = methods);
