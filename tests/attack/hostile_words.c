/* SPDX-License-Identifier: Apache-2.0 */
/* hostile words: the words of its entry a guest may write, and those it should not. */
#include <stdlib.h>
#include <time.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define HOUR_NS   UINT64_C(3600000000000)
#define SECOND_NS UINT64_C(1000000000)
#define STORM     200000

/* Nothing that comes later shall mend what was done. */
static void stay(void)
{
    for (;;)
        pause_ms(1000);
}

/* A word, and then the host's attention. */
static void write_word(struct raw_link *link, uint64_t at, uint32_t value)
{
    raw_store32(link->base, at, value);
    raw_wait_ring(link);
    stay();
}

static void head_max(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->out_head, 0xffffffff);
}

static void head_far(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->out_head, link->head + link->ring_size);
}

static void head_back(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->out_head, link->head - 1);
}

/* The host looks at a tail only where its ring seems full, and nothing is taken from now on. */
static void tail_max(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->in_tail, 0xffffffff);
}

static void tail_far(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->in_tail, link->tail + link->ring_size);
}

static void tail_back(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->in_tail, link->tail - link->ring_size / 2);
}

static void state_77(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->entry, 77);
}

static void state_empty(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->entry, 0);
}

static void state_reserved(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->entry, 3);
}

static void epoch_up(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    write_word(link, link->entry + 4, link->epoch + 1);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void beat_ahead(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    raw_store64(link->base, link->entry + 24, now_ns() + HOUR_NS);
}

static void beat_max(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    raw_store64(link->base, link->entry + 24, UINT64_MAX);
}

/* Each is later than the one before, and an hour old, or half as old as the machine: for 3 s. */
static void beat_stale(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    for (int i = 0; i < 300; i++) {
        uint64_t now = now_ns();

        raw_store64(link->base, link->entry + 24, now > 2 * HOUR_NS ? now - HOUR_NS : now / 2);
        pause_ms(10);
    }
}

/* First the host must have seen one. */
static void beat_back(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    raw_guest_heartbeat(link);
    pause_ms(800);
    raw_store64(link->base, link->entry + 24, now_ns() - 10 * SECOND_NS);
}

/* The header, the host's own words, the geometry: what the host wrote it never reads again. */
static void overwrite(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    for (uint64_t at = 8; at < 128; at += 4)
        if (at != 68)
            raw_store32(link->base, at, 0xdeadbeef);
    for (uint64_t at = 32; at < 56; at += 8)
        raw_store64(link->base, link->entry + at, UINT64_MAX);
    raw_store32(link->base, link->out_tail, 0x12345678);
    raw_store32(link->base, link->in_head, 0x87654321);
    raw_wait_ring(link);
    stay();
}

/* Both wait words, as fast as it can. */
static void wait_storm(struct raw_link *link, const struct raw_message *request)
{
    uint32_t own = raw_load32(link->base, link->own_wait);

    (void)request;
    for (unsigned i = 0; i < STORM; i++) {
        raw_store32(link->base, link->own_wait, i * 2654435761u);
        raw_store32(link->base, link->peer_wait, i * 2246822519u);
    }
    raw_store32(link->base, link->own_wait, own);
}

static void bell_storm(struct raw_link *link, const struct raw_message *request)
{
    (void)request;
    for (unsigned i = 0; i < STORM; i++)
        raw_wait_ring(link);
}

/* For half a second: as often as a doorbell may be rung, and far more often than it is heard. */
static void bell_flood(struct raw_link *link, const struct raw_message *request)
{
    uint64_t end = now_ns() + SECOND_NS / 2;

    (void)request;
    while (now_ns() < end)
        for (unsigned i = 0; i < 100; i++)
            raw_wait_ring(link);
}

const struct hostile hostile_words[] = {
    {"head_max", head_max},
    {"head_far", head_far},
    {"head_back", head_back},
    {"tail_max", tail_max},
    {"tail_far", tail_far},
    {"tail_back", tail_back},
    {"state_77", state_77},
    {"state_empty", state_empty},
    {"state_reserved", state_reserved},
    {"epoch_up", epoch_up},
    {"beat_ahead", beat_ahead},
    {"beat_max", beat_max},
    {"beat_stale", beat_stale},
    {"beat_back", beat_back},
    {"overwrite", overwrite},
    {"wait_storm", wait_storm},
    {"bell_storm", bell_storm},
    {"bell_flood", bell_flood},
    {NULL, NULL},
};
