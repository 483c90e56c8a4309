/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/batch.h"

#include <stdlib.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"

/* Waits without being woken: a wake-up would cost each write a locked operation more, for a case
 * that hardly occurs. */
void hub_batch_claim(struct hub_batch *batch)
{
    while (!hub_batch_try(batch))
        (void)hub_futex_wait_private(&batch->busy, 1, hub_clock_after(HUB_MILLISECOND));
}

bool hub_batch_reserve(struct hub_batch *batch)
{
    if (!batch->data)
        batch->data = malloc(HUB_BATCH_BYTES);
    return batch->data != NULL;
}

void hub_batch_fini(struct hub_batch *batch)
{
    free(batch->data);
    batch->data = NULL;
    hub_batch_empty(batch);
}
