/* SPDX-License-Identifier: Apache-2.0 */
/* victim: an honest chimod with something to lose. It counts what it gets from its host, and who
 * comes in while it waits. */
#include <string.h>

#include <rapahub/chimod.h>
#include <rapahub/stream.h>

#define PRIVATE 123456
#define LARGE   1000000

struct victim {
    int64_t value;
    uint64_t touched; /* callbacks since it came to life */
    bool waits;
    uint32_t entered, guests; /* calls of `enter` while it waited; and otherwise */
};

static int touch(const void *self)
{
    ((struct victim *)(uintptr_t)self)->touched++;
    return 0;
}

static int victim_init(void *self, const struct rapahub_container_info *info)
{
    struct victim *victim = self;

    (void)info;
    if (victim->value == PRIVATE)
        touch(self);
    victim->value = PRIVATE;
    return 0;
}

static int victim_save(void *self, struct rapahub_sink *to)
{
    touch(self);
    return rapahub_sink_write(to, self, sizeof(int64_t));
}

static int victim_load(void *self, struct rapahub_source *from, uint32_t state_version)
{
    (void)from;
    (void)state_version;
    return touch(self);
}

static void victim_plugged(void *self, bool plugged)
{
    (void)plugged;
    touch(self);
}

static uint64_t victim_work(const void *self)
{
    return (uint64_t)touch(self);
}

static int victim_node(void *self, struct rapahub_node_id node)
{
    (void)node;
    return touch(self);
}

static struct rapahub_node_id victim_recover(void *self, struct rapahub_container_id lost)
{
    (void)lost;
    touch(self);
    return (struct rapahub_node_id){0};
}

static enum rapahub_health victim_health(void *self)
{
    touch(self);
    return RAPAHUB_HEALTH_READY;
}

static void victim_fini(void *self)
{
    touch(self);
}

static void victim_down(void *self, const struct rapahub_death *death)
{
    (void)death;
    touch(self);
}

static int victim_value(void *self, int64_t *value)
{
    *value = ((const struct victim *)self)->value;
    return 0;
}

static int victim_touched(void *self, uint64_t *count)
{
    *count = ((const struct victim *)self)->touched;
    return 0;
}

/* Calls `usurp` of its neighbour, and so waits while that is served. */
static int victim_visit(void *self, uint32_t way, uint64_t id, struct rapahub_bytes arguments,
                        int32_t *status)
{
    const void *const all[] = {&way, &id, &arguments, NULL};
    const struct rapahub_call call = {.target = {.pool = {2, 0}},
                                      .method = "usurp",
                                      .types = RAPAHUB_TYPES(i32, u32, u64, bytes),
                                      .arguments = all};

    (void)self;
    *status = rapahub_chimod_call(&call, status);
    return 0;
}

/* ---- chains ---- */

static int call_void(uint32_t pool, const char *method, uint32_t number)
{
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {.target = {.pool = {pool, 0}},
                                      .method = method,
                                      .types = RAPAHUB_TYPES(void, u32),
                                      .arguments = arguments,
                                      .timeout_ns = UINT64_C(290000000000)};

    return rapahub_chimod_call(&call, NULL);
}

/* Shows a pool the chain it is in, lets that end, and waits for another one. */
static int victim_expose(void *self, uint32_t pool, uint32_t ms)
{
    struct victim *victim = self;
    int r;

    victim->waits = true;
    r = call_void(pool, "look", 0);
    if (r == 0)
        r = call_void(9, "linger", ms);
    victim->waits = false;
    return r;
}

/* The same inside of a call of its own: then both are in one chain. */
static int victim_expose_inside(void *self, uint32_t pool, uint32_t ms)
{
    const void *const arguments[] = {&pool, &ms, NULL};
    const struct rapahub_call call = {.target = {.pool = {1, 0}},
                                      .method = "expose",
                                      .types = RAPAHUB_TYPES(void, u32, u32),
                                      .arguments = arguments,
                                      .timeout_ns = UINT64_C(290000000000)};

    (void)self;
    return rapahub_chimod_call(&call, NULL);
}

/* A member of its chain comes in while it waits. */
static int victim_invite(void *self, uint32_t pool)
{
    struct victim *victim = self;
    int r;

    victim->waits = true;
    r = call_void(pool, "look", 1);
    victim->waits = false;
    return r;
}

static int victim_enter(void *self)
{
    struct victim *victim = self;

    victim->entered += victim->waits;
    victim->guests += !victim->waits;
    return 0;
}

static int victim_entered(void *self, uint32_t *count)
{
    *count = ((const struct victim *)self)->entered;
    return 0;
}

static int victim_guests(void *self, uint32_t *count)
{
    *count = ((const struct victim *)self)->guests;
    return 0;
}

/* ---- answers ---- */

static int victim_large(void *self, uint32_t seed, struct rapahub_bytes *out)
{
    uint8_t *bytes = rapahub_chimod_alloc(LARGE);

    (void)self;
    if (!bytes)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    memset(bytes, (int)seed, LARGE);
    *out = (struct rapahub_bytes){bytes, LARGE};
    return 0;
}

static const struct rapahub_container_ops ops = {
    .init = victim_init,
    .save = victim_save,
    .load = victim_load,
    .plugged = victim_plugged,
    .work_remaining = victim_work,
    .migrate = victim_node,
    .expand = victim_node,
    .schedule_recover = victim_recover,
    .health = victim_health,
    .fini = victim_fini,
    .child_down = victim_down,
};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(value, victim_value, i64, void),
    RAPAHUB_METHOD(touched, victim_touched, u64, void),
    RAPAHUB_METHOD(visit, victim_visit, i32, u32, u64, bytes),
    RAPAHUB_METHOD(expose, victim_expose, void, u32, u32),
    RAPAHUB_METHOD(expose_inside, victim_expose_inside, void, u32, u32),
    RAPAHUB_METHOD(invite, victim_invite, void, u32),
    RAPAHUB_METHOD(enter, victim_enter, void, void),
    RAPAHUB_METHOD(entered, victim_entered, u32, void),
    RAPAHUB_METHOD(guests, victim_guests, u32, void),
    RAPAHUB_METHOD(large, victim_large, bytes, u32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "victim", .version = "1.0.0", .state_size = sizeof(struct victim),
               .state_version = 1, .ops = &ops, .methods = methods);
