/* SPDX-License-Identifier: Apache-2.0 */
/* kv_next: the next version of chimods/kv, whose load depends on KV_NEXT_FAULT: after the normal
 * load, when it has the folder, it may fail, die, or go on for two seconds. */
#include <signal.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct kv_store;

enum fault { NO_FAULT, LOAD_FAILS, LOAD_DIES, LOAD_LASTS };

int __real_kv_store_load(struct kv_store *store, struct rapahub_source *from);
int __wrap_kv_store_load(struct kv_store *store, struct rapahub_source *from);

int __wrap_kv_store_load(struct kv_store *store, struct rapahub_source *from)
{
    int r = __real_kv_store_load(store, from);

    if (KV_NEXT_FAULT == LOAD_DIES)
        raise(SIGKILL);
    if (KV_NEXT_FAULT == LOAD_LASTS)
        pause_ms(2000);
    return KV_NEXT_FAULT == LOAD_FAILS ? rapahub_fail(RAPAHUB_EIO, "", "asked not to load") : r;
}
