/* SPDX-License-Identifier: Apache-2.0 */
/* stage: a host with guests that serve the methods of bench_chimod.c, where and how a subject wants
 * them; all through the public interface. */
#ifndef TESTS_BENCH_STAGE_H
#define TESTS_BENCH_STAGE_H

#include <rapahub/host.h>

#include "tests/bench/suite.h"

#define STAGE_GUESTS_MAX 255

struct stage {
    struct rapahub_host *host;
    struct rapahub_guest_id guests[STAGE_GUESTS_MAX];
    struct rapahub_container_id containers[STAGE_GUESTS_MAX];
    pid_t pids[STAGE_GUESTS_MAX]; /* 0: unknown */
    uint32_t count;
};

struct stage_options {
    struct rapahub_host_options host; /* options that differ from the defaults */
    enum rapahub_trust trust;
    const struct rapahub_supervision *supervision;
    uint32_t guests;             /* 0 is 1 */
    bool nobody;                 /* the host alone */
    bool as_it_is;               /* where both sides run the caller sees to itself */
    struct rapahub_bytes params; /* parameters of the containers */
};

/* 0; SUITE_NOT_HERE with trial->why; or less than 0, said on standard error. stage_close in every
 * case. Trusted guests where `options` is NULL. */
int stage_open(const struct suite_subject *subject, const struct stage_options *options,
               struct trial *out, struct stage *stage);
void stage_close(struct stage *stage);

/* From now on a stage waits for one guest that is started elsewhere, at this path. `note`: a file
 * for the bounds of the segment and trial_mark; or NULL. */
void stage_attached(const char *path, const char *note);

/* Adds a guest with its container. */
int stage_add(struct stage *stage, const struct stage_options *options);

/* Dispatches until `holds` (NULL: never), which is 1, or for so long, which is 0; or less than 0.
 */
int stage_dispatch(struct stage *stage, bool (*holds)(void), double ms);

/* Says on standard error what failed; returns `code`. */
int stage_failed(const char *what, int code);

/* For trial->why; returns SUITE_NOT_HERE. */
int stage_not_here(struct trial *out, const char *why);

#endif
