/* SPDX-License-Identifier: Apache-2.0 */
/* run_anonymous: the guests that come to `rapahub run --anonymous` by themselves: each is given a
 * container and offered under its name, and told of when it comes and goes. */
#ifndef CLI_RUN_ANONYMOUS_H
#define CLI_RUN_ANONYMOUS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/control.h>

struct cli;

#define CLI_RUN_ANONYMOUS 255 /* a segment has no more entries */

struct cli_run_visitor {
    char name[64]; /* "": free */
    struct rapahub_guest_id guest;
    uint32_t pool;
    bool fresh, gone; /* work that is left until the host is not in a callback */
    char cause[256];
};

struct cli_run_anonymous {
    const struct cli *cli;
    struct rapahub_host *host;
    struct rapahub_control *control;
    uint32_t pools; /* the last number given */
    struct cli_run_visitor list[CLI_RUN_ANONYMOUS];
};

/* Inside of the host's callback: notes what is of a visitor, false for all else. */
bool cli_run_anonymous_take(struct cli_run_anonymous *visitors, const struct rapahub_event *event);

/* Outside of it: containers and names for those that came, an end for those that went. */
void cli_run_anonymous_settle(struct cli_run_anonymous *visitors);

#endif
