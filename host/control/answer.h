/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the response of a control socket to each kind of request. */
#ifndef HOST_CONTROL_ANSWER_H
#define HOST_CONTROL_ANSWER_H

#include "host/control/server.h"

/* Carries out a request whose record shows the client's memory, and answers, or begins a call. */
void host_answer(struct rapahub_control *control, struct host_server_client *client,
                 enum host_frame_kind kind, const union host_frame_record *record);

/* Sends a client that asked for lines those it lacks, as long as it reads, and its end after the
 * one that was the newest when it asked, unless it follows. */
void host_answer_lines(struct rapahub_control *control, struct host_server_client *client);

#endif
