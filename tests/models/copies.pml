/* SPDX-License-Identifier: Apache-2.0 */
/* copies: a container's state on several nodes, so that what was answered outlives all of them but one.
 *
 * The metastore holds the epoch and the set of holders; each change of them is one transaction. Each
 * epoch has an owner, a node that may be a holder or not, and one that was replaced may go on for
 * ever, knowing nothing of it. An owner's guest has lives, one after another. A life runs calls, its
 * owner makes a copy of the state after each, and lets a result go when all that it waits for have
 * that copy. Copies arrive late, twice, in any order, or never: any that was sent to a node may
 * arrive at any time, as a whole state or as changes of the copy before it. What an owner knows of
 * them, and when it lets go, is as late as it likes. A holder takes nothing of an epoch below its
 * seal, keeps the newest copy by token and seq, where the token has epoch and life, and applies
 * changes to the very copy that they are changes of, or else asks for a whole state.
 *
 * Who recovers raises the epoch, and reads the holders in that transaction; it reaches one of them,
 * or several, seals each, and loads the newest copy; then it serves, even if the epoch was raised
 * again. When its guest dies, what was not let go is dropped, and the copies that were on their way to
 * its own disk have ended. It asks for the holders again: if its own node is named the next life
 * seals its own disk and loads the newest copy there, else it loads as who recovers. The leader of the moment
 * names more holders, or fewer, one change at a time; who leads may change between two of its steps.
 *
 *   answered   what was let go is in what is loaded later
 *   zombie     who was replaced lets nothing go that its successor has not loaded
 *   branch     a copy has what its token and seq say
 *
 * What breaks it:
 *   MUTANT_NO_SEAL       a holder takes copies of an epoch below its seal
 *   MUTANT_ONE_ACK       one holder is enough to let a result go
 *   MUTANT_RECORD_FIRST  a new holder is named before its owner waits for it
 *   MUTANT_NO_COPY       it is named when its owner waits for it, before it has a copy
 *   MUTANT_OLD_COPY      a copy that an earlier owner made is enough
 *   MUTANT_DROP_FIRST    an owner stops waiting for one that is still named
 *   MUTANT_READ_EARLY    the holders are read before the epoch is raised
 *   MUTANT_NO_COMPARE    a change of the holders does not compare the epoch
 *   MUTANT_LAST_WINS     a holder keeps the copy that came last, not the newest
 *   MUTANT_SAME_SEQ      the next life counts on where the copy that it has loaded stands
 *   MUTANT_WRONG_BASE    changes are applied to any copy that is older
 *   MUTANT_OWN_UNNAMED   the next life loads the copy of its own disk, named or not
 *   MUTANT_OWN_UNSEALED  it loads that without a seal: an earlier owner may still let go by this disk
 *
 * r[verify cluster.copy.order] r[verify cluster.copy.life] */
/* Each variant is found out with the least that leads to it. */
#if defined(MUTANT_SAME_SEQ) || defined(MUTANT_WRONG_BASE)
#define DEATHS  1
#define CHANGES 0
#define NODES   2
#elif defined(MUTANT_OWN_UNNAMED)
#define DEATHS 1
#define NODES  2
#elif defined(MUTANT_OWN_UNSEALED)
#define DEATHS  1
#define CHANGES 0
#define NODES   2
#elif defined(MUTANT_OLD_COPY) || defined(MUTANT_NO_COMPARE)
#define EPOCHS 3
#define COPIES 1
#endif

#ifndef NODES
#define NODES 3
#endif
#ifndef EPOCHS
#define EPOCHS 2 /* 0 and above: one recovery */
#endif
#ifndef LIVES
#define LIVES 2 /* of the guest in an epoch, at most */
#endif
#ifndef DEATHS
#define DEATHS 0 /* of guests, in all epochs */
#endif
#ifndef COPIES
#define COPIES 2 /* of each life */
#endif
#ifndef CHANGES
#define CHANGES 1 /* of the set of holders, begun */
#endif
#ifndef OWNER
#define OWNER 0 /* the node of the first owner; the next ones are any */
#endif

#define TOKENS       (EPOCHS * LIVES)
#define TOKEN(e)     ((e) * LIVES + life[e]) /* of the life of now */
#define EPOCH(t)     ((t) / LIVES)
#define AT(t, n)     ((t) * NODES + (n))
#define BIT(n)       (1 << (n))
#define CALL(t, s)   BIT((t) * COPIES + (s) - 1) /* that life t ran before copy s */
#define STATE(t, s)  (loaded[t] | (((1 << (s)) - 1) << ((t) * COPIES))) /* the calls in copy s */
#define HAS(all, of) (((of) & ~(all)) == 0)

/* The name of a copy, by which holders and owners know it. */
#ifdef MUTANT_SAME_SEQ
#define NAME_TOKEN(t)  (EPOCH(t) * LIVES)
#define NAME_SEQ(t, s) (begun[t] + (s))
#else
#define NAME_TOKEN(t)  (t)
#define NAME_SEQ(t, s) (s)
#endif

/* What holds, and what the broken variants do instead. */
#ifdef MUTANT_NO_SEAL
#define TAKES(t, n) true
#else
#define TAKES(t, n) (EPOCH(t) >= seal[n])
#endif
#ifdef MUTANT_LAST_WINS
#define IS_NEWER(t, s, n) true
#else
#define IS_NEWER(t, s, n) \
    (NAME_TOKEN(t) > has_token[n] || (NAME_TOKEN(t) == has_token[n] && NAME_SEQ(t, s) > has_copy[n]))
#endif
#ifdef MUTANT_WRONG_BASE
#define IS_BASE(t, s, n) true
#else
#define IS_BASE(t, s, n) (has_token[n] == NAME_TOKEN(t) && has_copy[n] == NAME_SEQ(t, s) - 1)
#endif
#ifdef MUTANT_ONE_ACK
#define IS_LEAST(t, n, least) (taken[AT(t, n)] > 0 && (least > COPIES || taken[AT(t, n)] > least))
#else
#define IS_LEAST(t, n, least) (taken[AT(t, n)] < least)
#endif
#define HOLDS taken[AT(TOKEN(change_epoch), change_node)]
#ifdef MUTANT_NO_COPY
#define MAY_NAME true
#elif defined(MUTANT_OLD_COPY)
#define MAY_NAME (HOLDS >= change_from)
#else
#define MAY_NAME (HOLDS >= change_from && HOLDS > 0)
#endif
#ifdef MUTANT_NO_COMPARE
#define IS_CURRENT true
#else
#define IS_CURRENT (epoch == change_epoch)
#endif
#ifdef MUTANT_OWN_UNNAMED
#define IS_OWN(e) true
#else
#define IS_OWN(e) ((holders & BIT(owner[e])) != 0)
#endif

#ifdef MUTANT_OWN_UNSEALED
#define SEALS(e, n) (n != owner[e] || stage[e] != DOWN)
#else
#define SEALS(e, n) true
#endif

/* The metastore. */
byte epoch;
byte holders = 3;

/* Each node as a holder: below what it takes nothing; its newest copy, with the calls in it. */
byte seal[NODES];
byte has_token[NODES];
byte has_copy[NODES];
short has_state[NODES];

/* Each epoch: how far its owner is, what that has read and found. */
#define IDLE   0
#define RAISED 1 /* the holders are known */
#define FOUND  2 /* one was reached at least */
#define SERVES 3
#define DOWN   4 /* its guest died */
byte stage[EPOCHS];
byte owner[EPOCHS];
byte life[EPOCHS];
byte named[EPOCHS];
byte found_token[EPOCHS];
byte found_copy[EPOCHS];
short found_state[EPOCHS];
byte waits[EPOCHS];
byte told[EPOCHS];  /* those it ever waited for */
short gone[EPOCHS]; /* calls whose results it has let go */
byte deaths;

/* Each life. */
short loaded[TOKENS];
byte copy[TOKENS];          /* the last that was made of it; 0: none */
byte taken[TOKENS * NODES]; /* its newest copy that this node has taken, and said so */
#ifdef MUTANT_SAME_SEQ
byte begun[TOKENS];         /* the copy that it has loaded */
#endif

/* One change of the holders. */
#define NONE  0
#define ASKED 1 /* the owner is to wait for it, or no longer */
#define WAITS 2 /* the owner waits for it */
#define LATER 3
byte change, changes, change_epoch, change_node, change_from;
bool change_adds;

/* Any of so many; at most six. */
inline any(what, least_one, count)
{
    if
    :: what = least_one
    :: least_one + 1 < count -> what = least_one + 1
    :: least_one + 2 < count -> what = least_one + 2
    :: least_one + 3 < count -> what = least_one + 3
    :: least_one + 4 < count -> what = least_one + 4
    :: least_one + 5 < count -> what = least_one + 5
    fi
}

/* Of all that the owner of life `t` waits for, what the one has that has least. */
inline count_taken(t, least)
{
    least = COPIES + 1;
    n = 0;
    do
    :: n < NODES ->
        if
        :: (waits[EPOCH(t)] & BIT(n)) && IS_LEAST(t, n, least) -> least = taken[AT(t, n)]
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0
}

inline check_gone(e)
{
    n = e + 1;
    do
    :: n < EPOCHS ->
        assert(stage[n] != SERVES || HAS(loaded[TOKEN(n)], gone[e])); /* zombie */
        n++
    :: else -> break
    od;
    n = 0
}

/* What is older has been dropped: each life begins with all that was let go before it. */
inline check_loaded(e)
{
#ifndef MUTANT_SAME_SEQ
    assert(found_copy[e] == 0 || found_state[e] == STATE(found_token[e], found_copy[e])); /* branch */
#endif
    n = 0;
    do
    :: n <= e ->
        assert(HAS(loaded[TOKEN(e)], gone[n])); /* answered */
        n++
    :: else -> break
    od;
    n = 0
}

/* A holder says by its name which copy it has; the life of now takes that for its own. */
inline acknowledge(t, at, s)
{
#ifdef MUTANT_SAME_SEQ
    n = TOKEN(EPOCH(t));
    if
    :: NAME_SEQ(t, s) > begun[n] && NAME_SEQ(t, s) - begun[n] <= copy[n] &&
       NAME_SEQ(t, s) - begun[n] > taken[AT(n, at)] -> taken[AT(n, at)] = NAME_SEQ(t, s) - begun[n]
    :: else
    fi;
    n = 0
#else
    if :: s > taken[AT(t, at)] -> taken[AT(t, at)] = s :: else fi
#endif
}

inline take(t, at, s, state)
{
    if
    :: IS_NEWER(t, s, at) ->
        has_token[at] = NAME_TOKEN(t);
        has_copy[at] = NAME_SEQ(t, s);
        has_state[at] = state;
        if :: EPOCH(t) > seal[at] -> seal[at] = EPOCH(t) :: else fi
    :: else
    fi;
    acknowledge(t, at, s)
}

inline reach(e, at)
{
    if :: SEALS(e, at) && seal[at] < e -> seal[at] = e :: else fi;
    if
    :: (stage[e] != FOUND || has_token[at] > found_token[e] ||
        (has_token[at] == found_token[e] && has_copy[at] > found_copy[e])) ->
        found_token[e] = has_token[at];
        found_copy[e] = has_copy[at];
        found_state[e] = has_state[at]
    :: else
    fi;
    stage[e] = FOUND
}

inline raise()
{
    epoch++;
    any(n, 0, NODES);
    owner[epoch] = n;
    n = 0;
    stage[epoch] = RAISED
}

active proctype world()
{
    byte e, n, s, t, least;

    d_step { stage[0] = SERVES; owner[0] = OWNER; waits[0] = holders; told[0] = holders }
    do
    /* A life runs a call, and a copy is made. */
    :: atomic {
        any(e, 0, EPOCHS);
        if :: stage[e] == SERVES && copy[TOKEN(e)] < COPIES -> copy[TOKEN(e)]++ :: else fi;
        e = 0
       }
    /* A copy arrives. Of a life that is over none arrives on its owner's disk. */
    :: atomic {
        any(t, 0, TOKENS);
        any(least, 0, NODES);
        any(s, 1, COPIES + 1);
        if
        :: s <= copy[t] && (told[EPOCH(t)] & BIT(least)) && TAKES(t, least) &&
           (least != owner[EPOCH(t)] || t == TOKEN(EPOCH(t))) ->
            if
            :: take(t, least, s, STATE(t, s))
            :: s > 1 && IS_NEWER(t, s, least) && IS_BASE(t, s, least) ->
                take(t, least, s, (has_state[least] | CALL(t, s)))
            fi
        :: else
        fi;
        t = 0; s = 0; least = 0
       }
    /* An owner lets go. */
    :: atomic {
        any(e, 0, EPOCHS);
        if
        :: stage[e] == SERVES ->
            t = TOKEN(e);
            count_taken(t, least);
            if
            :: least > 0 && least <= COPIES && !HAS(gone[e], STATE(t, least)) ->
                gone[e] = gone[e] | STATE(t, least);
                check_gone(e)
            :: else
            fi
        :: else
        fi;
        e = 0; t = 0; least = 0
       }
    /* A guest dies. */
    :: atomic {
        any(e, 0, EPOCHS);
        if
        :: stage[e] == SERVES && life[e] + 1 < LIVES && deaths < DEATHS ->
            deaths++;
            life[e]++;
            stage[e] = DOWN;
            found_token[e] = 0; found_copy[e] = 0; found_state[e] = 0;
            if :: change == WAITS && change_epoch == e -> change_from = 0 :: else fi
        :: else
        fi;
        e = 0
       }
    /* Its owner asks for the holders, which it is told while the epoch is its own. */
    :: atomic {
        any(e, 0, EPOCHS);
        if
        :: stage[e] == DOWN && epoch == e && IS_OWN(e) -> reach(e, owner[e])
        :: stage[e] == DOWN && epoch == e && !IS_OWN(e) -> named[e] = holders; stage[e] = RAISED
        :: else
        fi;
        e = 0
       }
    /* Somebody recovers. */
#ifdef MUTANT_READ_EARLY
    :: atomic {
        skip;
        if :: epoch + 1 < EPOCHS && named[epoch + 1] == 0 -> named[epoch + 1] = holders :: else fi
       }
    :: atomic {
        skip;
        if :: epoch + 1 < EPOCHS && named[epoch + 1] != 0 -> raise() :: else fi
       }
#else
    :: atomic {
        skip;
        if :: epoch + 1 < EPOCHS -> named[epoch + 1] = holders; raise() :: else fi
       }
#endif
    :: atomic {
        any(e, 0, EPOCHS);
        any(n, 0, NODES);
        if
        :: (stage[e] == RAISED || stage[e] == FOUND) && (named[e] & BIT(n)) -> reach(e, n)
        :: else
        fi;
        e = 0; n = 0
       }
    :: atomic {
        any(e, 0, EPOCHS);
        if
        :: stage[e] == FOUND ->
            t = TOKEN(e);
            loaded[t] = found_state[e];
#ifdef MUTANT_SAME_SEQ
            if :: EPOCH(found_token[e]) == e -> begun[t] = found_copy[e] :: else fi;
#endif
            if :: life[e] == 0 -> waits[e] = named[e]; told[e] = named[e] :: else fi;
            named[e] = 0;
            stage[e] = SERVES;
            check_loaded(e)
        :: else
        fi;
        e = 0; t = 0
       }
    /* Who leads begins a change: more, or fewer. */
    :: atomic {
        any(n, 0, NODES);
        if
        :: change == NONE && changes < CHANGES && stage[epoch] == SERVES && !(holders & BIT(n)) ->
            changes++;
            change = ASKED; change_adds = true; change_epoch = epoch; change_node = n;
#ifdef MUTANT_RECORD_FIRST
            holders = holders | BIT(n)
#endif
        :: change == NONE && changes < CHANGES && stage[epoch] == SERVES && (holders & BIT(n)) && holders != BIT(n) ->
            changes++;
            change = ASKED; change_adds = false; change_epoch = epoch; change_node = n;
#ifndef MUTANT_DROP_FIRST
            holders = holders & ~BIT(n)
#endif
        :: else
        fi;
        n = 0
       }
    /* The owner hears of it. */
    :: atomic {
        skip;
        if
        :: change == ASKED && change_adds ->
            waits[change_epoch] = waits[change_epoch] | BIT(change_node);
            told[change_epoch] = told[change_epoch] | BIT(change_node);
            change_from = copy[TOKEN(change_epoch)];
            change = WAITS
        :: change == ASKED && !change_adds ->
            waits[change_epoch] = waits[change_epoch] & ~BIT(change_node);
            change = LATER
        :: else
        fi
       }
    /* The newcomer has all that was let go before it was waited for: it is named. */
    :: atomic {
        skip;
        if
        :: change == WAITS && MAY_NAME ->
            if :: IS_CURRENT -> holders = holders | BIT(change_node) :: else fi;
            change = NONE; change_from = 0
        :: change == LATER ->
#ifdef MUTANT_DROP_FIRST
            if :: IS_CURRENT -> holders = holders & ~BIT(change_node) :: else fi;
#endif
            change = NONE
        :: else
        fi
       }
    /* Or its epoch is over, and so is the change. */
    :: atomic { skip; if :: change != NONE && epoch != change_epoch -> change = NONE; change_from = 0 :: else fi }
    od
}
