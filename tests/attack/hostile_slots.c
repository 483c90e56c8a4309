/* SPDX-License-Identifier: Apache-2.0 */
/* hostile slots, of several sizes: impossible refs, stacks that lead elsewhere, words that ask for
 * too much, and unwanted descriptors. */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_class.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define CALL_MS 10000
#define ID      1000 /* id of requests */
#define LENGTH  100
#define STORM   200000
#define BURSTS  400
#define FDS     253 /* most of one message */
#define USED    (void)request

/* Nothing that comes later shall mend what was done. */
static void stay(struct raw_link *link)
{
    raw_wait_ring(link);
    for (;;)
        pause_ms(1000);
}

/* A request that says nothing, in a slot of our own. */
static struct raw_message in_slot(struct raw_link *link)
{
    struct raw_message message = {.type = RAW_REQUEST, .id = ID, .length = LENGTH};

    if (raw_class_take(link, LENGTH, &message.slot, &message.generation) == 0) {
        memset(raw_class_bytes(link, message.slot), 0, LENGTH);
        raw_class_sent(link, message.slot);
    }
    return message;
}

static void send_and_stay(struct raw_link *link, const struct raw_message *message)
{
    uint8_t descriptor[64];

    raw_link_pack(message, descriptor);
    raw_link_send_descriptor(link, descriptor, CALL_MS);
    stay(link);
}

/* ---- descriptors ---- */

static void ref_no_class(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.slot = link->classes->count << 24;
    send_and_stay(link, &message);
}

static void ref_no_index(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.slot = link->classes->of[0].per_extent;
    send_and_stay(link, &message);
}

static void ref_no_extent(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.slot |= 3u << 22;
    send_and_stay(link, &message);
}

static void ref_beyond(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.offset = link->classes->of[0].slot_size - LENGTH + 1;
    send_and_stay(link, &message);
}

static void ref_wraps(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.offset = 0xffffffff - LENGTH / 2;
    send_and_stay(link, &message);
}

static void ref_generation(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    message.generation += 7;
    send_and_stay(link, &message);
}

/* The first slot of a class that is not ours: the host's, or another guest's. */
static uint32_t foreign_slot(struct raw_link *link, uint32_t c)
{
    for (uint32_t i = link->classes->of[c].per_extent; i-- > 0;)
        if (raw_load32(raw_class_record(link, c << 24 | i), 8) != link->peer)
            return c << 24 | i;
    return RAW_NO_SLOT;
}

/* Its record says all that could make it ours. */
static void ref_foreign(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);
    uint8_t *record;

    USED;
    message.slot = foreign_slot(link, 0);
    record = raw_class_record(link, message.slot);
    message.generation = raw_load32(record, 0) + 1;
    raw_store32(record, 0, message.generation);
    raw_store32(record, 4, RAW_IN_FLIGHT);
    raw_store32(record, 8, link->peer);
    send_and_stay(link, &message);
}

static void ref_twice(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);
    uint8_t descriptor[64];

    USED;
    raw_link_pack(&message, descriptor);
    raw_link_put(link, descriptor);
    message.id++;
    raw_link_pack(&message, descriptor);
    raw_link_put(link, descriptor);
    raw_link_publish(link);
    stay(link);
}

/* It was never sent: the host, which is done with it, finds that it is free. */
static void ref_unsent(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = in_slot(link);

    USED;
    raw_store32(raw_class_record(link, message.slot), 4, RAW_FREE);
    send_and_stay(link, &message);
}

/* ---- the stacks on which the host takes ---- */

static void set_head(struct raw_link *link, uint32_t c, uint32_t ref)
{
    uint64_t head = link->classes->of[c].header + 16;

    raw_store64(link->base, head,
                (uint64_t)ref << 32 | (uint32_t)(raw_load64(link->base, head) + 1));
}

/* On each class, since the host looks only where it needs one. Afterwards the guest goes on, so
 * that the host does need one. */
static void push_everywhere(struct raw_link *link, uint32_t ref)
{
    for (uint32_t c = 0; c < link->classes->count; c++)
        set_head(link, c, ref);
}

static void push_no_class(struct raw_link *link, const struct raw_message *request)
{
    USED;
    push_everywhere(link, 15u << 24);
}

static void push_no_extent(struct raw_link *link, const struct raw_message *request)
{
    USED;
    push_everywhere(link, 3u << 22);
}

static void push_other_class(struct raw_link *link, const struct raw_message *request)
{
    uint32_t refs[2];

    USED;
    for (uint32_t c = 0; c < 2; c++)
        (void)raw_class_pop(link, link->classes->of[c].block, &refs[c]);
    set_head(link, 0, refs[1]);
    set_head(link, 1, refs[0]);
}

/* It leads to itself, since the host may have lent it to us just now: then once is right. */
static void push_foreign(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t c = 0; c < link->classes->count; c++) {
        uint32_t ref = foreign_slot(link, c);

        raw_store32(raw_class_record(link, ref), 12, ref);
        set_head(link, c, ref);
    }
}

/* Pushes one of our own slots that links to itself. */
static void push_circle(struct raw_link *link, const struct raw_message *request)
{
    uint32_t ref;

    USED;
    for (uint32_t c = 0; c < link->classes->count; c++) {
        (void)raw_class_pop(link, link->classes->of[c].block, &ref);
        raw_store32(raw_class_record(link, ref), 12, ref);
        set_head(link, c, ref);
    }
}

static void push_twice(struct raw_link *link, const struct raw_message *request)
{
    uint32_t first, second;

    USED;
    for (uint32_t c = 0; c < link->classes->count; c++) {
        (void)raw_class_pop(link, link->classes->of[c].block, &first);
        if (raw_class_pop(link, link->classes->of[c].block, &second) < 0)
            second = first;
        raw_class_push(link, link->classes->of[c].header + 16, first);
        raw_class_push(link, link->classes->of[c].header + 16, second);
        raw_class_push(link, link->classes->of[c].header + 16, first);
    }
}

/* Every head, the host's and our own, as fast as it can. */
static void heads_spoilt(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t i = 0; i < STORM; i++)
        for (uint32_t c = 0; c < link->classes->count; c++) {
            raw_store64(link->base, link->classes->of[c].header + 16,
                        (uint64_t)RAW_NO_SLOT << 32 | i);
            raw_store64(link->base, link->classes->of[c].block, (uint64_t)RAW_NO_SLOT << 32 | i);
        }
}

/* ---- words that only harm who writes them ---- */

/* Our own stack leads to what the host has: we would take it, but the host never looks. */
static void own_stack_foreign(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t c = 0; c < link->classes->count; c++)
        raw_store64(link->base, link->classes->of[c].block, (uint64_t)foreign_slot(link, c) << 32);
    stay(link);
}

static void wants_all(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t i = 0; i < STORM / 100; i++) {
        for (uint32_t c = 0; c < link->classes->count; c++) {
            raw_store32(link->base, link->classes->of[c].block + 8, 0xffffffff - i);
            raw_store32(link->base, link->classes->of[c].block + 12, i * 2654435761u);
        }
        raw_wait_ring(link);
    }
}

/* Headers of classes and of extents: what the host wrote it never reads again. */
static void classes_overwritten(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t c = 0; c < link->classes->count; c++) {
        const struct raw_class *of = &link->classes->of[c];

        for (uint64_t at = 0; at < 64; at += 4) {
            raw_store32(of->extents[0].memory, at, 0xdeadbeef);
            if (at < 16 || at >= 24)
                raw_store32(link->base, of->header + at, 0xdeadbeef);
        }
    }
    stay(link);
}

/* ---- descriptors by the doorbell ---- */

static void send_many(const struct raw_link *link, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(FDS * sizeof(int))];
    } control = {.header = {CMSG_LEN(FDS * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    char one = 1;
    struct iovec byte = {&one, 1};
    const struct msghdr message = {.msg_iov = &byte,
                                   .msg_iovlen = 1,
                                   .msg_control = control.bytes,
                                   .msg_controllen = sizeof(control.bytes)};

    for (size_t i = 0; i < FDS; i++)
        memcpy(CMSG_DATA(&control.header) + i * sizeof(fd), &fd, sizeof(fd));
    (void)sendmsg(link->bell, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void descriptor_flood(struct raw_link *link, const struct raw_message *request)
{
    int fd = memfd_create("flood", MFD_CLOEXEC);

    USED;
    for (unsigned i = 0; i < BURSTS; i++) {
        send_many(link, fd);
        pause_ms(1);
    }
    close(fd);
}

const struct hostile hostile_slots[] = {
    {"ref_no_class", ref_no_class},
    {"ref_no_index", ref_no_index},
    {"ref_no_extent", ref_no_extent},
    {"ref_beyond", ref_beyond},
    {"ref_wraps", ref_wraps},
    {"ref_generation", ref_generation},
    {"ref_foreign", ref_foreign},
    {"ref_twice", ref_twice},
    {"ref_unsent", ref_unsent},
    {"push_no_class", push_no_class},
    {"push_no_extent", push_no_extent},
    {"push_other_class", push_other_class},
    {"push_foreign", push_foreign},
    {"push_circle", push_circle},
    {"push_twice", push_twice},
    {"heads_spoilt", heads_spoilt},
    {"own_stack_foreign", own_stack_foreign},
    {"wants_all", wants_all},
    {"classes_overwritten", classes_overwritten},
    {"descriptor_flood", descriptor_flood},
    {NULL, NULL},
};
