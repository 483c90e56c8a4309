/* SPDX-License-Identifier: Apache-2.0 */
/* returns: the list on which guests give back slots of the host. Many push; only the host takes,
 * and it takes all at once; what came back it sends again, to any guest. A guest may die at any
 * step: what it holds comes back after its death, by the host's record of whom each slot was sent to.
 *
 * No slot is found twice, none is lost, without any tag, though a slot may be the head again.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_PLAIN_TAKE     the list is read, then emptied
 *   MUTANT_PLAIN_PUSH     the head is stored, not swapped
 *   MUTANT_LATE_NEXT      a slot is linked after it is the head
 *   MUTANT_EARLY_RECLAIM  slots are taken back while the guest may still live
 *
 * r[verify shm.varslot.freeing] r[verify shm.varslot.ownership] */

#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef RESENDS
#define RESENDS 2
#endif
#define NONE   SLOTS
#define GUESTS 2
#define HOST   GUESTS

byte head = NONE;
byte next[SLOTS];
byte holder[SLOTS]; /* by the host's record */
bool dead[GUESTS], gone[GUESTS];
bool closing; /* nothing more is sent */

chan to_first = [SLOTS] of {byte};
chan to_second = [SLOTS] of {byte};

/* Receives a slot and gives it back. */
proctype guest(byte self; chan messages)
{
    byte slot = NONE, top;

    do
    :: slot == NONE && !dead[self] ->
        if
        :: messages?slot
        :: dead[self] || (closing && empty(messages)) -> break
        fi
    :: slot != NONE && !dead[self] ->
        top = head;
#ifndef MUTANT_LATE_NEXT
        next[slot] = top;
#endif
        if
        :: dead[self] -> break
        :: !dead[self] ->
#ifdef MUTANT_PLAIN_PUSH
            head = slot;
            slot = NONE
#elif defined(MUTANT_LATE_NEXT)
            d_step {
                if
                :: head == top -> head = slot
                :: else -> top = SLOTS + 1
                fi
            };
            if
            :: top <= SLOTS -> next[slot] = top; slot = NONE
            :: else
            fi
#else
            d_step {
                if
                :: head == top -> head = slot; slot = NONE
                :: else
                fi
            }
#endif
        fi
    :: dead[self] -> break
    od;
    slot = NONE;
    d_step { top = 0; gone[self] = true }
}

proctype killer()
{
    if
    :: dead[0] = true
    :: skip
    fi
}

inline harvest()
{
#ifdef MUTANT_PLAIN_TAKE
    at = head;
    head = NONE;
#else
    d_step { at = head; head = NONE };
#endif
    do
    :: at != NONE ->
        assert(holder[at] != HOST);
        holder[at] = HOST;
        at = next[at]
    :: else -> break
    od;
    at = 0
}

/* Also to a guest that is dead: then nobody receives it. */
inline send(who, messages)
{
    holder[slot] = who;
    messages!slot
}

inline send_again()
{
    slot = 0;
    do
    :: slot < SLOTS && holder[slot] != HOST -> slot++
    :: slot < SLOTS && holder[slot] == HOST ->
        resent++;
        if
        :: send(0, to_first)
        :: send(1, to_second)
        fi;
        break
    :: slot == SLOTS -> break
    od;
    slot = 0
}

/* With the proof of its death: what the list did not bring is taken by the record. */
inline reclaim(who)
{
    d_step {
        slot = 0;
        do
        :: slot < SLOTS ->
            if
            :: holder[slot] == who -> holder[slot] = HOST
            :: else
            fi;
            slot++
        :: else -> break
        od;
        slot = 0
    }
}

proctype host()
{
    byte at, slot, resent;

    do
    :: head != NONE -> harvest()
    :: resent < RESENDS -> send_again()
    :: closing = true; break
    od;
#ifdef MUTANT_EARLY_RECLAIM
    if
    :: dead[0] -> harvest(); reclaim(0)
    :: gone[0]
    fi;
#endif
    gone[0] && gone[1];
    harvest();
    if
    :: dead[0] -> reclaim(0)
    :: else
    fi;
    d_step {
        do
        :: slot < SLOTS -> assert(holder[slot] == HOST); slot++
        :: else -> break
        od
    }
}

init
{
    byte i;

    atomic {
        do
        :: i < SLOTS ->
            holder[i] = i % GUESTS;
            if
            :: i % GUESTS == 0 -> to_first!i
            :: else -> to_second!i
            fi;
            i++
        :: else -> i = 0; break
        od;
        run guest(0, to_first);
        run guest(1, to_second);
        run killer();
        run host()
    }
}
