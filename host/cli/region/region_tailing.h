/* SPDX-License-Identifier: Apache-2.0 */
/* region_tailing: what `rapahub region tail` is to do, of whichever kind the region is. */
#ifndef CLI_REGION_TAILING_H
#define CLI_REGION_TAILING_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/command/cli.h"
#include "hub/base/clock.h"

#define CLI_REGION_TAILING_AT_THE_END \
    (20 * HUB_MILLISECOND) /* a region that stays empty so long is at its end */

struct cli_region_tailing {
    bool follow;   /* beyond the end */
    bool after;    /* a message is acknowledged after it is written, else before */
    bool position; /* it is written, too */
    char end;      /* the byte after each message */
    uint64_t left; /* messages until the end; UINT64_MAX: no end */
};

/* Reads the options of the command. */
struct cli_region_tailing cli_region_tailing_read(const struct cli *cli);

/* Notes that a message was written. */
void cli_region_tailing_count(struct cli_region_tailing *tailing);

/* Says whether the result of a look means that there is nothing more. */
bool cli_region_tailing_is_empty(int r);

#endif
