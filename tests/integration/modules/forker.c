/* SPDX-License-Identifier: Apache-2.0 */
/* forker: leaves a process running that has all its descriptors, as a careless library might. */
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

/* Until it is killed: the test knows its number. A test that fails leaves it for a minute. */
static void stand_by(void)
{
    pause_ms(60000);
    _exit(0);
}

static int forker_leave_child(void *self, int32_t *pid)
{
    pid_t child = fork();

    (void)self;
    if (child == 0)
        stand_by();
    *pid = (int32_t)child;
    return child < 0 ? RAPAHUB_ENOMEM : 0;
}

static int forker_wait(void *self)
{
    (void)self;
    pause_ms(20000);
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(leave_child, forker_leave_child, i32, void),
    RAPAHUB_METHOD(wait, forker_wait, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "forker", .version = "1.0.0", .methods = methods);
