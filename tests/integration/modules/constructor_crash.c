/* SPDX-License-Identifier: Apache-2.0 */
/* constructor_crash: dies while it is loaded. */
#include <signal.h>

#include <rapahub/chimod.h>

__attribute__((constructor)) static void crash(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "constructor_crash", .version = "1.0.0", .methods = methods);
