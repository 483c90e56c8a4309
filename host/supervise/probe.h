/* SPDX-License-Identifier: Apache-2.0 */
/* probe: decides when a guest is asked for its health, and what follows from answers and from their
 * absence. At most one question of each kind is open. Pure: time and answers are arguments. */
#ifndef HOST_SUPERVISE_PROBE_H
#define HOST_SUPERVISE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

enum host_probe_kind { HOST_PROBE_STARTUP, HOST_PROBE_LIVENESS, HOST_PROBE_READINESS };
#define HOST_PROBE_KINDS 3

struct host_probe {
    struct rapahub_probe how;
    uint64_t due_ns;   /* time of the next question; HUB_NEVER: not now */
    uint64_t begun_ns; /* the time at which the question was due */
    /* time at which it fails without an answer; HUB_NEVER: no question is open */
    uint64_t judge_ns;
    bool open;                    /* the question was sent; otherwise there was no space for it */
    bool missed;                  /* failed for lack of an answer: a late answer does not count */
    bool last;                    /* the last look for an answer before that was made */
    uint32_t successes, failures; /* in a row */
};

struct host_probe_set {
    struct host_probe all[HOST_PROBE_KINDS];
    bool serves; /* it should get calls */
};

enum host_probe_news {
    HOST_PROBE_NONE,
    HOST_PROBE_STUCK,    /* the guest shall be killed, and no more questions are asked */
    HOST_PROBE_SERVES,   /* the guest gets calls, again or for the first time */
    HOST_PROBE_DEGRADED, /* the guest gets no new calls */
};

/* The probes of a life begin. If readiness depends on probes, the guest does not serve yet. */
void host_probe_begin(struct host_probe_set *set, const struct rapahub_supervision *how,
                      uint64_t now_ns);
void host_probe_end(struct host_probe_set *set);

/* The next step; call it again until there is none. */
enum host_probe_step {
    HOST_PROBE_REST,
    HOST_PROBE_ASK,  /* ask, then call host_probe_asked */
    HOST_PROBE_LOOK, /* receive the guest's messages: the answer may be among them */
    HOST_PROBE_MISS  /* call host_probe_missed */
};
enum host_probe_step host_probe_next(struct host_probe_set *set, uint64_t now_ns,
                                     enum host_probe_kind *kind);
uint64_t host_probe_due(const struct host_probe_set *set); /* HUB_NEVER: never */

/* The question was sent, or there is no space for it now. */
void host_probe_asked(struct host_probe_set *set, enum host_probe_kind kind, bool sent,
                      uint64_t now_ns);
enum host_probe_news host_probe_answered(struct host_probe_set *set, enum host_probe_kind kind,
                                         bool well, uint64_t now_ns);
enum host_probe_news host_probe_missed(struct host_probe_set *set, enum host_probe_kind kind,
                                       uint64_t now_ns);

/* If a step comes later than it was due by host_probe_interval, the host itself was stopped. Then
 * host_probe_forgive gives each open question its full time again and forgets failures in a row. */
uint64_t host_probe_interval(const struct host_probe_set *set);
void host_probe_forgive(struct host_probe_set *set, uint64_t now_ns);

#endif
