/* SPDX-License-Identifier: Apache-2.0 */
/* call_table: the calls one side has made and not yet forgotten, by number and by the id on the
 * wire. Everything here is under the table's lock, which is the link's: a Request is entered and
 * sent in one step. */
#ifndef HUB_CALL_CALL_TABLE_H
#define HUB_CALL_CALL_TABLE_H

#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"

#define HUB_CALL_NUMBER_SHIFT 20 /* the index of an entry stands in a number's low bits */
#define HUB_CALL_ID_SHIFT     12 /* and in those of an id on the wire; the rest is a turn */

enum hub_call_state {
    HUB_CALL_FREE,
    HUB_CALL_OPEN,    /* no answer yet */
    HUB_CALL_FILLING, /* a leader copies the answer */
    HUB_CALL_ENDED,   /* code and answer stand; nobody has taken them yet */
    HUB_CALL_DIRECT,  /* its caller receives itself; nobody else knows of it: direct_call.c */
    HUB_CALL_ZOMBIE   /* nobody waits; its id stays reserved until the Response or the link's end */
};

/* What its caller does while another thread receives. */
enum hub_call_word {
    HUB_CALL_AWAKE,
    HUB_CALL_ASLEEP, /* or about to be: in a futex on this value */
    HUB_CALL_TOLD    /* it is to look again */
};

struct hub_call_entry {
    uint32_t id;           /* on the wire */
    uint64_t method_id;    /* of one that is or was open */
    struct hub_a64 number; /* 0: it was not opened; written under the lock */
    enum hub_call_state state;
    bool sent;      /* the Request is published: the end may be delivered; always of who waits */
    bool in_loop;   /* its caller waits in the owner's loop */
    bool cancelled; /* Cancel was asked for */
    bool view;      /* the answer may be shown where it lies */
    int code;
    struct hub_a64 deadline_ns; /* written under the lock; its caller may look without it */
    struct hub_answer *answer;  /* the caller's, or `own` */
    struct hub_answer own;
    hub_calls_done *done;
    void *user;
    struct hub_a32 ended;              /* what a leader looks at without the lock */
    struct hub_a32 word;               /* enum hub_call_word */
    struct hub_a32 taken;              /* its caller has the end: it may be forgotten */
    struct hub_list link;              /* of followers, or of finished */
    struct hub_channel_list *channels; /* NULL: none; held until the id is free */
};

#define HUB_CALLS_REFUSAL_MAX 256 /* bytes: with little metadata a refusal fits */

struct hub_calls {
    struct hub_link *link;
    struct hub_mutex *lock; /* the link's */
    uint32_t limit;
    struct hub_a32 stirred;   /* who may only spin has something else to do */
    struct hub_a32 following; /* how many followers, for a look without the lock */
    struct hub_call_entry *entries GUARDED_BY(lock);
    uint32_t begun
        GUARDED_BY(lock); /* entries ever taken: what is behind them nobody has touched */
    uint32_t *spare GUARDED_BY(lock); /* indices of free ones among them */
    uint32_t spare_count GUARDED_BY(lock);
    struct hub_call_entry *last GUARDED_BY(lock); /* entered last: the next call may have it */
    uint64_t sequence GUARDED_BY(lock);           /* of ids */
    uint64_t opened GUARDED_BY(lock);             /* of numbers */
    int refusal GUARDED_BY(lock); /* 0, or what new calls get; then there is no `last` */
    uint64_t next_deadline GUARDED_BY(lock);
    struct hub_list followers GUARDED_BY(lock);
    struct hub_list finished GUARDED_BY(lock); /* ended calls with `done` */
    void (*on_ready)(void *user);
    void *user;
    hub_calls_nap *nap;
    void *napper;
    struct hub_a64 answered, late, lost;
    uint64_t lost_method GUARDED_BY(lock);  /* of the oldest that ended because the peer did */
    uint8_t refused[HUB_CALLS_REFUSAL_MAX]; /* an answer without memory; the token holder's */
};

/* Takes a free entry: NULL where there is none, or no memory, or none is given any more. */
struct hub_call_entry *hub_call_table_enter(struct hub_calls *calls, const struct hub_call *call)
    REQUIRES(*calls->lock);

/* The same for one that its caller keeps for itself until it makes it an open one, or takes it. It
 * has an id, and a number only when it is opened. */
struct hub_call_entry *hub_call_table_reserve(struct hub_calls *calls) REQUIRES(*calls->lock);

/* What its end needs. */
struct hub_call_opening {
    uint64_t method_id, deadline_ns;
    struct hub_answer *answer; /* NULL: in `own` */
    hub_calls_done *done;
    void *user;
    bool view;
};
void hub_call_table_open(struct hub_calls *calls, struct hub_call_entry *entry,
                         const struct hub_call_opening *opening) REQUIRES(*calls->lock);

/* The Request is out: only now may the end be delivered, and may the call expire. Of one that
 * nobody waits for: who waits takes the end later anyway. */
void hub_call_table_note_sent(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* NULL where no call has this id. */
struct hub_call_entry *hub_call_table_of_id(struct hub_calls *calls, uint32_t id)
    REQUIRES(*calls->lock);

/* Forgets those whose callers have their end: how many are left. */
uint32_t hub_call_table_sweep(struct hub_calls *calls) REQUIRES(*calls->lock);

/* Is there one whose caller has not got its end? */
bool hub_call_table_any(const struct hub_calls *calls) REQUIRES(*calls->lock);

/* Its number is never valid again, its id is free. */
void hub_call_table_forget(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* NULL where that call has been forgotten. Under the lock; its caller, who alone forgets it, needs
 * none. */
struct hub_call_entry *hub_call_table_find(struct hub_calls *calls, uint64_t number);

/* The call has ended with `code`; told to whoever takes it as soon as its Request is published. */
void hub_call_table_end(struct hub_calls *calls, struct hub_call_entry *entry, int code)
    REQUIRES(*calls->lock);
void hub_call_table_deliver(struct hub_calls *calls, struct hub_call_entry *entry)
    REQUIRES(*calls->lock);

/* Tells the other side that nobody waits for the call of this id; where there is no space, nobody
 * is told. Not under the lock. */
void hub_calls_send_cancel(struct hub_calls *calls, uint32_t id);

/* Makes its caller look again; a system call only where it sleeps. */
void hub_call_table_wake(struct hub_call_entry *entry);
#endif
