/* SPDX-License-Identifier: Apache-2.0 */
/* bad_name: a chimod with an invalid name. */
#include <rapahub/chimod.h>

RAPAHUB_CHIMOD(.name = "9 lives", .version = "1.0.0");
