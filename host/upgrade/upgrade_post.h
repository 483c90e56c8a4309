/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_post: a message of an upgrade to one of its two processes, about one container at a time,
 * and what comes of it. Owner thread. */
#ifndef HOST_UPGRADE_UPGRADE_POST_H
#define HOST_UPGRADE_UPGRADE_POST_H

#include "host/call/request.h"
#include "host/upgrade/upgrade.h"

/* Returns the container in progress; there is none when the step is over. */
static inline struct host_container *host_upgrade_post_current(const struct host_upgrade *upgrade)
{
    return upgrade->holding.list[upgrade->at];
}

static inline bool host_upgrade_post_over(const struct host_upgrade *upgrade)
{
    return upgrade->at == upgrade->holding.count;
}

/* Returns the deadline of the upgrade, or that of held calls. */
uint64_t host_upgrade_post_deadline(const struct host_upgrade *upgrade);

/* Calls `again` after the next change, as the continuation of the running step. */
void host_upgrade_post_await(struct host_upgrade *upgrade,
                             void (*again)(struct host_upgrade *upgrade));

/* Calls `again` in a moment. This is for what only the other process knows and does not tell: that
 * its work is done, or that it has space for a message. The more time has gone by, the longer is
 * the moment, so long waits need few looks. */
void host_upgrade_post_again(struct host_upgrade *upgrade,
                             void (*again)(struct host_upgrade *upgrade));

/* Sends a message, whose user is the upgrade. -EAGAIN: there is no space for it, and `again` runs
 * in a moment. Another failure: it was not sent. */
int host_upgrade_post_try(struct host_upgrade *upgrade, struct host_life *life,
                          struct host_request_message message,
                          void (*again)(struct host_upgrade *upgrade));

/* The same for a step that fails with the message; says whether it was sent. */
bool host_upgrade_post(struct host_upgrade *upgrade, struct host_life *life,
                       struct host_request_message message,
                       void (*again)(struct host_upgrade *upgrade));

/* The message that begins the current container in the new process, to be loaded later. */
void host_upgrade_post_begin(struct host_upgrade *upgrade, hub_calls_done *done,
                             void (*again)(struct host_upgrade *upgrade));

/* Says whether the step `asked` was answered with success, and is still the present one. An answer
 * to an earlier step is ignored; a failure is the upgrade's. */
bool host_upgrade_post_answered(struct host_upgrade *upgrade, enum host_upgrade_state asked,
                                int code, struct host_life *life);

/* Decodes an answer; false: the step has failed. */
bool host_upgrade_post_take(struct host_upgrade *upgrade, struct host_life *life,
                            struct hub_answer *answer, enum hub_lifecycle_method method,
                            void *result);

#endif
