/* SPDX-License-Identifier: Apache-2.0 */
/* fickle: its container cannot be restarted: a guest that starts well, and never again. */
#include <unistd.h>

#include <rapahub/chimod.h>

static int fickle_restart(void *self, const struct rapahub_container_info *info)
{
    (void)self;
    (void)info;
    return rapahub_fail(RAPAHUB_EIO, "", "the data is gone");
}

static int fickle_leave(void *self, int32_t status)
{
    (void)self;
    _exit(status);
}

static const struct rapahub_container_ops ops = {.restart = fickle_restart};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(leave, fickle_leave, void, i32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "fickle", .version = "1.0.0", .ops = &ops, .methods = methods);
