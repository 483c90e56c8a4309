/* SPDX-License-Identifier: Apache-2.0 */
/* raw wait: wakes and sleeps, by the wait words at 56 and 60 of the peer entry or as the seed has
 * it. Bits of a wait word: 1 takes part; 2 and 4 sleeps on futex or doorbell to receive; 8 and 16
 * the same for space. */
#include "tests/raw/raw_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/raw/raw_allocator.h"
#include "tests/raw/raw_class.h"
#include "tests/raw/raw_words.h"

#define SLICE_MS 100 /* no sleep is longer: a peer that never wakes is found all the same */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int raw_wait_ring(const struct raw_link *link)
{
    ssize_t sent;

    if (link->bell < 0)
        return -EBADF;
    do {
        sent = send(link->bell, "\x01", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1 || errno == EAGAIN ? 0 : -errno;
}

static void wake_futex(struct raw_link *link, uint64_t at, uint32_t mask)
{
    if (!link->behaviour.never_wakes)
        syscall(SYS_futex, raw_word32(link->base, at), FUTEX_WAKE_BITSET, 0x7fffffff, NULL, NULL,
                mask);
}

void raw_wait_wake(struct raw_link *link, uint32_t mask, uint64_t seed_word)
{
    uint32_t before;

    if (link->behaviour.foreign || !(raw_set32(link->base, link->peer_wait, 0) & 1)) {
        wake_futex(link, seed_word, 0xffffffff);
        if (!link->behaviour.never_rings)
            raw_wait_ring(link);
        return;
    }
    before = raw_clear32(link->base, link->peer_wait, mask) & mask;
    if (before & 0x0a)
        wake_futex(link, link->peer_wait, mask);
    if (before & 0x14 && !link->behaviour.never_rings)
        raw_wait_ring(link);
}

/* Room for one descriptor: more are not sent with one message. */
static ssize_t hear_some(struct raw_link *link)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char bytes[256];
    struct iovec into = {bytes, sizeof(bytes)};
    struct msghdr message = {.msg_iov = &into,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t size = recvmsg(link->bell, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = size >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        raw_class_keep(link, fd);
    }
    return size;
}

bool raw_wait_hear(struct raw_link *link)
{
    ssize_t size;

    if (link->bell < 0)
        return true;
    do {
        size = hear_some(link);
    } while (size > 0);
    return size < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Returns false if there is no peer that can ring any more. */
static bool poll_bell(struct raw_link *link, int ms)
{
    struct pollfd bell = {.fd = link->bell, .events = POLLIN};

    return poll(&bell, 1, ms) <= 0 || raw_wait_hear(link);
}

static void wait_futex(struct raw_link *link, uint64_t at, uint32_t value, int ms)
{
    struct timespec span = {ms / 1000, (long)(ms % 1000) * 1000000};

    syscall(SYS_futex, raw_word32(link->base, at), FUTEX_WAIT, value, &span, NULL, 0);
}

/* Sleeps once, at most `ms`; false if the other side hung up. The bits are set before the last
 * check, so that a peer which publishes afterwards sees them. */
static bool sleep_once(struct raw_link *link, const struct raw_wait *wait, int ms)
{
    bool on_bell = link->behaviour.sleep == RAW_SLEEP_BELL && link->bell >= 0;
    uint32_t bits = on_bell ? wait->bell : wait->futex;
    uint32_t seed = raw_load32(link->base, wait->word);
    bool alive = true;
    uint32_t armed = 0;

    if (link->behaviour.sleep == RAW_SLEEP_LOOK) {
        poll(NULL, 0, 1);
        return true;
    }
    if (!link->behaviour.foreign)
        armed = raw_set32(link->base, link->own_wait, bits) | bits;
    if (!wait->check(link) && !raw_link_left(link)) {
        if (on_bell)
            alive = poll_bell(link, ms);
        else if (link->behaviour.foreign)
            wait_futex(link, wait->word, seed, ms);
        else
            wait_futex(link, link->own_wait, armed, ms);
    }
    if (!link->behaviour.foreign)
        raw_clear32(link->base, link->own_wait, bits);
    return alive;
}

int raw_wait_for(struct raw_link *link, const struct raw_wait *wait, int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;

    while (!wait->check(link)) {
        int64_t left = deadline - now_ms();

        if (link->host && link->classes)
            raw_allocator_attend(link);
        if (raw_link_left(link))
            return wait->check(link) ? 0 : -EPIPE;
        if (left <= 0)
            return -ETIMEDOUT;
        if (!sleep_once(link, wait, left < SLICE_MS ? (int)left : SLICE_MS))
            return wait->check(link) ? 0 : -EPIPE;
    }
    return 0;
}
