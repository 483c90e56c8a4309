/* SPDX-License-Identifier: Apache-2.0 */
/* channel_state: the state of a channel and of the set of a link, as reader, writer and receiver
 * change it. Private to the files of channels. */
#ifndef HUB_CHANNEL_CHANNEL_STATE_H
#define HUB_CHANNEL_CHANNEL_STATE_H

#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/channel/batch.h"
#include "hub/channel/channels.h"
#include "hub/channel/fifo.h"
#include "hub/shm/channel_table.h"

/* The stage of a side, on its own. */
enum hub_channel_stage {
    HUB_CHANNEL_OPEN,
    HUB_CHANNEL_DRAINS, /* receiver: broken off here; the sender's last message is still to come */
    HUB_CHANNEL_ENDED,  /* by Close, or by the Response */
    HUB_CHANNEL_RESET   /* broken off */
};

/* The record of an id that is not open. */
enum hub_channel_past { HUB_PAST_NEVER, HUB_PAST_SENT, HUB_PAST_ENDED, HUB_PAST_RESET };

struct hub_channel {
    struct hub_channels *set;
    uint32_t id, turn; /* for our ids: the number of this user of the id */
    bool sends;        /* this side sends */
    bool ours;         /* this side allocated the id */
    struct hub_a32 users;
    struct hub_a32 stopped;
    struct hub_a32 shut; /* nothing more is sent: the channel, or the link, is over */
    struct rapahub_source source;
    struct rapahub_sink sink;
    bool led;    /* another thread receives the data that it reads */
    bool corked; /* belongs to the writing thread: writes may be held back */
    struct hub_batch batch;
    void (*on_stop)(void *user);
    void *user;
    struct hub_list owing, waiting, joining; /* in the lists of the set */

    enum hub_channel_stage stage; /* from here on all is under the set's lock */
    bool answered;                /* its call is answered, or was never sent */
    bool frees;                   /* this side sets the entry Free when it returns the id */
    bool given_back;              /* the id was returned */
    bool writing;                 /* a message of it may be on its way into the ring */
    bool filling;                 /* the leader copies an element to the end of the fifo */
    bool dropped;                 /* drops the queue, and the element being copied */
    uint32_t called;              /* bytes in the fifo when its reader was last told of plenty */
    uint32_t told;                /* the sum of grants that its sender was told */
    uint32_t granted;             /* receiver: granted by us; sender: last seen by its thread */
    uint32_t window;              /* receiver: given by us; sender: the widest seen by its thread */
    size_t longest;               /* sender: bytes of an element, likewise */
    uint32_t sent;                /* belongs to the writing thread */
    uint32_t received;
    uint32_t taken;       /* read, and not granted again yet */
    struct hub_fifo fifo; /* the bytes, without the lengths of the elements */
    uint32_t overhead;    /* bytes of the lengths of the elements in it */
};

struct hub_channels {
    struct hub_link *link;
    struct hub_channel_entry *entries, nobodys;
    enum hub_role role;
    uint32_t limit, credit;
    size_t longest;       /* bytes of an element that this side sends in such a window */
    struct hub_a32 extra; /* bytes that receivers were granted beyond `credit` */
    struct hub_channels_manner manner;
    struct hub_mutex lock;
    struct hub_channel **open GUARDED_BY(lock); /* by id */
    uint8_t *past GUARDED_BY(lock);             /* by id: enum hub_channel_past */
    uint32_t *turns GUARDED_BY(lock);           /* by id: how many channels of ours had it */
    uint32_t *free GUARDED_BY(lock);            /* our free ids: a ring, the oldest first */
    uint32_t free_at GUARDED_BY(lock), free_count GUARDED_BY(lock), own GUARDED_BY(lock);
    uint32_t count GUARDED_BY(lock);   /* open */
    uint32_t seekers GUARDED_BY(lock); /* threads that wait for an id */
    /* empty: memory of a channel that has ended, for the next */
    struct hub_fifo spare GUARDED_BY(lock);
    bool spare_used GUARDED_BY(lock); /* since the last check */
    struct hub_list owing GUARDED_BY(lock);
    struct hub_a32 owes;                      /* length of that list, readable without the lock */
    struct hub_list waiting GUARDED_BY(lock); /* senders without credit */
    struct hub_list joining GUARDED_BY(lock); /* senders with a batch */
    bool refused GUARDED_BY(lock);
    int code GUARDED_BY(lock); /* 0, or why all have ended */
    struct hub_a64 orphans, waits;
};

static inline struct hub_channel_entry *hub_channel_entry_of(const struct hub_channel *channel)
{
    return &channel->set->entries[channel->id];
}

/* The same for writing: a private one if the table belongs to another by now.
 * r[impl hub.death.guard] */
static inline struct hub_channel_entry *hub_channel_entry_to_write(struct hub_channel *channel)
{
    struct hub_channels *set = channel->set;

    return hub_link_ours(set->link) ? &set->entries[channel->id] : &set->nobodys;
}

/* Says whether nothing comes any more, and nothing may be sent. Queued data can still be read. */
bool hub_channel_is_over(const struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Queued data is of no use any more: it is freed, at once or by the thread that copies from or to
 * it. */
void hub_channel_drop_queue(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Nothing more is sent, as at the end of the link. */
void hub_channel_shut(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Its writer no longer waits, and holds nothing back. */
void hub_channel_unlist(struct hub_channel *channel) REQUIRES(channel->set->lock);

bool hub_channel_is_stopped(const struct hub_channel *channel);

/* Returns the reason, with the diagnosis. */
int hub_channel_explain(const struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Its last message is sent as soon as there is space, by the next thread that can. */
void hub_channel_owe_reset(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* The last message is sent, or would find no receiver: a channel that owes it leaves that list,
 * and the list's reference becomes the caller's, to be released without the lock. NULL: it owes
 * none. */
struct hub_channel *hub_channel_forgive(struct hub_channel *channel) REQUIRES(channel->set->lock);

/* Waits a while for `done`; `space`: for something that the peer returns. */
void hub_channel_wait(struct hub_channel *channel, bool (*done)(void *user), void *user,
                      bool space);

/* Says whether this thread has more to do than to wait here. */
static inline bool hub_channels_is_busy(const struct hub_channels *set)
{
    return set->manner.is_busy && set->manner.is_busy(set->manner.user);
}

/* The channel is no longer open: no received message finds it. */
void hub_channel_close(struct hub_channel *channel, enum hub_channel_stage stage)
    REQUIRES(channel->set->lock);

/* The id is free for another channel, as soon as nothing of this one can be sent any more. */
void hub_channel_give_back(struct hub_channel *channel) REQUIRES(channel->set->lock);

#endif
