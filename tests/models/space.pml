/* SPDX-License-Identifier: Apache-2.0 */
/* space: who leads sleeps for messages, and for space too while another thread of its side waits
 * for that. The one that waits looks at what the leader says that it sleeps for, and makes it look
 * again where that is messages only.
 *
 * Whoever waits for space is told when it comes, though the leader may have looked just before it
 * began to wait, or may say yet what it slept for the last time. Stores go through a buffer, as on
 * every CPU: a load may overtake them.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_STALE           what it slept for the last time is said until it has looked again
 *   MUTANT_LEADER_FENCE    it looks for who waits before all see that it will
 *   MUTANT_FOLLOWER_FENCE  who waits looks at it before all see that it waits
 *   MUTANT_LATE_FORGET     it forgets the wish to look again after it has looked
 *
 * r[verify hub.wait.owner] */

#ifndef MESSAGES
#define MESSAGES 2 /* at most, that wake the leader: it looks again so often */
#endif

#define SPACERS 0
#define ARMED   1 /* 1: for space too */
#define REARM   2

byte memory[3];
bool space, told;
byte messages;

chan leader_stores = [4] of {byte, byte};
chan follower_stores = [4] of {byte, byte};

/* Each store arrives at some time, in order. */
proctype buffer(chan stores)
{
    byte at, value;

end:
    do
    :: atomic { stores?at, value -> memory[at] = value }
    od
}

inline fence(stores)
{
    empty(stores)
}

/* Its own stores it sees at once; none of those below is read back. */
proctype leader()
{
    bool for_space = false;

    do
    :: told -> break
    :: else ->
#ifndef MUTANT_STALE
        leader_stores!ARMED, 0;
#endif
#ifndef MUTANT_LATE_FORGET
        leader_stores!REARM, 0;
#endif
#ifndef MUTANT_LEADER_FENCE
        fence(leader_stores);
#endif
        for_space = memory[SPACERS] != 0;
#ifdef MUTANT_LATE_FORGET
        leader_stores!REARM, 0;
#endif
        leader_stores!ARMED, for_space;
        fence(leader_stores); /* it arms its word */
        if
        :: for_space && space -> told = true
        :: memory[REARM] != 0
        :: messages > 0 -> messages--
        fi
    od
}

proctype follower()
{
    follower_stores!SPACERS, 1;
#ifndef MUTANT_FOLLOWER_FENCE
    fence(follower_stores);
#endif
    if
    :: memory[ARMED] != 0
    :: else -> follower_stores!REARM, 1
    fi;
    told /* it sleeps */
}

proctype peer()
{
    space = true
}

init
{
    atomic {
        select(messages : 0 .. MESSAGES);
        memory[ARMED] = 1; /* by the one that led before */
        run buffer(leader_stores);
        run buffer(follower_stores);
        run leader();
        run follower();
        run peer()
    }
}
