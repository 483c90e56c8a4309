/* SPDX-License-Identifier: Apache-2.0 */
/* sorter: says by the number of a query where its call goes, rightly and wrongly. Its containers
 * say which they are. Their parameters are a folder, in which it notes what it does only once. */
#include "tests/cluster/modules/sorter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define HANGS_MS 1500

struct sorter {
    uint32_t container;
    char folder[128];
};

static int sorter_init(void *self, const struct rapahub_container_info *info)
{
    struct sorter *sorter = self;

    sorter->container = info->id.container;
    if (info->params.size < sizeof sorter->folder)
        memcpy(sorter->folder, info->params.data, info->params.size);
    return 0;
}

/* Says whether this is the first time, over all lives of its guest. */
static bool is_first(const struct sorter *sorter, const char *what)
{
    char path[160];
    int fd;

    snprintf(path, sizeof path, "%s/%s", sorter->folder, what);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int misbehave(const struct sorter *sorter, uint64_t number, struct rapahub_query *out)
{
    switch (number) {
    case SORTER_FAILS:
        return rapahub_fail(RAPAHUB_EACCES, "", "nobody may go there");
    case SORTER_DIES:
        if (is_first(sorter, "died"))
            abort();
        break;
    case SORTER_HANGS:
        if (is_first(sorter, "hung"))
            pause_ms(HANGS_MS);
        out->mode = RAPAHUB_QUERY_LOCAL;
        break;
    default:
        out->mode = (enum rapahub_query_mode)77;
    }
    return 0;
}

static int sorter_route(void *self, const struct rapahub_route *asked, struct rapahub_query *out)
{
    const struct sorter *sorter = self;

    out->offset = (uint32_t)asked->number;
    switch (asked->number) {
    case SORTER_LAST:
        out->offset = asked->containers - 1;
        return 0;
    case SORTER_LOCAL:
        out->mode = RAPAHUB_QUERY_LOCAL;
        return 0;
    case SORTER_PHYSICAL:
        out->mode = RAPAHUB_QUERY_PHYSICAL;
        out->number = asked->node;
        return 0;
    case SORTER_HASH:
        out->mode = RAPAHUB_QUERY_HASH;
        out->number = asked->method_id;
        return 0;
    case SORTER_RANGE:
        *out = (struct rapahub_query){.mode = RAPAHUB_QUERY_RANGE, .offset = 1, .count = 2};
        return 0;
    case SORTER_BROADCAST:
        out->mode = RAPAHUB_QUERY_BROADCAST;
        return 0;
    case SORTER_DYNAMIC:
        out->mode = RAPAHUB_QUERY_DYNAMIC;
        return 0;
    default:
        return asked->number < SORTER_FAILS ? 0 : misbehave(sorter, asked->number, out);
    }
}

static int sorter_where(void *self, uint32_t *container)
{
    const struct sorter *sorter = self;

    *container = sorter->container;
    return 0;
}

/* Leaves a file. */
static int sorter_mark(void *self)
{
    (void)is_first(self, "marked");
    return 0;
}

/* Waits in a call to a pool of the module `chained`, at this path. */
static int sorter_stall(void *self, uint32_t major, struct rapahub_string path)
{
    const uint64_t number = 1;
    const struct rapahub_call call = {.target = {{major, 0}, 0},
                                      .method = "note",
                                      .types = RAPAHUB_TYPES(void, u64, string),
                                      .arguments = (const void *const[]){&number, &path, NULL}};

    (void)self;
    return rapahub_chimod_call(&call, NULL);
}

static const struct rapahub_container_ops ops = {.init = sorter_init, .route = sorter_route};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(where, sorter_where, u32, void),
    RAPAHUB_METHOD(mark, sorter_mark, void, void),
    RAPAHUB_METHOD(stall, sorter_stall, void, u32, string),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "sorter", .version = "1.0.0", .state_size = sizeof(struct sorter),
               .state_version = 1, .ops = &ops, .methods = methods);
