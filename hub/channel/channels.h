/* SPDX-License-Identifier: Apache-2.0 */
/* channels: those of one link: ids, receipt, and what their calls do to them. */
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

/* For a side that has more than this link to serve: a thread for which `is_busy` says so waits for
 * a channel by `wait`, and never inside of a send. */
typedef int hub_channels_wait(void *user, struct hub_link *link,
                              const struct hub_link_until *until);
struct hub_channels_manner {
    bool (*is_busy)(void *user);
    hub_channels_wait *wait;
    void *user;
};
void hub_channels_set_manner(struct hub_channels *channels,
                             const struct hub_channels_manner *manner);

/* ---- of calls this side makes ---- */

/* A new channel of ours, which its call names in its arguments. Where no id is free it waits until
 * the deadline for one: -EBUSY. r[impl channeling.allocation.caller] r[impl shm.id.channel-parity]
 */
int hub_channels_open(struct hub_channels *channels, bool sends, uint64_t deadline_ns,
                      struct hub_channel **out);

/* The call was never sent: its ids are free. */
void hub_channels_discard(struct hub_channel_list *list);

/* The Response is here. Refused: nobody at the other side knows the ids. Under the token. */
void hub_channels_answered(struct hub_channel_list *list, bool refused);

/* Gives the list back: what is still open is reset. */
void hub_channels_drop(struct hub_channel_list *list);

/* ---- of calls this side serves ---- */

/* The channels a Request names; `sends` tells for each whether this side is the sender. 0, -ENOMEM,
 * or RAPAHUB_EPROTOCOL: shm.id.channel-parity, channeling.id.zero-reserved,
 * shm.flow.channel-table-indexing, channeling.id.uniqueness. Under the token.
 * r[impl hub.channel.register] r[impl channeling.lifecycle.immediate-data] */
struct hub_channel_name {
    uint64_t id;
    bool sends;
};
int hub_channels_register(struct hub_channels *channels, const struct hub_channel_name *names,
                          uint32_t count, struct hub_channel_list *out);

/* The Response goes out next: nothing is sent behind it. Refused: its caller takes the ids for
 * unknown here, and frees them. */
void hub_channels_answer(struct hub_channel_list *list, bool refused);

/* The one of these with that id and direction as what a method gets for it: a struct rapahub_source
 * * or, where this side is to send, a struct rapahub_sink *; NULL where there is none. */
void *hub_channels_find(const struct hub_channel_list *list, bool sink, uint64_t id);

/* A Request came whose channels cannot be known, and which will be refused: what comes for unknown
 * ids of the peer is ignored from now on. r[impl hub.channel.orphan] */
void hub_channels_refused(struct hub_channels *channels);

/* ---- the whole set ---- */

/* Has credit come that somebody waits for, or an id? Once for each. */
bool hub_channels_granted(struct hub_channels *channels);

uint32_t hub_channels_count(struct hub_channels *channels);   /* open now */
uint64_t hub_channels_orphans(struct hub_channels *channels); /* messages ignored */
uint64_t hub_channels_waits(struct hub_channels *channels);   /* for credit */

#endif
