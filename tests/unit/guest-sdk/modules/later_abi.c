/* SPDX-License-Identifier: Apache-2.0 */
/* later_abi: a chimod of a later release. */
#include <rapahub/chimod.h>

const struct rapahub_chimod rapahub_chimod = {.abi = RAPAHUB_CHIMOD_ABI + 1, .name = "later"};
