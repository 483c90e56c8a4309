/* SPDX-License-Identifier: Apache-2.0 */
/* later_ops: a chimod of an SDK with more callbacks. */
#include <rapahub/chimod.h>

const struct rapahub_chimod rapahub_chimod = {
    .abi = RAPAHUB_CHIMOD_ABI,
    .ops_size = sizeof(struct rapahub_container_ops) + sizeof(void *),
    .name = "later",
};
