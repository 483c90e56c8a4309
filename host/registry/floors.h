/* SPDX-License-Identifier: Apache-2.0 */
/* floors: the struct of a host is divided into floors, one for each of its rooms. The struct of a
 * floor has that of the floor below as its first member, so all of them have the address of the
 * host. A function takes the struct of its own floor, and passes the member with the floor below
 * down. If the way down is long, or a pointer comes from below (from a guest, a job of the owner,
 * the embedder), the macro of a floor gives its struct: HOST_OWNER(host), HOST_CALL(life->host).
 * The macro accepts a pointer to the struct of any floor, or the public handle, and nothing
 * else. */
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
