/* SPDX-License-Identifier: Apache-2.0 */
/* counter: a chimod with state and every callback: it counts what was called. */
#include <string.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct counter {
    int64_t total;
    uint32_t begun; /* 1 init, 2 restart, 3 recover */
    uint32_t plugged, unplugged;
    uint64_t migrated_to, joined;
    uint64_t token; /* that it was told when it began */
    char params[32];
};

static int begin(struct counter *counter, const struct rapahub_container_info *info, uint32_t how)
{
    struct rapahub_token token;
    size_t size =
        info->params.size < sizeof counter->params ? info->params.size : sizeof counter->params - 1;

    if (size == 4 && !memcmp(info->params.data, "fail", 4))
        return rapahub_fail(RAPAHUB_EACCES, "", "asked to fail");
    if (size == 4 && !memcmp(info->params.data, "slow", 4))
        pause_ms(300);
    if (rapahub_chimod_token(&token) < 0)
        return RAPAHUB_ESTATE;
    counter->token = token.token;
    counter->begun = how;
    if (size > 0)
        memcpy(counter->params, info->params.data, size);
    return 0;
}

static int counter_init(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 1);
}

static int counter_restart(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 2);
}

static int counter_recover(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 3);
}

/* Larger than one message may be. */
static int counter_save(void *self, struct rapahub_sink *to)
{
    static const char padding[200000];
    int r = rapahub_sink_write(to, &((struct counter *)self)->total, sizeof(int64_t));

    return r < 0 ? r : rapahub_sink_write(to, padding, sizeof padding);
}

static int counter_load(void *self, struct rapahub_source *from, uint32_t version)
{
    if (version != 7)
        return rapahub_fail(RAPAHUB_EABI, "", "state of version %" PRIu32, version);
    return rapahub_source_read_all(from, &((struct counter *)self)->total, sizeof(int64_t));
}

static void counter_plugged(void *self, bool plugged)
{
    struct counter *counter = self;

    counter->plugged += plugged;
    counter->unplugged += !plugged;
}

static uint64_t counter_work(const void *self)
{
    return (uint64_t)((const struct counter *)self)->total;
}

static int counter_migrate(void *self, struct rapahub_node_id target)
{
    ((struct counter *)self)->migrated_to = target.number;
    return 0;
}

static int counter_expand(void *self, struct rapahub_node_id joined)
{
    ((struct counter *)self)->joined = joined.number;
    return 0;
}

static struct rapahub_node_id counter_schedule(void *self, struct rapahub_container_id lost)
{
    (void)self;
    return (struct rapahub_node_id){lost.container + 100};
}

static enum rapahub_health counter_health(void *self)
{
    return ((struct counter *)self)->total > 5 ? RAPAHUB_HEALTH_DEGRADED : RAPAHUB_HEALTH_READY;
}

static int add(void *self, int64_t amount, int64_t *total)
{
    struct counter *counter = self;

    *total = counter->total += amount;
    return 0;
}

static int begun(void *self, uint32_t *how)
{
    *how = ((struct counter *)self)->begun;
    return 0;
}

static int params(void *self, struct rapahub_string *out)
{
    *out = rapahub_string_of(((struct counter *)self)->params);
    return 0;
}

static int seen(void *self, struct rapahub_string what, uint64_t *out)
{
    const struct counter *counter = self;

    *out = what.size == 7   ? counter->plugged
           : what.size == 9 ? counter->unplugged
           : what.size == 8 ? counter->migrated_to
                            : counter->joined;
    return 0;
}

/* 0: it was told another one when it began. */
static int token_of(void *self, uint64_t *out)
{
    struct rapahub_token token;
    int r = rapahub_chimod_token(&token);

    if (r < 0)
        return r;
    *out = token.token == ((struct counter *)self)->token ? token.token : 0;
    return token.uid.origin == 0 && token.uid.number == 0 ? 0 : RAPAHUB_ESTATE;
}

static const struct rapahub_container_ops ops = {.init = counter_init,
                                                 .restart = counter_restart,
                                                 .recover = counter_recover,
                                                 .save = counter_save,
                                                 .load = counter_load,
                                                 .plugged = counter_plugged,
                                                 .work_remaining = counter_work,
                                                 .migrate = counter_migrate,
                                                 .expand = counter_expand,
                                                 .schedule_recover = counter_schedule,
                                                 .health = counter_health};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, add, i64, i64),           RAPAHUB_METHOD(begun, begun, u32, void),
    RAPAHUB_METHOD(params, params, string, void), RAPAHUB_METHOD(token, token_of, u64, void),
    RAPAHUB_METHOD(seen, seen, u64, string),      RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "counter", .version = "1.0.0", .state_size = sizeof(struct counter),
               .state_version = 7, .ops = &ops, .methods = methods);
