/* SPDX-License-Identifier: Apache-2.0 */
/* publisher: publishes numbers into the region that its parameters name. */
#include <unistd.h>

#include <rapahub/chimod.h>

struct publisher {
    struct rapahub_region *region;
    struct rapahub_producer *producer;
};

static int publisher_open(void *self, const struct rapahub_container_info *info)
{
    struct publisher *publisher = self;
    char name[RAPAHUB_REGION_NAME_MAX + 1] = "";
    int r;

    for (size_t i = 0; i < info->params.size && i < sizeof name - 1; i++)
        name[i] = ((const char *)info->params.data)[i];
    r = rapahub_region_open(name, NULL, &publisher->region);
    return r == 0 ? rapahub_producer_open(publisher->region, NULL, &publisher->producer) : r;
}

static void publisher_close(void *self)
{
    struct publisher *publisher = self;

    rapahub_producer_close(publisher->producer);
    (void)rapahub_region_close(publisher->region);
}

static int publisher_publish(void *self, uint64_t number, int32_t *out)
{
    struct publisher *publisher = self;

    *out = (int32_t)getpid();
    return rapahub_producer_push(publisher->producer, &number, sizeof number, 1000000000);
}

static const struct rapahub_container_ops ops = {
    .init = publisher_open, .restart = publisher_open, .fini = publisher_close};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(publish, publisher_publish, i32, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "publisher", .version = "1.0.0", .state_size = sizeof(struct publisher),
               .ops = &ops, .methods = methods);
