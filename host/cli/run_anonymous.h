/* SPDX-License-Identifier: Apache-2.0 */
/* run_anonymous: the anonymous guests of `rapahub run --anonymous`. Each gets a container, which is
 * offered under the guest's name; a line is printed when it comes and when it ends. */
#ifndef CLI_RUN_ANONYMOUS_H
#define CLI_RUN_ANONYMOUS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/control.h>

struct cli;

#define CLI_RUN_ANONYMOUS 255 /* the limit of a segment's entries */

struct cli_run_visitor {
    char name[64]; /* "": free */
    struct rapahub_guest_id guest;
    uint32_t pool;
    bool fresh, gone; /* to be handled outside of the host's callbacks */
    char cause[256];
};

struct cli_run_anonymous {
    const struct cli *cli;
    struct rapahub_host *host;
    struct rapahub_control *control;
    uint32_t pools; /* number of the last pool */
    struct cli_run_visitor list[CLI_RUN_ANONYMOUS];
};

/* Handles an event inside of the host's callback. False if it is not about an anonymous guest. */
bool cli_run_anonymous_take(struct cli_run_anonymous *visitors, const struct rapahub_event *event);

/* Finishes the work outside of the callback: makes containers and names for new guests, and removes
 * those that ended. */
void cli_run_anonymous_settle(struct cli_run_anonymous *visitors);

#endif
