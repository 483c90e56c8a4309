/* SPDX-License-Identifier: Apache-2.0 */
/* wait: a ring from guest to host, the wake flags of both sides, and who receives in the host: a
 * calling thread (a leader) or the loop, which hand the receive token to each other.
 *
 * The guest sends MESSAGES through a ring that holds PLACES; where it is full the guest sleeps. Two
 * leaders wait each for one of the messages and go; the loop polls the doorbell edge by edge, as
 * epoll does. A doorbell holds one byte: what rings it meanwhile is told so and makes no edge. Each
 * thread has a store buffer: what it stores is seen later, in order; an operation that reads and
 * writes, and a fence, wait until it is empty. No sleep ends by itself: where a wake-up is lost,
 * everybody stands still before all has arrived, and `watcher` says so. Which of the two ways a
 * thread sleeps is free, so that each is the last one. What a message says is looked at too.
 *
 * Broken variants, each of which must be found out:
 *   MUTANT_PLAIN_CLAIM   the flags are cleared by a plain store
 *   MUTANT_NO_FENCE      no fence between a publication and the look at the flags
 *   MUTANT_NO_PENDING    who rang while another had the token is forgotten
 *   MUTANT_NO_DRAIN      it is remembered, but the byte stays in the doorbell
 *   MUTANT_NO_LOOK       who lets go of the token does not look at the ring again
 *   MUTANT_EARLY_ARM     the token is let go of before the doorbell is armed
 *   MUTANT_HEAD_FIRST    the head is published before the message
 *   MUTANT_TAIL_FIRST    the tail is published before the message was read
 * r[verify shm.wakeup.consumer-wait] r[verify shm.wakeup.producer-wait] r[verify hub.wait.owner]
 * r[verify shm.ordering.ring-publish] r[verify shm.ordering.ring-consume] */

#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef PLACES
#define PLACES 1
#endif

#define RX_FUTEX 1
#define RX_BELL  2
#define RX       3
#define TX_FUTEX 4
#define TX_BELL  8
#define TX       12

/* Words that are stored to, as memory holds them. */
#define HEAD    0
#define TAIL    1
#define TOKEN   2
#define PENDING 3
#define PLACE   4 /* the first of the ring */
byte memory[PLACE + PLACES];

byte host_wait = RX_BELL, guest_wait; /* only changed by operations that read and write */

bool host_bell, host_edge; /* a byte is there; epoll has not told yet */
bool guest_bell;
bool loop_event; /* the loop's eventfd */
bool leader_asleep, guest_asleep; /* in their futexes */

byte taken;       /* of the receive token's holder: messages consumed */
byte leaders_gone;

chan guest_stores = [2] of {byte, byte};
chan first_stores = [2] of {byte, byte};
chan second_stores = [2] of {byte, byte};
chan loop_stores = [2] of {byte, byte};

#define FENCE(stores) empty(stores)

proctype drain(chan stores)
{
    byte word, value;

end:
    do
    :: d_step { stores?word, value; memory[word] = value; word = 0; value = 0 }
    od
}

/* One byte into a doorbell. Only the host's is watched by edges. */
inline ring(of_host)
{
    d_step {
        if
        :: !(of_host) -> guest_bell = true
        :: (of_host) && !host_bell -> host_bell = true; host_edge = true
        :: else
        fi
    }
}

/* A wake-up of the side that owns `flags`: W1 to W7. */
inline wake(stores, flags, mask, futex, asleep, of_host)
{
#ifndef MUTANT_NO_FENCE
    FENCE(stores);
#endif
    word = flags;
    if
    :: word & mask ->
#ifdef MUTANT_PLAIN_CLAIM
        flags = word & ~(mask);
#else
        d_step { FENCE(stores); word = flags; flags = flags & ~(mask) };
#endif
        if
        :: word & mask & futex -> asleep = false
        :: else
        fi;
        if
        :: word & mask & ~(futex) -> ring(of_host)
        :: else
        fi
    :: else
    fi;
    word = 0
}

/* One sleep: S1 to S5. */
inline sleep_once(stores, flags, futex, bell_bit, ready, asleep, bell)
{
    if
    :: bits = futex
    :: bits = bell_bit
    fi;
    d_step { FENCE(stores); flags = flags | bits; word = flags };
    FENCE(stores);
    if
    :: ready
    :: else ->
        if
        :: bits == futex ->
            assert(!asleep); /* a flag has one sleeper */
            d_step { if :: flags == word -> asleep = true :: else fi };
            !asleep
        :: else ->
            bell; /* poll: level by level */
            bell = false
        fi
    fi;
    d_step { FENCE(stores); flags = flags & ~bits; bits = 0; word = 0 }
}

proctype guest()
{
    byte sent, word, bits;

    do
    :: sent < MESSAGES ->
        do
        :: sent - memory[TAIL] < PLACES -> break
        :: else ->
            sleep_once(guest_stores, guest_wait, TX_FUTEX, TX_BELL,
                       sent - memory[TAIL] < PLACES, guest_asleep, guest_bell)
        od;
#ifdef MUTANT_HEAD_FIRST
        guest_stores!HEAD, sent + 1;
#endif
        guest_stores!PLACE + sent % PLACES, sent + 1;
        sent++;
#ifndef MUTANT_HEAD_FIRST
        guest_stores!HEAD, sent;
#endif
        wake(guest_stores, host_wait, RX, RX_FUTEX, leader_asleep, true)
    :: else -> break
    od
}

/* ---- the host: with the token ---- */

/* One message. */
inline receive(stores)
{
#ifdef MUTANT_TAIL_FIRST
    taken++;
    show_tail(stores);
    assert(memory[PLACE + (taken - 1) % PLACES] == taken)
#else
    d_step {
        assert(memory[PLACE + taken % PLACES] == taken + 1);
        taken++
    }
#endif
}

inline receive_all(stores)
{
    do
    :: memory[HEAD] != taken -> receive(stores)
    :: memory[HEAD] == taken -> break
    od
}

/* What was taken is shown at the latest before a sleep, and when the token goes. */
inline show_tail(stores)
{
    if
    :: shown != taken ->
        shown = taken;
        stores!TAIL, taken;
        wake(stores, guest_wait, TX, TX_FUTEX, guest_asleep, false)
    :: else
    fi
}

byte shown; /* the tail, as the token's holders have shown it */

inline take_token(stores)
{
    d_step {
        FENCE(stores);
        got = memory[TOKEN] == 0;
        memory[TOKEN] = 1
    };
    if
    :: got -> d_step { FENCE(stores); host_wait = host_wait & ~RX_BELL }
    :: else
    fi
}

inline arm(stores)
{
    d_step { FENCE(stores); host_wait = host_wait | RX_BELL };
    FENCE(stores)
}

inline let_go(stores)
{
    show_tail(stores);
#ifndef MUTANT_EARLY_ARM
    arm(stores);
#endif
    last = taken;
    stores!TOKEN, 0;
    FENCE(stores);
#ifdef MUTANT_NO_LOOK
    last = memory[HEAD];
#endif
#ifdef MUTANT_NO_DRAIN
    d_step { word = memory[PENDING]; memory[PENDING] = 0 };
#else
    word = memory[PENDING];
#endif
    if
    :: word || memory[HEAD] != last -> loop_event = true
    :: else
    fi;
#ifdef MUTANT_EARLY_ARM
    arm(stores);
#endif
    word = 0;
    last = 0
}

/* A calling thread: waits for its answer, which another may receive for it. */
proctype leader(chan stores; byte wanted)
{
    byte word, bits, last;
    bool got;

    do
    :: taken >= wanted -> break
    :: else ->
        take_token(stores);
        if
        :: got ->
            do
            :: taken >= wanted -> break
            :: taken < wanted && memory[HEAD] != taken -> receive(stores)
            :: taken < wanted && memory[HEAD] == taken ->
                show_tail(stores);
                sleep_once(stores, host_wait, RX_FUTEX, RX_BELL, memory[HEAD] != taken,
                           leader_asleep, host_bell)
            od;
            let_go(stores)
        :: else -> memory[TOKEN] == 0 || taken >= wanted /* it is told so: a futex of the process */
        fi
    od;
    leaders_gone++
}

/* Who has the token looks for a bell that was heard, and reads the doorbell. */
inline answer_bell()
{
    word = memory[PENDING];
    if
    :: word ->
        loop_stores!PENDING, 0;
        host_bell = false
    :: else
    fi;
    word = 0
}

/* The owner's loop: an edge of the doorbell, or its eventfd. */
proctype loop()
{
    byte word, last;
    bool got;

end:
    do
    :: d_step { host_edge && host_bell -> host_edge = false }; /* else another has read it */
#ifndef MUTANT_NO_PENDING
        loop_stores!PENDING, 1;
#endif
        take_token(loop_stores);
        if
        :: got ->
#if defined(MUTANT_NO_PENDING) || defined(MUTANT_NO_DRAIN)
            loop_stores!PENDING, 0;
            host_bell = false;
#else
            answer_bell();
#endif
            receive_all(loop_stores);
            let_go(loop_stores)
        :: else
        fi
    :: loop_event ->
        loop_event = false;
        take_token(loop_stores);
        if
        :: got ->
#ifndef MUTANT_NO_DRAIN
            answer_bell();
#endif
            receive_all(loop_stores);
            let_go(loop_stores)
        :: else
        fi
    od
}

proctype watcher()
{
end:
    timeout -> assert(taken == MESSAGES && leaders_gone == 2)
}

init
{
    atomic {
        run drain(guest_stores);
        run drain(first_stores);
        run drain(second_stores);
        run drain(loop_stores);
        run guest();
        run leader(first_stores, 1);
        run leader(second_stores, 2);
        run loop();
        run watcher()
    }
}
