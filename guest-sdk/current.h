/* SPDX-License-Identifier: Apache-2.0 */
/* current: the guest that the calling thread serves. The functions of chimod.h have no handle, for
 * a chimod knows no host: so a thread knows its guest. */
#ifndef GUEST_SDK_CURRENT_H
#define GUEST_SDK_CURRENT_H

struct guest;

/* NULL on every thread but a serving one. */
struct guest *guest_current(void);
void guest_current_set(struct guest *guest);

#endif
