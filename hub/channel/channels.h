/* SPDX-License-Identifier: Apache-2.0 */
/* channels: the channels of a link: their ids, their receipt, and the effects of their calls. */
#ifndef HUB_CHANNEL_CHANNELS_H
#define HUB_CHANNEL_CHANNELS_H

#include "hub/channel/channel.h"
#include "hub/link/link.h"

#define HUB_CHANNELS_OF_CALL 16 /* as many as arguments */

struct hub_channels;

/* The channels of a call, on either side. Each is held. */
struct hub_channel_list {
    uint32_t count;
    struct hub_channel *list[HUB_CHANNELS_OF_CALL];
};

int hub_channels_create(const struct hub_limits *limits, enum hub_role role,
                        struct hub_channels **out);
void hub_channels_release(struct hub_channels **channels);

/* `entries` is the table in the segment. */
void hub_channels_bind(struct hub_channels *channels, struct hub_link *link,
                       struct hub_channel_entry *entries);

/* For a side that serves more than this link: a thread for which `is_busy` is true waits for a
 * channel by `wait`, and never inside of a send. */
typedef int hub_channels_wait(void *user, struct hub_link *link,
                              const struct hub_link_until *until);
struct hub_channels_manner {
    bool (*is_busy)(void *user);
    hub_channels_wait *wait;
    void *user;
};
void hub_channels_set_manner(struct hub_channels *channels,
                             const struct hub_channels_manner *manner);

/* ---- calls that this side makes ---- */

/* Opens a new channel of ours, for an argument of a call. If no id is free it waits for one until
 * the deadline: -EBUSY. r[impl channeling.allocation.caller] r[impl shm.id.channel-parity] */
int hub_channels_open(struct hub_channels *channels, bool sends, uint64_t deadline_ns,
                      struct hub_channel **out);

/* The call was never sent: its ids are free. */
void hub_channels_discard(struct hub_channel_list *list);

/* The Response has come. Refused: the ids are unknown at the other side. Under the token. */
void hub_channels_answered(struct hub_channel_list *list, bool refused);

/* Releases the list; channels that are still open are reset. */
void hub_channels_drop(struct hub_channel_list *list);

/* ---- calls that this side serves ---- */

/* Registers the channels that a Request names; `sends` says for each whether this side is the
 * sender. Returns 0, -ENOMEM, or RAPAHUB_EPROTOCOL: shm.id.channel-parity,
 * channeling.id.zero-reserved, shm.flow.channel-table-indexing, channeling.id.uniqueness. Under the
 * token. r[impl hub.channel.register] r[impl channeling.lifecycle.immediate-data] */
struct hub_channel_name {
    uint64_t id;
    bool sends;
};
int hub_channels_register(struct hub_channels *channels, const struct hub_channel_name *names,
                          uint32_t count, struct hub_channel_list *out);

/* The Response is sent next, and nothing after it. Refused: its caller treats the ids as unknown
 * here, and frees them. */
void hub_channels_answer(struct hub_channel_list *list, bool refused);

/* Returns the channel with that id and direction in the form that a method gets: a struct
 * rapahub_source * or, if this side sends, a struct rapahub_sink *; NULL if there is none. */
void *hub_channels_find(const struct hub_channel_list *list, bool sink, uint64_t id);

/* A Request came whose channels cannot be known, and which will be refused: messages for unknown
 * ids of the peer are ignored from now on. r[impl hub.channel.orphan] */
void hub_channels_refused(struct hub_channels *channels);

/* ---- the whole set ---- */

/* Says whether credit or an id has come for which a thread waits; once for each. */
bool hub_channels_granted(struct hub_channels *channels);

uint32_t hub_channels_count(struct hub_channels *channels);   /* open now */
uint64_t hub_channels_orphans(struct hub_channels *channels); /* messages ignored */
uint64_t hub_channels_waits(struct hub_channels *channels);   /* for credit */

#endif
