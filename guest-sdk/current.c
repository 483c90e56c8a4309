/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/current.h"

#include <stddef.h>

extern _Thread_local struct guest *guest_current_of_thread;
_Thread_local struct guest *guest_current_of_thread;

struct guest *guest_current(void)
{
    return guest_current_of_thread;
}

void guest_current_set(struct guest *guest)
{
    guest_current_of_thread = guest;
}
