/* SPDX-License-Identifier: Apache-2.0 */
/* delivery: the messages of roles that deliver go to the callback `message`, on the serving thread,
 * between two requests. A thread for each such role sleeps in its region, and nudges the serving
 * thread when there may be something. r[impl supervise.role.deliver] */
#ifndef GUEST_SDK_DELIVERY_H
#define GUEST_SDK_DELIVERY_H

#include <stdbool.h>

struct guest;
struct guest_role;

/* Makes room for a message of the role, a consumer. -EINVAL: its module has no callback `message`.
 */
int guest_delivery_prepare(struct guest *guest, struct guest_role *role);

/* Begins to deliver: its guest is READY. */
int guest_delivery_begin(struct guest_role *role);

/* Delivers what is due, at most 32 messages of each role. True: there may be more at once. */
bool guest_delivery_run(struct guest *guest);

#endif
