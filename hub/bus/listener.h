/* SPDX-License-Identifier: Apache-2.0 */
/* listener: told that a consumer may have something, in place of a descriptor for a loop. */
#ifndef HUB_BUS_LISTENER_H
#define HUB_BUS_LISTENER_H

/* `tell` runs on a thread of the library, and must not wait. */
struct hub_listener {
    void (*tell)(void *user);
    void *user;
};

#endif
