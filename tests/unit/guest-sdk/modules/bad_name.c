/* SPDX-License-Identifier: Apache-2.0 */
/* bad_name: a chimod whose name nobody could type. */
#include <rapahub/chimod.h>

RAPAHUB_CHIMOD(.name = "9 lives", .version = "1.0.0");
