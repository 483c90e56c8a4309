/* SPDX-License-Identifier: Apache-2.0 */
/* call_table: the calls that one side has made and not yet forgotten, by number and by the id on
 * the wire. All of it is under the table's lock, which is the link's: a Request is entered and sent
 * in one step. */
#ifndef HUB_CALL_CALL_TABLE_H
#define HUB_CALL_CALL_TABLE_H

#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"

#define HUB_CALL_NUMBER_SHIFT 20 /* the low bits of a number are the index of its entry */
#define HUB_CALL_ID_SHIFT     12 /* and so are those of an id on the wire; the rest is a turn */

enum hub_call_state {
    HUB_CALL_FREE,
    HUB_CALL_OPEN,    /* no answer yet */
    HUB_CALL_FILLING, /* a leader copies the answer */
    HUB_CALL_ENDED,   /* code and answer are set, but not taken yet */
    HUB_CALL_DIRECT,  /* its caller receives by itself, unknown to other threads: direct_call.c */
    /* without a caller; its id stays reserved until the Response or the link's end */
    HUB_CALL_ZOMBIE
};

/* The activity of a caller while another thread receives. */
enum hub_call_word {
    HUB_CALL_AWAKE,
    HUB_CALL_ASLEEP, /* or about to be: in a futex on this value */
    HUB_CALL_TOLD    /* it must check again */
};

struct hub_call_entry {
    uint32_t id;           /* on the wire */
    uint64_t method_id;    /* for a call that is or was open */
    struct hub_a64 number; /* 0: it was not opened; written under the lock */
    enum hub_call_state state;
    /* the Request is published: the end may be delivered; always set for a waiting caller */
    bool sent;
    bool in_loop;   /* its caller waits in the owner's loop */
    bool cancelled; /* Cancel was requested */
    bool view;      /* the answer may be shown in place */
    int code;
    struct hub_a64 deadline_ns; /* written under the lock; its caller may read it without */
    struct hub_answer *answer;  /* the caller's, or `own` */
    struct hub_answer own;
    hub_calls_done *done;
    void *user;
    struct hub_a32 ended;              /* read by a leader without the lock */
    struct hub_a32 word;               /* enum hub_call_word */
    struct hub_a32 taken;              /* its caller has the end: it may be forgotten */
    struct hub_list link;              /* in the followers, or in the finished calls */
    struct hub_channel_list *channels; /* NULL: none; held until the id is free */
};

#define HUB_CALLS_REFUSAL_MAX 256 /* bytes: with little metadata a refusal fits */

struct hub_calls {
    struct hub_link *link;
    struct hub_mutex *lock; /* the link's */
    uint32_t limit;
    struct hub_a32 stirred;   /* a thread that may only spin has something else to do */
    struct hub_a32 following; /* number of followers, readable without the lock */
    struct hub_call_entry *entries GUARDED_BY(lock);
    uint32_t begun GUARDED_BY(lock);  /* entries ever used: later ones were never touched */
    uint32_t *spare GUARDED_BY(lock); /* indices of free entries among them */
    uint32_t spare_count GUARDED_BY(lock);
    struct hub_call_entry *last GUARDED_BY(lock); /* entered last: the next call may have it */
    uint32_t turn GUARDED_BY(lock);   /* of the last id: its bits above those of an index */
    uint64_t opened GUARDED_BY(lock); /* counts numbers */
    int refusal GUARDED_BY(lock);     /* 0, or the result of new calls; then there is no `last` */
    uint64_t next_deadline GUARDED_BY(lock);
    struct hub_list followers GUARDED_BY(lock);
    struct hub_list finished GUARDED_BY(lock); /* ended calls with `done` */
    void (*on_ready)(void *user);
    void *user;
    hub_calls_nap *nap;
    void *napper;
    struct hub_a64 answered, late, lost;
    /* method of the oldest call that ended because the peer did */
    uint64_t lost_method GUARDED_BY(lock);
    uint8_t refused[HUB_CALLS_REFUSAL_MAX]; /* an answer without memory; under the token */
};

/* Enters a call: NULL if there is no free entry, or no memory, or no more calls are accepted. */
struct hub_call_entry *hub_call_table_enter(struct hub_calls *calls, const struct hub_call *call)
    REQUIRES(*calls->lock);

/* The same for an entry that its caller keeps for itself until it opens it, or takes its end. It
 * has an id, and gets a number only when it is opened. */
struct hub_call_entry *hub_call_table_reserve(struct hub_calls *calls) REQUIRES(*calls->lock);

/* The data that the end of a call needs. */
struct hub_call_opening {
    uint64_t method_id, deadline_ns;
    struct hub_answer *answer; /* NULL: in `own` */
    hub_calls_done *done;
    void *user;
    bool view;
};
void hub_call_table_open(struct hub_calls *calls, struct hub_call_entry *entry,
                         const struct hub_call_opening *opening) REQUIRES(*calls->lock);

/* The Request is out: only now may the end be delivered, and may the call expire. For asynchronous
 * calls only: a waiting caller takes the end later anyway. */
void hub_call_table_note_sent(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* NULL if no call has this id. */
struct hub_call_entry *hub_call_table_of_id(struct hub_calls *calls, uint32_t id)
    REQUIRES(*calls->lock);

/* Forgets the calls whose callers have their end, and returns how many are left. */
uint32_t hub_call_table_sweep(struct hub_calls *calls) REQUIRES(*calls->lock);

/* Says whether there is a call whose caller has not got its end. */
bool hub_call_table_any(const struct hub_calls *calls) REQUIRES(*calls->lock);

/* The number is never valid again, and the id is free. */
void hub_call_table_forget(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* NULL if that call has been forgotten. Under the lock; its caller, which alone forgets it, needs
 * none. */
struct hub_call_entry *hub_call_table_find(struct hub_calls *calls, uint64_t number);

/* The call has ended with `code`. The end is told as soon as its Request is published. */
void hub_call_table_end(struct hub_calls *calls, struct hub_call_entry *entry, int code)
    REQUIRES(*calls->lock);
void hub_call_table_deliver(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* Tells the other side that the caller of this id has given up; without space it is not told. Not
 * under the lock. */
void hub_calls_send_cancel(struct hub_calls *calls, uint32_t id);

/* Makes its caller check again; a system call only if it sleeps. */
void hub_call_table_wake(struct hub_call_entry *entry);
#endif
