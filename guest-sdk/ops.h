/* SPDX-License-Identifier: Apache-2.0 */
/* ops: a module's callbacks, every default filled in, so that nobody asks for NULL again. */
#ifndef GUEST_SDK_OPS_H
#define GUEST_SDK_OPS_H

#include <rapahub/chimod.h>

/* Those of the chimod as far as its `ops_size` goes. work_remaining stays NULL where it has none:
 * the SDK counts the open calls itself. */
void guest_ops_fill(struct rapahub_container_ops *ops, const struct rapahub_chimod *chimod);

/* Bit n: the n-th callback is the module's own. */
uint32_t guest_ops_mask(const struct rapahub_chimod *chimod);

#endif
