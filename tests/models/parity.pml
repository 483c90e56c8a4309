/* SPDX-License-Identifier: Apache-2.0 */
/* parity: the writer of a state in one place, behind a sequence that is odd while it writes, and a
 * reader. The writer may die at any step; its successor begins with the shared words alone.
 *
 * What is read is whole, is the same for each version, and never goes back; when a writer has
 * written its last version, that is to be read.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_ONE_MORE        a successor adds one to the sequence, odd or not
 *   MUTANT_NO_MARK         the sequence is not odd while the value is written
 *   MUTANT_EVEN_FIRST      the sequence is even before the last word is written
 *   MUTANT_NO_SECOND_LOOK  a reader does not look at the sequence again behind its copy
 *   MUTANT_ODD_TOO         a reader takes what it finds under an odd sequence
 *   MUTANT_FROM_ZERO       a successor begins with the first version again
 *
 * r[verify region.state.torn] r[verify region.state.writer] */

#ifndef VERSIONS
#define VERSIONS 4
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef READS
#define READS 3
#endif

byte seq;
byte first, second; /* the words of the value, which are equal */
byte deaths;
bit gone; /* the last version was written */

#define MAY_DIE                           \
    if                                    \
    :: deaths < DEATHS ->                 \
        deaths++;                         \
        goto life                         \
    :: true                               \
    fi

proctype writer()
{
    byte odd;

life:
#ifdef MUTANT_FROM_ZERO
    seq = 0;
#endif
    do
    :: seq == 2 * VERSIONS -> break
    :: else ->
        odd = seq;
#ifdef MUTANT_ONE_MORE
        odd++;
#else
        odd = odd | 1;
#endif
#ifndef MUTANT_NO_MARK
        seq = odd;
        MAY_DIE;
#endif
        first = 8 * deaths + odd;
        MAY_DIE;
#ifdef MUTANT_EVEN_FIRST
        seq = odd + 1;
        MAY_DIE;
#endif
        second = 8 * deaths + odd;
        MAY_DIE;
#ifndef MUTANT_EVEN_FIRST
        seq = odd + 1;
        MAY_DIE
#endif
    od;
    gone = 1
}

proctype reader()
{
    byte reads, s, a, b, last, value;
    bit whole, alone;

    do
    :: alone -> break
    :: else ->
        if
        :: reads < READS -> reads++
        :: reads == READS && gone -> alone = 1
        fi;
        s = seq;
        a = first;
        b = second;
#ifdef MUTANT_NO_SECOND_LOOK
        whole = (s % 2 == 0);
#else
#ifdef MUTANT_ODD_TOO
        whole = (seq == s);
#else
        whole = (s % 2 == 0 && seq == s);
#endif
#endif
        d_step {
            if
            :: whole && s > 0 ->
                assert(a == b);
                assert(s >= last);
                assert(s > last || a == value);
                last = s;
                value = a
            :: else -> assert(!alone)
            fi;
            a = 0;
            b = 0;
            s = 0
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
