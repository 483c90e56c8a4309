/* SPDX-License-Identifier: Apache-2.0 */
/* slow_save: adds up its arguments. Its state takes a while to save. */
#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define SAVES_FOR 100 /* milliseconds */

static int slow_save_add(void *self, int64_t amount, int64_t *total)
{
    int64_t *sum = self;

    *total = *sum += amount;
    return 0;
}

static int slow_save_save(void *self, struct rapahub_sink *to)
{
    pause_ms(SAVES_FOR);
    return rapahub_sink_write(to, self, sizeof(int64_t));
}

static int slow_save_load(void *self, struct rapahub_source *from, uint32_t version)
{
    (void)version;
    return rapahub_source_read_all(from, self, sizeof(int64_t));
}

static const struct rapahub_container_ops ops = {.save = slow_save_save, .load = slow_save_load};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, slow_save_add, i64, i64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "slow_save", .version = "1.0.0", .state_size = sizeof(int64_t),
               .state_version = 1, .ops = &ops, .methods = methods);
