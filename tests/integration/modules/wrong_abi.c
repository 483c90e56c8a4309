/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_abi: a chimod of another release. */
#include <rapahub/chimod.h>

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

const struct rapahub_chimod rapahub_chimod = {.abi = RAPAHUB_CHIMOD_ABI + 1,
                                              .ops_size = sizeof(struct rapahub_container_ops),
                                              .name = "wrong_abi",
                                              .version = "1.0.0",
                                              .methods = methods};
