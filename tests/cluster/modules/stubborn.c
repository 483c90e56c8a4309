/* SPDX-License-Identifier: Apache-2.0 */
/* stubborn: begins as its parameters say: "fail", "die", "hang", or else well. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

static bool is(const struct rapahub_container_info *info, const char *word)
{
    return info->params.size == strlen(word) &&
           memcmp(info->params.data, word, info->params.size) == 0;
}

static int stubborn_init(void *self, const struct rapahub_container_info *info)
{
    (void)self;
    if (is(info, "fail"))
        return rapahub_fail(RAPAHUB_EIO, "", "it does not want to");
    if (is(info, "die"))
        raise(SIGKILL);
    while (is(info, "hang"))
        pause();
    return 0;
}

static int stubborn_answer(void *self, uint32_t *out)
{
    (void)self;
    *out = 42;
    return 0;
}

/* Asks its node for a list. */
static int stubborn_ask(void *self, int32_t *out)
{
    const struct rapahub_call call = {.target = {.pool = {UINT32_MAX, 16}},
                                      .method = "status() -> string"};
    struct rapahub_string text;

    (void)self;
    *out = rapahub_chimod_call(&call, &text);
    return 0;
}

static const struct rapahub_container_ops ops = {.init = stubborn_init};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(answer, stubborn_answer, u32, void),
    RAPAHUB_METHOD(ask, stubborn_ask, i32, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "stubborn", .version = "1.0.0", .ops = &ops, .methods = methods);
