/* SPDX-License-Identifier: Apache-2.0 */
/* constructor_exit: ends the process while it is loaded, with a last line. */
#include <stdio.h>
#include <unistd.h>

#include <rapahub/chimod.h>

__attribute__((constructor)) static void leave(void)
{
    fputs("no licence was found\n", stderr);
    _exit(3);
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "constructor_exit", .version = "1.0.0", .methods = methods);
