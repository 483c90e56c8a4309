/* SPDX-License-Identifier: Apache-2.0 */
/* constructor_loop: is never loaded. */
#include <poll.h>

#include <rapahub/chimod.h>

__attribute__((constructor)) static void loop(void)
{
    for (;;)
        poll(NULL, 0, 1000);
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "constructor_loop", .version = "1.0.0", .methods = methods);
