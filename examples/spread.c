/* SPDX-License-Identifier: Apache-2.0 */
/* spread: a pool whose containers say themselves where a call goes: one after the other, or, with a
 * number, always to the same. `rapahub call spread@dynamic.work 7`, with a key
 * `rapahub call spread@dynamic:anna.work 7`. */
#include <rapahub/chimod.h>

struct spread {
    uint64_t done; /* comes zeroed */
    uint32_t next;
};

/* Gives the number of calls that this container has done. */
static int spread_work(void *self, uint64_t amount, uint64_t *done)
{
    struct spread *spread = self;

    (void)amount;
    *done = ++spread->done;
    return 0;
}

static int spread_route(void *self, const struct rapahub_route *asked, struct rapahub_query *out)
{
    struct spread *spread = self;

    if (asked->number != 0) {
        out->mode = RAPAHUB_QUERY_HASH;
        out->number = asked->number;
    } else {
        out->mode = RAPAHUB_QUERY_DIRECT;
        out->offset = spread->next++ % asked->containers;
    }
    return 0;
}

static const struct rapahub_container_ops ops = {.route = spread_route};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(work, spread_work, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "spread", .version = "1.0.0", .state_size = sizeof(struct spread),
               .ops = &ops, .methods = methods);
