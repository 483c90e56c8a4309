/* SPDX-License-Identifier: Apache-2.0 */
/* router: it carries each message of a source into two queues of two cells, and may die at any step;
 * the next one begins with the cells alone, while consumers take messages.
 *
 * Each consumer gets each message once, in its order; none is missing at the end.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_NO_SOURCE      a queue does not say which source position it had last
 *   MUTANT_LATE_SOURCE    the source position is written after the message is published
 *   MUTANT_SOURCE_FIRST   the cell of the source is freed before the queues have its message
 *   MUTANT_LEAST_FREE     the tail of a queue is its least free position
 *   MUTANT_ONE_CELL       queues of one cell: what is being written hides what was there last
 *
 * r[verify region.router.once] r[verify region.resume] */

#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifdef MUTANT_ONE_CELL
#define N 1
#else
#define N 2
#endif
#define QUEUES 2

#define CELL(q, p)      ((q) * N + (p) % N)
#define FREE(p)         (2 * (p))
#define PUBLISHED(p)    (2 * (p) + 1)
#define IS_PUBLISHED(w) ((w) % 2 == 1)
#define POSITION(w)     ((w) / 2)

#define MAY_DIE                          \
    if                                   \
    :: deaths < DEATHS ->                \
        deaths++;                        \
        goto life                        \
    :: true                              \
    fi

byte word[QUEUES * N];
byte from[QUEUES * N]; /* the source position + 1 of the message in a cell */
byte source;           /* messages that left the source */
byte deaths;

proctype router()
{
    byte q, i, s, w, tail[QUEUES], last[QUEUES];

life:
    s = source;
    q = 0;
    do
    :: q < QUEUES ->
#ifdef MUTANT_LEAST_FREE
        tail[q] = 2 * (MESSAGES + N);
#else
        tail[q] = 0;
#endif
        i = 0;
        do
        :: i < N ->
            w = word[q * N + i];
            d_step {
                if
#ifdef MUTANT_LEAST_FREE
                :: !IS_PUBLISHED(w) && POSITION(w) < tail[q] -> tail[q] = POSITION(w)
#else
                :: IS_PUBLISHED(w) && POSITION(w) + 1 > tail[q] -> tail[q] = POSITION(w) + 1
                :: !IS_PUBLISHED(w) && POSITION(w) >= N && POSITION(w) - N + 1 > tail[q] ->
                    tail[q] = POSITION(w) - N + 1
#endif
                :: else
                fi;
                i++
            }
        :: else -> break
        od;
        last[q] = 0;
#ifndef MUTANT_NO_SOURCE
        if
        :: tail[q] > 0 -> last[q] = from[CELL(q, tail[q] - 1)]
        :: else
        fi;
#endif
        assert(last[q] <= s + 1);
        q++
    :: else -> break
    od;
    do
    :: s == MESSAGES -> break
    :: else ->
#ifdef MUTANT_SOURCE_FIRST
        source = s + 1;
        MAY_DIE;
#endif
        q = 0;
        do
        :: q < QUEUES && last[q] == s + 1 -> q++
        :: q < QUEUES && last[q] != s + 1 ->
            word[CELL(q, tail[q])] == FREE(tail[q]);
#ifndef MUTANT_LATE_SOURCE
            from[CELL(q, tail[q])] = s + 1;
            MAY_DIE;
#endif
            word[CELL(q, tail[q])] = PUBLISHED(tail[q]);
            MAY_DIE;
#ifdef MUTANT_LATE_SOURCE
            from[CELL(q, tail[q])] = s + 1;
#endif
            tail[q] = tail[q] + 1;
            last[q] = s + 1
        :: q == QUEUES -> break
        od;
        source = s + 1;
        s++;
        MAY_DIE
    od
}

proctype consumer(byte q)
{
    byte head, message;

    do
    :: head == MESSAGES -> break
    :: else ->
        word[CELL(q, head)] == PUBLISHED(head);
        message = from[CELL(q, head)];
        assert(message == head + 1);
        word[CELL(q, head)] = FREE(head + N);
        head++
    od
}

init
{
    byte i;

    do
    :: i < QUEUES * N ->
        word[i] = FREE(i % N);
        i++
    :: else -> break
    od;
    atomic {
        run router();
        run consumer(0);
        run consumer(1)
    }
}
