/* SPDX-License-Identifier: Apache-2.0 */
#include "host/forked.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/host.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif

/* The first page is wiped, and the host begins so that its first line is the last of that. */
_Static_assert(offsetof(struct rapahub_host, scratches) == 0, "the number comes first");
_Static_assert(offsetof(struct host_scratches, key) == HOST_SCRATCH_LINE, "and is alone there");

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct rapahub_host *host_forked_new(void)
{
    size_t page = page_size(), size = page + sizeof(struct rapahub_host);
    uint8_t *block = aligned_alloc(page, (size + page - 1) / page * page);

    if (!block)
        return NULL;
    memset(block, 0, size);
    (void)madvise(block, page, MADV_WIPEONFORK);
    return (struct rapahub_host *)(void *)(block + page - HOST_SCRATCH_LINE);
}

void host_forked_free(struct rapahub_host *host)
{
    size_t page = page_size();
    uint8_t *block = (uint8_t *)host + HOST_SCRATCH_LINE - page;

    (void)madvise(block, page, MADV_KEEPONFORK);
    free(block);
}

int host_forked_check(const struct rapahub_host *host)
{
    return host->scratches.number != 0
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
}
