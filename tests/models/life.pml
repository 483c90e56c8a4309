/* SPDX-License-Identifier: Apache-2.0 */
/* life: one entry of the peer table; its host; a guest with a ticket, guests that come by
 * themselves with the lock of the entry's range, and one that knows nothing of locks. The host
 * reserves, starts, looks who came, finds a hint of death, kills, waits for proof, resets, and hands
 * the entry on. Or it is one that cleans up as soon as it sees that a guest has said goodbye, and looks
 * at no process. A guest may stand still before any of its steps and go on later, or die there.
 *
 * A guest that writes owns the entry alone; one that attaches finds all of it reset; nobody has an
 * entry that is reserved for another; and in the end the entry is Empty, but for the one whose end
 * nothing can prove.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_NO_PROOF       the entry is reset on a hint, before its guest is proven dead
 *   MUTANT_HEARTBEAT      a guest that only stood still is taken for dead, and not even killed
 *   MUTANT_EMPTY_FIRST    state Empty comes before the resets
 *   MUTANT_PLAIN_RESERVE  the host stores Reserved instead of swapping it in
 *   MUTANT_PLAIN_CLAIM    a guest stores Reserved instead of swapping it in
 *   MUTANT_LATE_LOCK      a guest takes its lock after the entry
 *   MUTANT_EARLY_UNLOCK   a guest that leaves gives up its lock before its last write
 *   MUTANT_STRAIGHT       a guest with a lock goes straight from Empty to Attached
 *   MUTANT_ANY_LOCK       a lock on the range is taken for the lock of the guest in the entry
 *   MUTANT_LATE_WRITE     a guest says goodbye first, and then sends what it owes
 * r[verify shm.crash.recovery] r[verify shm.spawn.reserved-state] r[verify hub.death.proof]
 * r[verify hub.death.recycle] r[verify hub.file.lock] r[verify shm.guest.detach]
 * r[verify hub.death.guard] */

#define EMPTY    0
#define ATTACHED 1
#define GOODBYE  2
#define RESERVED 3

#ifndef TICKETS
#define TICKETS 1 /* guests with one */
#endif
#ifndef VISITORS
#define VISITORS 1 /* guests with a lock */
#endif
#define FOREIGN  (TICKETS + VISITORS) /* the one without */
#define GUESTS   (FOREIGN + 1)
#define HOST     GUESTS
#define NOBODY   (GUESTS + 1)

/* The entry, as all see it. */
byte state, epoch;
bool marked;          /* LOCKED in guest_wait */
byte lock = NOBODY;   /* who has the range; the kernel frees it with its holder */
bool soiled;          /* indices, slots, channels are not as one who attaches finds them */

/* What is true, beside what is written. */
byte owner = NOBODY;  /* whose the entry is: who may write */
bool alive[NOBODY + 1];
bool doomed[NOBODY + 1];

/* ---- guests ---- */

inline swap(from, to, done)
{
    d_step {
        done = state == from;
        if
        :: done -> assert(from == EMPTY || owner == self); state = to; owner = self
        :: else
        fi
    }
}

/* Publishes something: looks whether the entry is still its own, and only then writes. */
inline publish()
{
    if
#ifdef MUTANT_LATE_WRITE
    :: (state == ATTACHED || (state == GOODBYE && leaving)) && epoch == mine ->
#else
    :: state == ATTACHED && epoch == mine ->
#endif
        d_step { assert(owner == self); soiled = true }
    :: else
    fi
}

inline serve()
{
    assert(!soiled && owner == self);
    publish()
}

/* What is owed is sent before it: it is the last write, by one compare and swap of state and epoch. */
inline say_goodbye()
{
#ifndef MUTANT_LATE_WRITE
    publish();
#endif
    d_step {
        leaving = true;
        if
        :: state == ATTACHED && epoch == mine ->
            assert(owner == self);
            state = GOODBYE
        :: else
        fi
    }
#ifdef MUTANT_LATE_WRITE
    ;
    publish()
#endif
}

/* Before each of its steps a guest may be found dead: then it does none any more. */
inline end_here()
{
    d_step {
        if
        :: lock == self -> lock = NOBODY
        :: else
        fi;
        alive[self] = false; mine = 0; leaving = false; got = false
    }
}

/* With a ticket: leaves by a Goodbye, or just ends. */
proctype guest(byte self)
{
    byte mine;
    bool leaving, got;

    {
        swap(RESERVED, ATTACHED, got);
        if
        :: got ->
            mine = epoch;
            serve();
            if
            :: say_goodbye()
            :: skip
            fi
        :: else
        fi
    } unless { !alive[self] };
    end_here()
}

inline take_lock()
{
    d_step {
        got = lock == NOBODY;
        if
        :: got -> lock = self
        :: else
        fi
    }
}

inline drop_lock()
{
    d_step {
        if
        :: lock == self -> lock = NOBODY
        :: else
        fi
    }
}

inline claim(to)
{
#ifdef MUTANT_PLAIN_CLAIM
    got = state == EMPTY;
    if
    :: got -> d_step { state = to; owner = self }
    :: else
    fi
#else
    swap(EMPTY, to, got)
#endif
}

/* It has the range, and tries to get the entry too. */
inline enter()
{
#ifdef MUTANT_STRAIGHT
    claim(ATTACHED);
#else
    claim(RESERVED);
#endif
    if
    :: got ->
#ifdef MUTANT_LATE_LOCK
        take_lock();
#endif
        assert(!marked);
        marked = true;
        d_step { epoch++; mine = epoch };
#ifndef MUTANT_STRAIGHT
        swap(RESERVED, ATTACHED, got)
#endif
    :: else
    fi
}

/* Without a ticket. When it has left, its process may live on for ever. */
proctype visitor(byte self)
{
    byte mine;
    bool leaving, got;

    {
        got = false;
end_wait:
        state == EMPTY;
#ifdef MUTANT_LATE_LOCK
        got = true;
#else
        take_lock();
#endif
        if
        :: got -> enter()
        :: else
        fi;
        if
        :: got ->
            serve();
#ifdef MUTANT_EARLY_UNLOCK
            drop_lock();
#endif
            say_goodbye()
        :: else
        fi;
        drop_lock(); /* unmapped */
end_lives:
        !alive[self]
    } unless { !alive[self] };
    end_here()
}

/* Straight to Attached, as the seed has it. */
proctype foreigner(byte self)
{
    byte mine;
    bool leaving, got;

    swap(EMPTY, ATTACHED, got);
    if
    :: got ->
        d_step { epoch++; mine = epoch };
        serve();
        say_goodbye()
    :: else
    fi
}

/* A guest dies of itself, or of a SIGKILL; the second is sure. */
proctype kernel()
{
    bool struck;

end:
    do
    :: d_step { doomed[0] && alive[0] -> alive[0] = false }
    :: d_step { doomed[1] && alive[1] -> alive[1] = false }
#if GUESTS > 3
    :: d_step { doomed[2] && alive[2] -> alive[2] = false }
#endif
#if GUESTS > 4
    :: d_step { doomed[3] && alive[3] -> alive[3] = false }
#endif
    :: d_step { !struck -> struck = true; alive[TICKETS] = false }
    od
}

/* ---- the host ---- */

/* What R8 to R13 do; each step may be seen. */
inline recover()
{
#ifdef MUTANT_EMPTY_FIRST
    d_step { state = EMPTY; owner = NOBODY };
#endif
    soiled = false;
    marked = false;
    d_step {
        if
        :: lock == HOST -> lock = NOBODY
        :: else
        fi
    };
#ifndef MUTANT_EMPTY_FIRST
    d_step { state = EMPTY; owner = NOBODY }
#endif
}

/* On a hang-up, a late heartbeat, a time-out: Goodbye and SIGKILL. */
inline part(who, can_kill)
{
    hinted = true;
    parted = state != GOODBYE;
    d_step {
        if
        :: state == RESERVED || state == ATTACHED -> state = GOODBYE
        :: else
        fi
    };
#ifndef MUTANT_HEARTBEAT
    doomed[who] = doomed[who] || can_kill
#endif
}

#if defined(MUTANT_NO_PROOF) || defined(MUTANT_HEARTBEAT)
#define IS_PROVEN(proof) ((proof) || hinted)
#else
#define IS_PROVEN(proof) (proof)
#endif

/* A child of ours: its pidfd is the proof. */
inline life_of_child()
{
    do
    :: IS_PROVEN(!alive[started]) -> break
    :: state == GOODBYE && !parted -> break /* a host that takes that for the end */
    :: !hinted -> part(started, true)
    od;
    recover()
}

inline start()
{
#ifdef MUTANT_PLAIN_RESERVE
    got = state == EMPTY;
    if
    :: got -> d_step { state = RESERVED; owner = started }
    :: else
    fi;
#else
    d_step {
        got = state == EMPTY;
        if
        :: got -> state = RESERVED; owner = started
        :: else
        fi
    };
#endif
    if
    :: got ->
        epoch++;
        run guest(started);
        life_of_child();
        d_step { started++; hinted = false; parted = false }
    :: else
    fi
}

/* The lock is the proof, with the death of its process or its Goodbye: the host takes the range
 * itself. Where it has no pidfd the lock is enough. One that has none stays in its entry. */
inline life_of_visitor()
{
    can_kill = locked && lock == who;
end_visit:
    do
    :: d_step {
           IS_PROVEN(locked && lock == NOBODY &&
                     (!can_kill || !alive[who] || (state == GOODBYE && !parted))) -> lock = HOST
       };
       break
    :: !hinted -> part(who, can_kill)
    od;
    recover()
}

/* An entry that it did not reserve. Who may take its range knows that nobody else had it; what is
 * Reserved then, or says that it was locked, is proven to be dead. */
inline look()
{
    d_step {
        got = lock == NOBODY;
        who = lock;
        if
        :: got -> lock = HOST
        :: else
        fi
    };
    seen = state;
    gone = got && (seen == RESERVED || (seen != EMPTY && marked));
    if
    :: got && !gone -> lock = NOBODY
    :: else
    fi;
#ifdef MUTANT_ANY_LOCK
    locked = !got;
#else
    locked = !got && marked;
#endif
    if
    :: gone -> recover()
    :: !gone && (seen == ATTACHED || seen == GOODBYE) -> life_of_visitor()
    :: !gone && seen != ATTACHED && seen != GOODBYE
    fi;
    d_step {
        who = 0; seen = 0; got = false; gone = false; locked = false;
        can_kill = false; hinted = false; parted = false
    }
}

proctype host()
{
    byte started, who, seen;
    bool got, gone, locked, can_kill, hinted, parted;

end:
    do
    :: started < TICKETS && state == EMPTY -> start()
    :: state != EMPTY -> look()
    od
}

proctype watcher()
{
end:
    timeout -> assert(state == EMPTY || owner == FOREIGN)
}

init
{
    byte i;

    atomic {
        do
        :: i < GUESTS -> alive[i] = true; i++
        :: else -> i = 0; break
        od;
        do
        :: i < VISITORS -> run visitor(TICKETS + i); i++
        :: else -> break
        od;
        run foreigner(FOREIGN);
        run kernel();
        run host();
        run watcher()
    }
}
