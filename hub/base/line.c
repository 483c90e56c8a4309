/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/line.h"

#include <stdlib.h>
#include <string.h>

static size_t whole(size_t size)
{
    return (size + HUB_LINE - 1) / HUB_LINE * HUB_LINE;
}

void *hub_line_alloc(size_t size)
{
    return size <= SIZE_MAX - HUB_LINE ? aligned_alloc(HUB_LINE, whole(size)) : NULL;
}

void *hub_line_zeroed(size_t size)
{
    void *memory = hub_line_alloc(size);

    return memory ? memset(memory, 0, whole(size)) : NULL;
}
