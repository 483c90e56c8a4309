/* SPDX-License-Identifier: Apache-2.0 */
/* report: what is known of the last ends of a child. A report is made at each end, completed by the
 * decision that follows, and kept over the lives of the child. Owner. */
#ifndef HOST_OBSERVE_REPORT_H
#define HOST_OBSERVE_REPORT_H

#include "host/process/end.h"
#include "host/process/guest.h"
#include "host/supervise/machine.h"

#define HOST_REPORT_KEPT 8

/* A life has ended, or (`life` NULL) could not begin. The guest is still in the state in which that
 * happened. Without memory no report is kept. */
void host_report_ended(struct host_guest *guest, struct host_life *life,
                       const struct host_end *end);

/* Completes the last report with the decision that follows the end. */
void host_report_decided(struct host_guest *guest, const struct host_decision *decision);

#endif
