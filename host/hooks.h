/* SPDX-License-Identifier: Apache-2.0 */
/* hooks: what lower parts of a host call of upper ones. Each part calls down by name; where it must
 * call up it does so through one of these tables, which are constant and complete from the moment a
 * host is made: no caller tests for NULL. The functions are described where they are declared. */
#ifndef HOST_HOOKS_H
#define HOST_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/supervise/exits.h"

struct host_async;
struct host_decision;
struct host_guest;
struct host_life;
struct hub_request;
struct rapahub_host;

/* Carries out at a guest what supervision has decided. */
struct host_hooks_decisions {
    void (*start)(struct host_guest *guest);
    void (*move)(struct host_guest *guest, const struct host_decision *decision);
    void (*ask)(struct host_guest *guest);
    void (*finish)(struct host_guest *guest);
    void (*end)(struct host_life *life, enum host_cause cause, const char *why);
};

/* Hears of the children of supervisors, to tell those who observe or monitor them. */
struct host_hooks_listeners {
    void (*added)(struct rapahub_host *host, uint32_t place);
    void (*deciding)(struct rapahub_host *host, const struct host_decision *decision);
    void (*decided)(struct rapahub_host *host, const struct host_decision *decision);
    void (*reaped)(struct rapahub_host *host, const struct host_life *life);
};

/* Carries out what others find out about a life. */
struct host_hooks_lives {
    void (*attached)(struct host_life *life);
    void (*ready)(struct host_life *life);
    void (*open)(struct host_life *life);
    void (*leaving)(struct host_life *life);
    void (*stuck)(struct host_life *life, enum host_cause cause);
    void (*may_be_dead)(struct host_life *life);
    void (*on_pidfd)(void *life, uint32_t events);
    void (*on_bell)(void *life, uint32_t events);
};

struct host_hooks {
    struct host_hooks_lives lives;
    struct host_hooks_decisions decisions;
    struct host_hooks_listeners listeners;
    /* A turn of the loop, one that ends at a deadline, and what a wait serves without a turn. */
    int (*turn)(struct rapahub_host *host, int timeout_ms);
    int (*turn_until)(struct rapahub_host *host, uint64_t deadline_ns);
    uint32_t (*serve)(struct rapahub_host *host, struct host_life *life, uint32_t most);
    uint32_t (*serve_queued)(struct rapahub_host *host, struct host_life *life, uint32_t most);
    /* A call waits for a guest that starts when it is called. */
    void (*called)(struct host_guest *guest);
    /* Looks for guests that come by themselves. */
    bool (*visitors)(struct rapahub_host *host);
    /* An asynchronous call with streams begins. */
    int (*stream)(struct rapahub_host *host, struct host_async *async);
    /* A guest says that it is ready. */
    void (*ready)(struct rapahub_host *host, struct host_life *life, struct hub_request *request);
};

#endif
