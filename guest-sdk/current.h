/* SPDX-License-Identifier: Apache-2.0 */
/* current: the guest that the calling thread serves. A chimod knows no host, so the functions of
 * chimod.h have no handle; each thread records its guest instead. */
#ifndef GUEST_SDK_CURRENT_H
#define GUEST_SDK_CURRENT_H

struct guest;

/* NULL on every thread that is not a serving thread. */
struct guest *guest_current(void);
void guest_current_set(struct guest *guest);

#endif
