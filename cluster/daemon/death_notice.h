/* SPDX-License-Identifier: Apache-2.0 */
/* death_notice: tells the node that leads that a life of the daemon is over, with all that it left.
 * A process of its own does that, so that the warden does not wait for another machine.
 */
#ifndef DAEMON_DEATH_NOTICE_H
#define DAEMON_DEATH_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/daemon/report.h"

struct daemon_death_notice {
    struct daemon_report_life life; /* node 0: none is known */
    int pidfd;                      /* the process that tells; -1: there is none */
    uint64_t until_ns;              /* the next life waits for it so long */
};

void daemon_death_notice_init(struct daemon_death_notice *notice);

/* Begins to tell that the life is over, where another node leads; `data` is the data folder. The
 * life is forgotten. The process ends by itself, and with the warden, which has a single thread. */
void daemon_death_notice_begin(struct daemon_death_notice *notice, const char *data, bool final);

/* Says whether the next life is still to wait for it. */
bool daemon_death_notice_holds(const struct daemon_death_notice *notice, uint64_t now_ns);

/* Looks whether the process has ended. */
void daemon_death_notice_look(struct daemon_death_notice *notice);

/* Ends the process, if it is there, and waits for that. */
void daemon_death_notice_end(struct daemon_death_notice *notice);

#endif
