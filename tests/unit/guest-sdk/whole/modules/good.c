/* SPDX-License-Identifier: Apache-2.0 */
/* good: a chimod with a state, every callback, and methods that do what a test wants to see. */
#include <string.h>

#include <rapahub/chimod.h>

struct good {
    int64_t total;
    uint32_t begun; /* 1 init, 2 restart, 3 recover */
    uint32_t plugged;
    uint64_t migrated_to, joined;
};

/* ---- callbacks ---- */

static int begin(struct good *good, const struct rapahub_container_info *info, uint32_t how)
{
    if (info->params.size == 4 && memcmp(info->params.data, "fail", 4) == 0)
        return rapahub_fail(RAPAHUB_EACCES, "", "'%s' was asked to fail", info->pool_name);
    good->begun = how;
    return 0;
}

static int good_init(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 1);
}

static int good_restart(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 2);
}

static int good_recover(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, 3);
}

/* Larger than one message may be: the total many times. */
#define COPIES 20000

static int good_save(void *self, struct rapahub_sink *to)
{
    const struct good *good = self;
    int r = 0;

    for (int i = 0; r == 0 && i < COPIES; i++)
        r = rapahub_sink_write(to, &good->total, sizeof good->total);
    return r;
}

static int good_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct good *good = self;
    int64_t last = 0;
    int r = version == 7 ? 0 : rapahub_fail(RAPAHUB_EABI, "", "a state of version %u", version);

    for (int i = 0; r == 0 && i < COPIES; i++)
        r = rapahub_source_read_all(from, &last, sizeof last);
    good->total = last;
    return r;
}

static void good_plugged(void *self, bool plugged)
{
    ((struct good *)self)->plugged += plugged ? 1 : 100;
}

static int good_migrate(void *self, struct rapahub_node_id target)
{
    ((struct good *)self)->migrated_to = target.number;
    return 0;
}

static int good_expand(void *self, struct rapahub_node_id joined)
{
    ((struct good *)self)->joined = joined.number;
    return joined.number == 13 ? RAPAHUB_EINVAL : 0;
}

static struct rapahub_node_id good_schedule_recover(void *self, struct rapahub_container_id lost)
{
    (void)self;
    return (struct rapahub_node_id){lost.container + 100};
}

static enum rapahub_health good_health(void *self)
{
    return ((struct good *)self)->total < 0 ? RAPAHUB_HEALTH_UNHEALTHY : RAPAHUB_HEALTH_READY;
}

/* ---- methods ---- */

static int add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

static int bump(void *self, int64_t by, int64_t *total)
{
    struct good *good = self;

    *total = good->total += by;
    return 0;
}

/* Returns the arguments that a callback saw, by its first letter. */
static int seen(void *self, struct rapahub_string what, uint64_t *out)
{
    const struct good *good = self;

    switch (what.size > 0 ? what.data[0] : 0) {
    case 'b':
        *out = good->begun;
        return 0;
    case 'p':
        *out = good->plugged;
        return 0;
    case 'm':
        *out = good->migrated_to;
        return 0;
    case 'j':
        *out = good->joined;
        return 0;
    default:
        return rapahub_fail(RAPAHUB_EINVAL, "", "nothing begins like that");
    }
}

static int fail(void *self, int32_t code, struct rapahub_string text)
{
    (void)self;
    return rapahub_fail(code, "", "%.*s", (int)text.size, text.data);
}

static int fail_silently(void *self, int32_t code)
{
    (void)self;
    return code;
}

/* The text of an error that was got over is not the text of the next one. */
static int fail_elsewhere(void *self, int32_t code)
{
    (void)self;
    rapahub_fail(RAPAHUB_ENOENT, "", "of another failure");
    return code;
}

static int greet(void *self, struct rapahub_string name, struct rapahub_string *out)
{
    size_t size = name.size + 7;
    char *text = rapahub_chimod_alloc(size);

    (void)self;
    if (!text)
        return RAPAHUB_ENOMEM;
    memcpy(text, "hello, ", 7);
    if (name.size > 0)
        memcpy(text + 7, name.data, name.size);
    *out = (struct rapahub_string){text, size};
    return 0;
}

static int broken(void *self, struct rapahub_string *out)
{
    (void)self;
    *out = rapahub_string_of("\xff");
    return 0;
}

static int large(void *self, uint32_t size, struct rapahub_bytes *out)
{
    void *data = rapahub_chimod_alloc(size);

    (void)self;
    if (!data)
        return RAPAHUB_ENOMEM;
    memset(data, 'x', size);
    *out = (struct rapahub_bytes){data, size};
    return 0;
}

/* Tells the host that it runs, by a call, and then waits to be cancelled. */
static int until_cancelled(void *self)
{
    const struct rapahub_call here = {.target = {.pool = {9, 0}}, .method = "here() -> void"};
    int r = rapahub_chimod_call(&here, NULL);

    (void)self;
    while (r == 0 && !rapahub_chimod_cancelled())
        continue;
    return r < 0 ? r : RAPAHUB_ECANCELED;
}

static int call_out(const char *method, int64_t number, int64_t *result)
{
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {
        .target = {.pool = {9, 1}, .container = 2}, .method = method, .arguments = arguments};

    return rapahub_chimod_call(&call, result);
}

static int ask(void *self, int64_t number, int64_t *result)
{
    (void)self;
    return call_out("twice(i64) -> i64", number, result);
}

static int ask_by_name(void *self, int64_t number, int64_t *result)
{
    (void)self;
    return call_out("twice", number, result);
}

/* Through the host back to here, down to 0: how deep it was. */
static int descend(void *self, int64_t number, int64_t *depth)
{
    int r = 0;

    (void)self;
    *depth = 0;
    if (number > 0)
        r = call_out("descend(i64) -> i64", number - 1, depth);
    *depth += 1;
    return r;
}

static const struct rapahub_container_ops ops = {.init = good_init,
                                                 .restart = good_restart,
                                                 .recover = good_recover,
                                                 .save = good_save,
                                                 .load = good_load,
                                                 .plugged = good_plugged,
                                                 .migrate = good_migrate,
                                                 .expand = good_expand,
                                                 .schedule_recover = good_schedule_recover,
                                                 .health = good_health};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, add, i64, i64, i64),
    RAPAHUB_METHOD(bump, bump, i64, i64),
    RAPAHUB_METHOD(seen, seen, u64, string),
    RAPAHUB_METHOD(fail, fail, void, i32, string),
    RAPAHUB_METHOD(fail_silently, fail_silently, void, i32),
    RAPAHUB_METHOD(fail_elsewhere, fail_elsewhere, void, i32),
    RAPAHUB_METHOD(greet, greet, string, string),
    RAPAHUB_METHOD(broken, broken, string, void),
    RAPAHUB_METHOD(large, large, bytes, u32),
    RAPAHUB_METHOD(until_cancelled, until_cancelled, void, void),
    RAPAHUB_METHOD(ask, ask, i64, i64),
    RAPAHUB_METHOD(ask_by_name, ask_by_name, i64, i64),
    RAPAHUB_METHOD(descend, descend, i64, i64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "good", .version = "1.2.3", .state_size = sizeof(struct good),
               .state_version = 7, .ops = &ops, .methods = methods);
