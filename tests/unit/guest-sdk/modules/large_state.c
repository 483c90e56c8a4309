/* SPDX-License-Identifier: Apache-2.0 */
/* large_state: a chimod with more than 1 GiB of state. */
#include <rapahub/chimod.h>

RAPAHUB_CHIMOD(.name = "large", .version = "1.0.0", .state_size = ((size_t)1 << 30) + 1);
