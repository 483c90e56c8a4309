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
    uint64_t period_ns; /* its budget's */
    uint64_t began_ns;  /* when its present start began; 0: unknown */
    bool lazy;          /* when it starts is not known before */
    bool started;       /* it was ready once */
    unsigned down;      /* it died as so-and-so-many-eth, and what follows is not known yet; 0 */
    bool ended;         /* its last life has */
    bool failed;        /* it is not started again */
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
    /* The last that ended otherwise than it was asked to, and was not started again; NULL: none. */
    const struct cli_run_guest *culprit;
    struct cli_run_anonymous *visitors; /* that come by themselves; NULL: none may */
};

/* For rapahub_host_options.on_event; `user` is a struct cli_run_events. */
void cli_run_events_take(void *user, const struct rapahub_event *event);

/* Prints the deaths that had no consequence: guests that were stopped. */
void cli_run_events_settle(struct cli_run_events *events);

#endif
