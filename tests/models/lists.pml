/* SPDX-License-Identifier: Apache-2.0 */
/* lists: the free list of one class and one owner. Only the owner, a guest, takes slots from it;
 * threads of the host push back what they have taken from the guest's messages, and grant one more.
 * The guest may die at any step; then the host takes back every slot that is the guest's.
 *
 * No slot is taken twice, none is lost. A tag of TAGS values rises with each change of the head;
 * with one popper nothing depends on it, so the model that holds has a tag of one value: none.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_TWO_POPPERS    the guest takes slots on two threads
 *   MUTANT_PLAIN_PUSH     the head is stored, not swapped
 *   MUTANT_LATE_NEXT      a slot is linked after it is the head
 *   MUTANT_OWNER_AT_POP   a slot's owner is written when it is taken, not when it is granted
 *   MUTANT_EARLY_RECLAIM  the host takes back before its threads have put back what they hold
 *
 * r[verify hub.var.single-popper] r[verify shm.varslot.freelist] */

#ifndef TAGS
#define TAGS 1
#endif
#define SLOTS 3
#define NONE  SLOTS /* the end of a list */
#ifndef POPS
#define POPS 3 /* of each popper */
#endif

#define LISTED 0 /* where a slot is, in truth */
#define TAKEN  1
#define SENT   2
#define HELD   3
#define KEPT   4 /* by the host, not granted */

byte head_ref = 0, head_tag;
byte next[SLOTS];
byte where[SLOTS];
bool guests[SLOTS]; /* the host's record: it is the guest's */
chan ring = [SLOTS] of {byte};

bool dead;
byte poppers_gone, pushers_gone;
byte holding; /* slots that threads of the host hold */

#ifdef MUTANT_TWO_POPPERS
#define POPPERS 2
#else
#define POPPERS 1
#endif

/* Anything the guest does may be the last thing. */
#define LIVES !dead

proctype popper()
{
    byte count, ref, tag, behind;
    bool done;

    do
    :: count < POPS && LIVES ->
        done = false;
        do
        :: !done && LIVES ->
            d_step { ref = head_ref; tag = head_tag };
            if
            :: ref == NONE -> head_ref != NONE || dead
            :: else ->
                behind = next[ref];
                if
                :: LIVES ->
                    d_step {
                        if
                        :: head_ref == ref && head_tag == tag ->
                            assert(where[ref] == LISTED);
                            head_ref = behind;
                            head_tag = (head_tag + 1) % TAGS;
                            where[ref] = TAKEN;
                            done = true
                        :: else
                        fi
                    }
                :: dead -> break
                fi
            fi
        :: else -> break
        od;
        if
        :: done && LIVES ->
#ifdef MUTANT_OWNER_AT_POP
            if
            :: LIVES -> guests[ref] = true
            :: dead
            fi;
#endif
            if
            :: LIVES -> d_step { where[ref] = SENT; ring!ref }; count++
            :: dead
            fi
        :: else
        fi
    :: else -> break
    od;
    poppers_gone++
}

inline push(slot)
{
    linked = false;
    do
    :: linked -> break
    :: else ->
        d_step { top = head_ref; seen = head_tag };
#ifndef MUTANT_LATE_NEXT
        next[slot] = top;
#endif
#ifdef MUTANT_PLAIN_PUSH
        d_step { head_ref = slot; where[slot] = LISTED; linked = true }
#else
        d_step {
            if
            :: head_ref == top && head_tag == seen ->
                head_ref = slot;
                head_tag = (head_tag + 1) % TAGS;
                where[slot] = LISTED;
                linked = true
            :: else
            fi
        }
#endif
#ifdef MUTANT_LATE_NEXT
        ;
        next[slot] = top
#endif
    od
}

/* A thread of the host: takes a message, is done with it, pushes its slot back. */
proctype pusher()
{
    byte slot, top, seen;
    bool linked;

    do
    :: d_step { ring?slot -> where[slot] = HELD; holding++ };
#ifdef MUTANT_OWNER_AT_POP
        guests[slot] = false;
#endif
        push(slot);
        holding--
    :: poppers_gone == POPPERS && empty(ring) -> break
    od;
    pushers_gone++
}

/* The host grants its last slot. */
proctype granter()
{
    byte top, seen;
    bool linked;

#ifndef MUTANT_OWNER_AT_POP
    guests[SLOTS - 1] = true;
#endif
    push(SLOTS - 1);
    pushers_gone++
}

proctype killer()
{
    if
    :: dead = true
    :: skip
    fi
}

/* After the end: what the list and the records say is all there is. */
proctype undertaker()
{
    byte found, ref;

#ifdef MUTANT_EARLY_RECLAIM
    dead && poppers_gone == POPPERS;
#else
    poppers_gone == POPPERS && pushers_gone == 3 && holding == 0;
#endif
    d_step {
        ref = head_ref;
        do
        :: ref != NONE ->
            assert(where[ref] == LISTED && found < SLOTS);
            found++;
            where[ref] = KEPT;
            ref = next[ref]
        :: else -> break
        od;
        ref = 0;
        do
        :: ref < SLOTS ->
            if
            :: where[ref] != KEPT && guests[ref] ->
                found++;
                assert(where[ref] != HELD); /* a thread of the host still reads it */
                where[ref] = KEPT
            :: else
            fi;
            ref++
        :: else -> break
        od
    };
    assert(found == SLOTS)
}

init
{
    byte i;

    atomic {
        next[0] = 1;
        next[1] = NONE;
        next[2] = NONE;
        where[2] = KEPT;
#ifndef MUTANT_OWNER_AT_POP
        guests[0] = true;
        guests[1] = true;
#endif
        i = 0;
        do
        :: i < POPPERS -> run popper(); i++
        :: else -> break
        od;
        run pusher();
        run pusher();
        run granter();
        run killer();
        run undertaker()
    }
}
