/* SPDX-License-Identifier: Apache-2.0 */
/* raws: methods of bytes to bytes, the shape that small calls take a shorter way for. */
#include <string.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct raws {
    uint8_t calls;
};

static int same(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    ((struct raws *)self)->calls++;
    *out = in;
    return 0;
}

/* Makes as many bytes as the first byte says, each equal to the last byte; `room` more are
 * allocated. */
static int make(struct rapahub_bytes in, size_t room, size_t begin, struct rapahub_bytes *out)
{
    size_t size = in.size > 0 ? ((const uint8_t *)in.data)[0] : 0;
    uint8_t *memory = rapahub_chimod_alloc(size + room + 1);

    if (!memory)
        return RAPAHUB_ENOMEM;
    memset(memory, in.size > 0 ? ((const uint8_t *)in.data)[in.size - 1] : 0, size + room);
    *out = (struct rapahub_bytes){memory + begin, size};
    return 0;
}

static int sized(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    ((struct raws *)self)->calls++;
    return make(in, 0, 0, out);
}

/* In memory that the host would read, was it not so few. */
static int lent(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    ((struct raws *)self)->calls++;
    return make(in, 8192, 0, out);
}

/* The same, but such memory is taken for nothing. */
static int wasted(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    if (!rapahub_chimod_alloc(8192))
        return RAPAHUB_ENOMEM;
    return sized(self, in, out);
}

static int nothing(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    (void)self;
    (void)in;
    (void)out;
    return 0;
}

static int refuse(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    (void)self;
    *out = in;
    return rapahub_fail(RAPAHUB_EINVAL, "", "refused %zu bytes", in.size);
}

/* Waits until its caller has given up. */
static int linger(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    (void)self;
    *out = in;
    for (int i = 0; i < 5000 && !rapahub_chimod_cancelled(); i++)
        pause_ms(1);
    return rapahub_chimod_cancelled() ? RAPAHUB_ECANCELED : 0;
}

/* Asks the host, which may ask this guest again before it answers; the arguments stay. */
static int through(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = {.pool = {9, 0}},
                                      .method = "back",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments};
    uint8_t before[128];
    struct rapahub_bytes back;
    int r = 0;

    (void)self;
    memcpy(before, in.data, in.size < sizeof before ? in.size : sizeof before);
    for (int i = 0; r == 0 && i < 3; i++)
        r = rapahub_chimod_call(&call, &back);
    if (r == 0 && (back.size != in.size || memcmp(back.data, in.data, in.size) != 0 ||
                   memcmp(before, in.data, in.size < sizeof before ? in.size : sizeof before) != 0))
        return rapahub_fail(RAPAHUB_EINVAL, "", "what came back is something else");
    *out = in;
    return r;
}

static int count(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    (void)in;
    *out = (struct rapahub_bytes){&((struct raws *)self)->calls, 1};
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(same, same, bytes, bytes),       RAPAHUB_METHOD(sized, sized, bytes, bytes),
    RAPAHUB_METHOD(lent, lent, bytes, bytes),       RAPAHUB_METHOD(wasted, wasted, bytes, bytes),
    RAPAHUB_METHOD(nothing, nothing, bytes, bytes), RAPAHUB_METHOD(refuse, refuse, bytes, bytes),
    RAPAHUB_METHOD(linger, linger, bytes, bytes),   RAPAHUB_METHOD(through, through, bytes, bytes),
    RAPAHUB_METHOD(count, count, bytes, bytes),     RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "raws", .version = "1.0.0", .state_size = sizeof(struct raws),
               .state_version = 1, .methods = methods);
