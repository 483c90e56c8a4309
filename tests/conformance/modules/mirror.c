/* SPDX-License-Identifier: Apache-2.0 */
/* mirror: what a raw host asks of our guest: the same again, here, or by a container of the host.
 */
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define PIECE 1000

static int mirror_echo(void *self, struct rapahub_bytes value, struct rapahub_bytes *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int mirror_reflect(void *self, struct rapahub_bytes value, struct rapahub_bytes *same)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_bytes,
                                                       NULL};
    const struct rapahub_call call = {.target = {.pool = {2, 0}},
                                      .method = "echo",
                                      .types = types,
                                      .arguments = (const void *const[]){&value, NULL}};

    (void)self;
    return rapahub_chimod_call(&call, same);
}

static int mirror_refuse(void *self, int32_t code)
{
    (void)self;
    return rapahub_fail(code, "", "as it was told");
}

static int mirror_hang(void *self)
{
    (void)self;
    while (!rapahub_chimod_cancelled())
        pause_ms(1);
    return rapahub_fail(RAPAHUB_ECANCELED, "", "cancelled");
}

/* For ever: no Cancel, no goodbye, no signal is seen. */
static int mirror_stick(void *self)
{
    sigset_t all;

    (void)self;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (pause() < 0)
        continue;
    return 0;
}

static int mirror_copy(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                       uint64_t *count)
{
    unsigned char piece[PIECE];
    ssize_t n;
    int r = 0;

    (void)self;
    *count = 0;
    while (r == 0 && (n = rapahub_source_read(from, piece, sizeof piece)) != 0) {
        r = n < 0 ? (int)n : rapahub_sink_write(to, piece, (size_t)n);
        *count += n > 0 ? (uint64_t)n : 0;
    }
    return r;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(echo, mirror_echo, bytes, bytes),
    RAPAHUB_METHOD(reflect, mirror_reflect, bytes, bytes),
    RAPAHUB_METHOD(refuse, mirror_refuse, void, i32),
    RAPAHUB_METHOD(hang, mirror_hang, void, void),
    RAPAHUB_METHOD(stick, mirror_stick, void, void),
    RAPAHUB_METHOD(copy, mirror_copy, u64, source, sink),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "mirror", .version = "1", .methods = methods);
