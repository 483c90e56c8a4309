/* SPDX-License-Identifier: Apache-2.0 */
/* run_events: events of the guests of `rapahub run`, printed as lines or as objects. */
#ifndef CLI_RUN_EVENTS_H
#define CLI_RUN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/host.h>

struct cli;
struct cli_run_anonymous;

#define CLI_RUN_NAME 64

/* A guest, over all its lives. */
struct cli_run_guest {
    const char *file;
    char name[CLI_RUN_NAME];
    enum rapahub_trust trust;
    uint64_t period_ns; /* the period of its budget */
    uint64_t began_ns;  /* start of the current launch; 0: unknown */
    bool lazy;          /* it starts on demand */
    bool started;       /* it was ready once */
    unsigned down; /* number of its last death among all deaths, until its consequence is known;
                      else 0 */
    bool ended;    /* its last life has ended */
    bool failed;   /* it is not started again */
    char cause[512];
    uint64_t uptime_ns;
    uint32_t calls_lost;
};

struct cli_run_events {
    const struct cli *cli;
    struct rapahub_host *host;
    enum rapahub_trust trust; /* for a guest that is not listed */
    unsigned count;
    struct cli_run_guest *guests;
    unsigned downs; /* deaths */
    /* The last guest that ended without a request and was not restarted; NULL: none. */
    const struct cli_run_guest *culprit;
    struct cli_run_anonymous *visitors; /* anonymous guests; NULL: not allowed */
};

/* Adds a guest that starts, to `guests`, which has space for it. */
struct cli_run_guest *cli_run_events_add(struct cli_run_events *events, const char *name,
                                         const char *file, enum rapahub_trust trust,
                                         const struct rapahub_supervision *how);

/* For rapahub_host_options.on_event; `user` is a struct cli_run_events. */
void cli_run_events_take(void *user, const struct rapahub_event *event);

/* Prints the deaths that had no consequence: guests that were stopped. */
void cli_run_events_settle(struct cli_run_events *events);

#endif
