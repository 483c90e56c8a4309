/* SPDX-License-Identifier: Apache-2.0 */
/* step_ends: steps without a wait, and the ends that were told. */
#ifndef TESTS_UNIT_HOST_CONTAINER_STEP_ENDS_H
#define TESTS_UNIT_HOST_CONTAINER_STEP_ENDS_H

#include <rapahub/lifecycle.h>

#include "host/owner/detached.h"
#include "tests/unit/host-container/answering.h"

#define MOST 8

/* The ends that were told, in their order. */
struct ends {
    struct answering *answering;
    int codes[MOST];
    uint64_t numbers[MOST]; /* 0: no result */
    unsigned count;
    bool goes_on; /* the next end begins another step */
};

FLOOR_UNUSED static void on_done(void *user, int status, const void *result)
{
    struct ends *ends = user;
    const struct rapahub_step step = {.target = stage_here, .on_done = on_done, .user = ends};

    assert_true(ends->count < MOST);
    ends->numbers[ends->count] = result ? *(const uint64_t *)result : 0;
    ends->codes[ends->count++] = status;
    if (!ends->goes_on)
        return;
    ends->goes_on = false;
    assert_int_equal(
        rapahub_host_drain_async(answering_handle(&ends->answering->stage->host), &step), 0);
}

FLOOR_UNUSED static struct ends open_ends(void)
{
    return (struct ends){.answering = answering_open()};
}

FLOOR_UNUSED static struct rapahub_host *handle(const struct ends *ends)
{
    return answering_handle(&ends->answering->stage->host);
}

FLOOR_UNUSED static struct rapahub_step within(struct ends *ends, uint64_t timeout_ns)
{
    return (struct rapahub_step){
        .target = stage_here, .timeout_ns = timeout_ns, .on_done = on_done, .user = ends};
}

/* Turns until so many ends were told, or for a second. */
FLOOR_UNUSED static void turn_until(struct ends *ends, unsigned count)
{
    struct host_owner *owner = HOST_OWNER(&ends->answering->stage->host);
    uint64_t end = hub_clock_after(HUB_SECOND);

    while (ends->count < count && hub_clock_left(end) > 0) {
        (void)answering_until(owner, 0);
        (void)host_detached_settle(owner);
    }
    assert_int_equal(ends->count, count);
}

FLOOR_UNUSED static void close_ends(struct ends *ends)
{
    assert_true(hub_list_empty(&HOST_OWNER(&ends->answering->stage->host)->detached));
    answering_close(ends->answering);
}

#endif
