/* SPDX-License-Identifier: Apache-2.0 */
/* moody: says of itself what it was told to say, for as often as it was told; and that it is
 * UNHEALTHY for so many questions from its beginning on as its parameters say. Its mood is its own:
 * a next version does not get it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct moody {
    uint32_t mood, often; /* READY after that */
    uint32_t asked;
};

static int moody_init(void *self, const struct rapahub_container_info *info)
{
    struct moody *moody = self;
    char text[16] = "";

    memcpy(text, info->params.data,
           info->params.size < sizeof text ? info->params.size : sizeof text - 1);
    moody->mood = RAPAHUB_HEALTH_UNHEALTHY;
    moody->often = (uint32_t)strtoul(text, NULL, 10);
    return 0;
}

static enum rapahub_health moody_health(void *self)
{
    struct moody *moody = self;

    moody->asked++;
    if (moody->often == 0)
        return RAPAHUB_HEALTH_READY;
    moody->often--;
    return (enum rapahub_health)moody->mood;
}

static int feel(void *self, uint32_t mood, uint32_t often)
{
    struct moody *moody = self;

    moody->mood = mood;
    moody->often = often;
    return 0;
}

static int asked(void *self, uint32_t *out)
{
    *out = ((struct moody *)self)->asked;
    return 0;
}

static int pid(void *self, int32_t *out)
{
    (void)self;
    *out = (int32_t)getpid();
    return 0;
}

static int hold(void *self, uint32_t ms)
{
    (void)self;
    pause_ms((int)ms);
    return 0;
}

static int moody_save(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return 0;
}

static int moody_load(void *self, struct rapahub_source *from, uint32_t version)
{
    (void)self;
    (void)from;
    (void)version;
    return 0;
}

static const struct rapahub_container_ops ops = {
    .init = moody_init, .save = moody_save, .load = moody_load, .health = moody_health};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(feel, feel, void, u32, u32),
    RAPAHUB_METHOD(asked, asked, u32, void),
    RAPAHUB_METHOD(pid, pid, i32, void),
    RAPAHUB_METHOD(hold, hold, void, u32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "moody", .version = "1.0.0", .state_size = sizeof(struct moody), .ops = &ops,
               .methods = methods);
