/* SPDX-License-Identifier: Apache-2.0 */
/* upgrading: a ledger that is upgraded, and what it says of itself. */
#ifndef TESTS_INTEGRATION_UPGRADING_H
#define TESTS_INTEGRATION_UPGRADING_H

#include <rapahub/supervise.h>
#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"

#define LEDGER  MODULE("ledger")
#define LEDGER2 MODULE("ledger2")
#define MS      UINT64_C(1000000)

enum fault {
    SAVE_FAILS = 6,
    SAVE_DIES,
    PLUG_DIES,
    FINI_LASTS = 12
}; /* the same as in modules/ledger.c */

UNUSED static const struct rapahub_container_id there = {.pool = {2, 0}};

static struct rapahub_upgrade_result result;

UNUSED static void open_ledger(struct hosting *on)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start(on, LEDGER, here, NULL));
}

UNUSED static int upgrade(struct hosting *on, const char *chimod)
{
    const struct rapahub_upgrade_options options = {.chimod = chimod};
    int r = rapahub_host_upgrade(on->host, on->guest, &options, &result);

    if (r == 0)
        on->guest = result.guest;
    return r;
}

/* Calls a method that takes a u64, or nothing (`argument` NULL). */
UNUSED static uint32_t number_of(struct hosting *on, struct rapahub_container_id where,
                                 const char *method, const void *argument)
{
    static const struct rapahub_type *const of_none[] = {&rapahub_type_u32, NULL};
    static const struct rapahub_type *const of_one[] = {&rapahub_type_u32, &rapahub_type_u64, NULL};
    const struct rapahub_call call = {.target = where,
                                      .method = method,
                                      .types = argument ? of_one : of_none,
                                      .arguments = (const void *const[]){argument, NULL}};
    uint32_t number = 77777;

    assert_done(rapahub_host_call(on->host, &call, &number));
    return number;
}

UNUSED static uint32_t version(struct hosting *on)
{
    return number_of(on, here, "version", NULL);
}

UNUSED static uint32_t enter(struct hosting *on, uint64_t number)
{
    return number_of(on, here, "enter", &number);
}

UNUSED static uint32_t count(struct hosting *on, uint64_t number)
{
    return number_of(on, here, "count", &number);
}

UNUSED static void be(struct hosting *on, uint32_t fault)
{
    assert_done(ask(on, "be(u32)", (const void *const[]){&fault, NULL}, NULL));
}

UNUSED static int upgrade_within(struct hosting *on, const char *chimod, uint64_t timeout,
                                 uint64_t hold)
{
    const struct rapahub_upgrade_options options = {
        .chimod = chimod, .timeout_ns = timeout, .hold_ns = hold};

    return rapahub_host_upgrade(on->host, on->guest, &options, &result);
}

#endif
