/* SPDX-License-Identifier: Apache-2.0 */
/* constructor_loop: is never loaded. */

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

__attribute__((constructor)) static void loop(void)
{
    for (;;)
        pause_ms(1000);
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "constructor_loop", .version = "1.0.0", .methods = methods);
