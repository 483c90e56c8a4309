/* SPDX-License-Identifier: Apache-2.0 */
/* arrived: the word by which any thread says that something waits for the guest's thread. A thread
 * that publishes a request, a role's message or a wish to leave then sets the word to 1, and wakes
 * the guest's thread, which sleeps while the word is 0.
 */
#ifndef GUEST_SDK_ARRIVED_H
#define GUEST_SDK_ARRIVED_H

#include "hub/base/atomic.h"

/* The guest's thread looks at all that may wait after this, and then may sleep. Either it sees
 * there what was published, or the word is 1 again. A plain store would not do: a processor may
 * carry it out after the look, and so wipe out what was said meanwhile. A 0 that is old is no
 * harm, for then nothing is written. r[impl hub.wait.arrived] */
static inline void guest_arrived_clear(struct hub_a32 *arrived)
{
    if (hub_load_relaxed(arrived) != 0)
        (void)hub_exchange(arrived, 0);
}

#endif
