/* SPDX-License-Identifier: Apache-2.0 */
/* ops: a module's callbacks with all defaults filled in, so that no call site tests for NULL. */
#ifndef GUEST_SDK_OPS_H
#define GUEST_SDK_OPS_H

#include <rapahub/chimod.h>

/* Copies the chimod's callbacks, as many as its `ops_size` covers, and fills in the defaults.
 * work_remaining remains NULL without a callback: the SDK counts the open calls itself. */
void guest_ops_fill(struct rapahub_container_ops *ops, const struct rapahub_chimod *chimod);

/* RAPAHUB_EABI if the chimod has one of two callbacks that belong together. */
int guest_ops_check(const struct rapahub_chimod *chimod);

/* RAPAHUB_ENOTSUP for a chimod that was compiled when a role was kept until `fini`: a thread of it
 * may use one, and would not be told that it goes. */
int guest_ops_lets_go(const struct rapahub_chimod *chimod);

/* Bit n says that the n-th callback is the module's own. */
uint32_t guest_ops_mask(const struct rapahub_chimod *chimod);

#endif
