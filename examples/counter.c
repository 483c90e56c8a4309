/* SPDX-License-Identifier: Apache-2.0 */
/* counter: a first chimod. It adds up its arguments, and keeps the sum when it moves. */
#include <rapahub/chimod.h>

struct counter {
    int64_t total; /* zeroed at first */
    int64_t saved; /* the total in the last save */
};

static int counter_add(void *self, int64_t amount, int64_t *total)
{
    struct counter *counter = self;

    if (amount < 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "amount %" PRId64 " is negative", amount);
    *total = counter->total += amount;
    return 0;
}

/* Writes by how much the total has grown since the number `since`. */
static int save_since(struct counter *counter, int64_t since, struct rapahub_sink *to)
{
    int64_t more = counter->total - since;
    int r = rapahub_sink_write(to, &more, sizeof more);

    if (r == 0)
        counter->saved = counter->total;
    return r;
}

static int counter_save(void *self, struct rapahub_sink *to)
{
    return save_since(self, 0, to);
}

static int counter_save_changes(void *self, struct rapahub_sink *to)
{
    return save_since(self, ((struct counter *)self)->saved, to);
}

/* For a state and for changes alike: a new counter begins at 0. */
static int counter_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct counter *counter = self;
    int64_t more;
    int r;

    if (version != 1)
        return rapahub_fail(RAPAHUB_EABI, "", "state of version %" PRIu32, version);
    r = rapahub_source_read_all(from, &more, sizeof more);
    if (r == 0)
        counter->saved = counter->total += more;
    return r;
}

static int counter_load_changes(void *self, struct rapahub_source *from, uint32_t version)
{
    return counter_load(self, from, version);
}

static const struct rapahub_container_ops ops = {.save = counter_save,
                                                 .load = counter_load,
                                                 .save_changes = counter_save_changes,
                                                 .load_changes = counter_load_changes};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, counter_add, i64, i64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "counter", .version = "1.0.0", .state_size = sizeof(struct counter),
               .state_version = 1, .ops = &ops, .methods = methods);
