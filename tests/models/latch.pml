/* SPDX-License-Identifier: Apache-2.0 */
/* latch: the writer of a state with two buffers, and a reader. The writer may die at any step; its
 * successor begins with the shared words alone, or never comes.
 *
 * What is read is whole, is the same for each version, and never goes back; a reader that finds
 * another mark than it looks for finds another latest version too; and with no writer at work there
 * is always a value to be read.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_INDEX_FIRST     the version is named as the latest before it is written
 *   MUTANT_SAME_BUFFER     the next version is written over the latest one
 *   MUTANT_NO_MARK         a buffer is not marked before it is written
 *   MUTANT_NO_SECOND_LOOK  a reader does not look at the mark again behind its copy
 *   MUTANT_VERSION_TWICE   the successor of a dead writer writes the latest version again
 *
 * r[verify region.state.latch] r[verify region.state.torn] r[verify region.state.writer] */

#ifndef VERSIONS
#define VERSIONS 4
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef READS
#define READS 3
#endif
#define B 2

#define LATEST(v, n) ((v) * B + (n))
#define VERSION(l)   ((l) / B)
#define BUFFER(l)    ((l) % B)

byte latest;
byte seq[B];
byte first[B], second[B]; /* the words of a value, which are equal */
byte deaths;
bit gone; /* there will be no writer any more */

#define MAY_DIE                           \
    if                                    \
    :: deaths < DEATHS ->                 \
        deaths++;                         \
        goto life                         \
    :: deaths < DEATHS -> goto end        \
    :: true                               \
    fi

proctype writer()
{
    byte v, n;

life:
    v = VERSION(latest);
    n = BUFFER(latest);
#ifdef MUTANT_VERSION_TWICE
    if
    :: deaths > 0 && v > 0 -> v--
    :: else
    fi;
#endif
    do
    :: v >= VERSIONS -> break
    :: else ->
        v++;
#ifndef MUTANT_SAME_BUFFER
        n = (n + 1) % B;
#endif
#ifndef MUTANT_NO_MARK
        seq[n] = 2 * v - 1;
        MAY_DIE;
#endif
#ifdef MUTANT_INDEX_FIRST
        latest = LATEST(v, n);
        MAY_DIE;
#endif
        first[n] = 8 * deaths + v;
        MAY_DIE;
        second[n] = 8 * deaths + v;
        MAY_DIE;
        seq[n] = 2 * v;
        MAY_DIE;
#ifndef MUTANT_INDEX_FIRST
        latest = LATEST(v, n);
        MAY_DIE;
#endif
    od;
end:
    gone = 1
}

proctype reader()
{
    byte reads, l, a, b, last, value;
    bit whole, alone;

    do
    :: alone -> break
    :: else ->
        /* the last read is one without a writer */
        if
        :: reads < READS -> reads++
        :: reads == READS && gone -> alone = 1
        fi;
        whole = 0;
        l = latest;
        if
        :: VERSION(l) == 0 -> goto next
        :: else
        fi;
        if
        :: seq[BUFFER(l)] == 2 * VERSION(l) ->
            a = first[BUFFER(l)];
            b = second[BUFFER(l)];
#ifdef MUTANT_NO_SECOND_LOOK
            whole = 1
#else
            whole = (seq[BUFFER(l)] == 2 * VERSION(l))
#endif
        :: else
        fi;
        if
        :: whole ->
            d_step {
                assert(a == b);
                assert(VERSION(l) >= last);
                assert(VERSION(l) > last || a == value);
                last = VERSION(l);
                value = a
            }
        :: !whole ->
            assert(latest != l);
            assert(!alone)
        fi;
next:
        skip;
        d_step {
            a = 0;
            b = 0;
            l = 0
        }
    od
}

init
{
    atomic {
        run writer();
        run reader()
    }
}
