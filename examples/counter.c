/* SPDX-License-Identifier: Apache-2.0 */
/* counter: a first chimod. It adds up its arguments, and keeps the sum when it moves. */
#include <rapahub/chimod.h>

struct counter {
    int64_t total; /* zeroed at first */
};

static int counter_add(void *self, int64_t amount, int64_t *total)
{
    struct counter *counter = self;

    if (amount < 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "amount %" PRId64 " is negative", amount);
    *total = counter->total += amount;
    return 0;
}

static int counter_save(void *self, struct rapahub_sink *to)
{
    return rapahub_sink_write(to, self, sizeof(struct counter));
}

static int counter_load(void *self, struct rapahub_source *from, uint32_t version)
{
    if (version != 1)
        return rapahub_fail(RAPAHUB_EABI, "", "state of version %" PRIu32, version);
    return rapahub_source_read_all(from, self, sizeof(struct counter));
}

static const struct rapahub_container_ops ops = {.save = counter_save, .load = counter_load};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, counter_add, i64, i64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "counter", .version = "1.0.0", .state_size = sizeof(struct counter),
               .state_version = 1, .ops = &ops, .methods = methods);
