/* SPDX-License-Identifier: Apache-2.0 */
/* model: the rules of OTP's supervisors and ours, in their simplest form: sequential, each group
 * stopped and started by a loop, each window counted again from a list of all failures. It shares
 * no code with the implementation that it is compared to. */
#ifndef TESTS_SIMULATION_MODEL_H
#define TESTS_SIMULATION_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

#define NODES    24
#define FAILURES 4096
#define ACTS     512

enum fate { DOWN, UP, PARKED, GONE };

/* The nodes from which both are made. */
struct node {
    int parent; /* -1: the root */
    bool supervisor, significant;
    enum rapahub_strategy strategy;
    enum rapahub_auto_shutdown shuts;
    enum rapahub_restart restart;
    int max;         /* its own budget, as a child */
    int limit;       /* of a supervisor's children; -1: none */
    uint64_t period; /* of both budgets */
    enum rapahub_exhausted policy, group_policy;
};

/* The model's own memory. */
struct memory {
    enum fate fate;
    bool wanted;
    bool ready; /* a supervisor's: it was complete once since it started */
    uint64_t failures[FAILURES], group[FAILURES];
    int failures_count, group_count;
};

struct trace {
    char acts[ACTS]; /* 'A' + node started, 'a' + node stopped */
    int count;
};

struct model {
    uint64_t now;
    int count; /* parents come before their children; the first one is the root */
    struct node nodes[NODES];
    struct memory memory[NODES];
    struct trace trace;
    int fail_starts; /* so many of the next starts fail */
    int starts_seen;
};

/* A life of it has ended. */
void model_fail(struct model *model, int node, enum rapahub_exit_class class, int status);

/* Starts everything that should run, one after the other. */
void model_start_all(struct model *model);

void model_note(struct trace *trace, int node, bool start);
bool model_is_ordered(const struct node *node);

#endif
