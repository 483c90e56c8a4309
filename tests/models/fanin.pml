/* SPDX-License-Identifier: Apache-2.0 */
/* fanin: two producers, each with a ring of two cells, and a consumer that takes from both and sleeps
 * on one word. Each of them may die at any step; its successor begins with the cells alone. A reaper
 * wakes all sleepers behind a death.
 *
 * The messages of each producer come once, in their order; nobody sleeps for ever at the end.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_LEAST_FREE    the tail of a ring is its least free position
 *   MUTANT_FREE_FIRST    the cell is freed before its message is copied
 *   MUTANT_FLAG_FIRST    a sleeper sets its flag before it reads the sequence
 *   MUTANT_ONE_RING      a sleeper looks once more at the ring that had its turn alone
 *   MUTANT_CHECK_FIRST   a producer looks at the flag before it publishes
 *   MUTANT_NO_REAP_WAKE  the death of a producer wakes nobody
 *
 * r[verify region.fanin] r[verify region.fanin.apart] r[verify region.resume] r[verify region.wake] */

#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define N     2
#define RINGS 2

#define CELL(q, p)      ((q) * N + (p) % N)
#define FREE(p)         (2 * (p))
#define PUBLISHED(p)    (2 * (p) + 1)
#define IS_PUBLISHED(w) ((w) % 2 == 1)
#define POSITION(w)     ((w) / 2)
#define IS_READY(q)     (word[CELL(q, head[q])] == PUBLISHED(head[q]))

byte word[RINGS * N];
byte body[RINGS * N]; /* the message in a cell */
byte taken[RINGS];    /* messages that the consumer has given to its user */
bit raised; /* the sequence, since the consumer read it */
bit flag;
byte deaths;

/* A sleep has no end but a wake here, so that each wake counts. */
#define WAKE raised = 1

#ifdef MUTANT_NO_REAP_WAKE
#define REAP skip
#else
#define REAP WAKE
#endif

#define PRODUCER_MAY_DIE                  \
    if                                    \
    :: deaths < DEATHS ->                 \
        d_step {                          \
            deaths++;                     \
            sleeps = 0;                   \
            REAP                          \
        }                                 \
        goto life                         \
    :: true                               \
    fi

#define CONSUMER_MAY_DIE                  \
    if                                    \
    :: deaths < DEATHS ->                 \
        d_step {                          \
            deaths++;                     \
            message = 0                   \
        }                                 \
        goto life                         \
    :: true                               \
    fi

proctype producer(byte q)
{
    byte i, w, tail;
    bit sleeps;

life:
#ifdef MUTANT_LEAST_FREE
    tail = 2 * (MESSAGES + N);
#else
    tail = 0;
#endif
    i = 0;
    do
    :: i < N ->
        w = word[q * N + i];
        d_step {
            if
#ifdef MUTANT_LEAST_FREE
            :: !IS_PUBLISHED(w) && POSITION(w) < tail -> tail = POSITION(w)
#else
            :: IS_PUBLISHED(w) && POSITION(w) + 1 > tail -> tail = POSITION(w) + 1
            :: !IS_PUBLISHED(w) && POSITION(w) >= N && POSITION(w) - N + 1 > tail ->
                tail = POSITION(w) - N + 1
#endif
            :: else
            fi;
            i++
        }
    :: else -> break
    od;
    atomic {
        i = 0;
        w = 0
    }
    do
    :: tail >= MESSAGES -> break
    :: else ->
        word[CELL(q, tail)] == FREE(tail);
        body[CELL(q, tail)] = tail + 1;
        PRODUCER_MAY_DIE;
#ifdef MUTANT_CHECK_FIRST
        sleeps = flag;
#endif
        word[CELL(q, tail)] = PUBLISHED(tail);
        tail++;
        PRODUCER_MAY_DIE;
#ifndef MUTANT_CHECK_FIRST
        sleeps = flag;
#endif
        if
        :: sleeps ->
            d_step {
                sleeps = flag;
                flag = 0
            }
            PRODUCER_MAY_DIE;
            if
            :: sleeps ->
                d_step {
                    WAKE;
                    sleeps = 0
                }
            :: else
            fi
        :: else
        fi
    od
}

proctype consumer()
{
    byte head[RINGS], message, i, q, least;

life:
    q = 0;
    do
    :: q < RINGS ->
        least = 255;
        i = 0;
        do
        :: i < N ->
            d_step {
                if
                :: POSITION(word[q * N + i]) < least -> least = POSITION(word[q * N + i])
                :: else
                fi;
                i++
            }
        :: else -> break
        od;
        atomic {
            head[q] = least;
            least = 0;
            i = 0;
            q++
        }
    :: else -> break
    od;
    q = 0;
    do
    :: taken[0] + taken[1] == 2 * MESSAGES -> break
    :: taken[0] + taken[1] < 2 * MESSAGES && IS_READY(q) ->
#ifdef MUTANT_FREE_FIRST
        word[CELL(q, head[q])] = FREE(head[q] + N);
        message = body[CELL(q, head[q])];
        assert(message == taken[q] + 1);
        taken[q] = taken[q] + 1;
#else
        message = body[CELL(q, head[q])];
        CONSUMER_MAY_DIE;
        assert(message == taken[q] + 1);
        d_step {
            word[CELL(q, head[q])] = FREE(head[q] + N);
            taken[q] = taken[q] + 1;
            message = 0
        }
        CONSUMER_MAY_DIE;
#endif
        head[q] = head[q] + 1
    :: taken[0] + taken[1] < 2 * MESSAGES && !IS_READY(q) && IS_READY(1 - q) -> q = 1 - q
    :: taken[0] + taken[1] < 2 * MESSAGES && !IS_READY(q) && !IS_READY(1 - q) ->
#ifdef MUTANT_FLAG_FIRST
        flag = 1;
        raised = 0;
#else
        raised = 0;
        flag = 1;
#endif
        CONSUMER_MAY_DIE;
        if
        :: IS_READY(q)
        :: else ->
#ifndef MUTANT_ONE_RING
            if
            :: IS_READY(1 - q)
            :: else -> raised
            fi
#else
            raised
#endif
        fi
    od
}

init
{
    byte i;

    do
    :: i < RINGS * N ->
        word[i] = FREE(i % N);
        i++
    :: else -> break
    od;
    atomic {
        run producer(0);
        run producer(1);
        run consumer()
    }
}
