/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/forked.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/owner/owner.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif

/* The first page of the block is wiped in a child. The host begins in it, so that its first line is
 * the page's last. */
_Static_assert(offsetof(struct host_registry, callers) == 0, "the number comes first");
_Static_assert(offsetof(struct host_callers, key) == HOST_CALLER_LINE, "and is alone there");

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *host_forked_new(size_t host_size)
{
    size_t page = page_size(), size = page + host_size;
    uint8_t *block = aligned_alloc(page, (size + page - 1) / page * page);

    if (!block)
        return NULL;
    memset(block, 0, size);
    (void)madvise(block, page, MADV_WIPEONFORK);
    return block + page - HOST_CALLER_LINE;
}

void host_forked_free(void *host)
{
    size_t page = page_size();
    uint8_t *block = (uint8_t *)host + HOST_CALLER_LINE - page;

    (void)madvise(block, page, MADV_KEEPONFORK);
    free(block);
}

int host_forked_check(const struct host_owner *host)
{
    return host->registry.callers.number != 0
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
}
