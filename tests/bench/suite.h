/* SPDX-License-Identifier: Apache-2.0 */
/* suite: what all parts of the benchmark share: a subject, which is what one trial measures, and
 * the tables of them. Rows, which are ratios of subjects, are in gates.h. */
#ifndef TESTS_BENCH_SUITE_H
#define TESTS_BENCH_SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/trial.h"

enum suite_mode { SUITE_ADAPT, SUITE_POLL, SUITE_SLEEP, SUITE_BELL };
enum suite_place { SUITE_CROSS, SUITE_SAME, SUITE_FREE };

struct suite_options {
    double trial_ms;
    bool fifo;     /* polling trials may run with real-time priority */
    double idle_s; /* how long the idle rows look on */
};

/* A subject's `run`: 0; SUITE_NOT_HERE with trial->why, where this cannot be measured; or less than
 * 0, with the reason on standard error. */
#define SUITE_NOT_HERE        1
#define SUITE_STATUS_NOT_HERE 77 /* the exit status of that */

struct suite_subject {
    const char *id, *what;
    int (*run)(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out);
    enum suite_mode mode;
    enum suite_place place;
    uint32_t kind;   /* chooses the variant within its file */
    uint32_t size;   /* bytes of payload */
    uint32_t guests; /* or threads */
    uint32_t rounds; /* at most, where it takes long; 0: all */
};

/* Each ends with an empty one. */
extern const struct suite_subject bases_subjects[], calls_subjects[], streams_subjects[],
    threads_subjects[], guests_subjects[], idle_subjects[], processes_subjects[], exact_subjects[],
    peers_subjects[], direct_subjects[], starts_subjects[], storm_subjects[], pinned_subjects[],
    ring_subjects[], node_calls_subjects[], node_copies_subjects[], node_lives_subjects[],
    node_store_subjects[], node_tls_subjects[];

const char *suite_mode_name(enum suite_mode mode);
const char *suite_place_name(enum suite_place place);

/* Return the n-th of all subjects, NULL after the last, and a subject by its id. */
const struct suite_subject *suite_at(unsigned index);
const struct suite_subject *suite_find(const char *id);

#endif
