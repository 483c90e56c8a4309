/* SPDX-License-Identifier: Apache-2.0 */
/* shy: its container does not begin, for the first time or again, while the file that its
 * parameters name is there. */
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

static int shy_begin(void *self, const struct rapahub_container_info *info)
{
    char path[256] = "";

    (void)self;
    if (info->params.size < sizeof path)
        memcpy(path, info->params.data, info->params.size);
    return access(path, F_OK) == 0 ? rapahub_fail(RAPAHUB_EIO, "", "not while that file is there")
                                   : 0;
}

static int shy_answer(void *self, uint64_t number, uint64_t *out)
{
    (void)self;
    *out = number + 1;
    return 0;
}

static const struct rapahub_container_ops ops = {.init = shy_begin, .restart = shy_begin};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(answer, shy_answer, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "shy", .version = "1.0.0", .ops = &ops, .methods = methods);
