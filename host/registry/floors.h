/* SPDX-License-Identifier: Apache-2.0 */
/* floors: a host is cut along its rooms, the floors. The struct of a floor holds that of the floor
 * below as its first member, so all of them begin where the host does. A function takes the struct
 * of its own floor, and hands down the member that holds the floor below. Where the way down is
 * long, or a pointer comes from below (of a guest, from a job of the owner, from the embedder), the
 * floor's macro gives the struct: HOST_OWNER(host), HOST_CALL(life->host). It takes a pointer to
 * the struct of any floor, or to the public handle, and nothing else. */
#ifndef HOST_REGISTRY_FLOORS_H
#define HOST_REGISTRY_FLOORS_H

struct rapahub_host;
struct host_registry;
struct host_owner;
struct host_process;
struct host_call;
struct host_supervision;
struct host_observe;

#define HOST_FLOOR(floor, of)                                   \
    ((struct floor *)_Generic((of), struct rapahub_host *       \
                              : (of), struct host_registry *    \
                              : (of), struct host_owner *       \
                              : (of), struct host_process *     \
                              : (of), struct host_call *        \
                              : (of), struct host_supervision * \
                              : (of), struct host_observe *     \
                              : (of)))

#endif
