/* SPDX-License-Identifier: Apache-2.0 */
/* report: what the daemon tells its warden, as messages through a pair of sockets that only these
 * two have. The warden is the main process of the service, and passes it on. Nothing waits: what a
 * warden that is stopped does not take is lost. */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#define DAEMON_REPORT_TEXT 200 /* bytes of a text, with its end */

enum daemon_report_kind {
    DAEMON_REPORT_READY = 1, /* it serves */
    DAEMON_REPORT_TURN,      /* its loop turns */
    DAEMON_REPORT_STOPPING,  /* it ends in order */
    DAEMON_REPORT_STATUS,    /* a line for people */
    DAEMON_REPORT_LIFE       /* which node it is, and in which life */
};

/* A life of the daemon, as its warden is to know it, to tell its death. */
struct daemon_report_life {
    uint32_t node, boot;
    uint64_t session;
    char leader[160]; /* HOST:PORT of the node that leads; "": it is this one */
};

struct daemon_report {
    enum daemon_report_kind kind;
    char text[DAEMON_REPORT_TEXT]; /* STATUS: printable; else "" */
    struct daemon_report_life life;
};

int daemon_report_open(int ends[2]);

/* `text` NULL: none. A text that is too long is cut. */
void daemon_report_send(int end, enum daemon_report_kind kind, const char *text);

void daemon_report_send_life(int end, const struct daemon_report_life *life);

/* Takes one. 1; 0: there is none now; -EPIPE: there will be none any more. A message that is none
 * of these is passed over. */
int daemon_report_take(int end, struct daemon_report *out);

#endif
