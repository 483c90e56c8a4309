/* SPDX-License-Identifier: Apache-2.0 */
/* probe: when a guest is asked how it is, and what follows from its answers and from their absence.
 * Of each kind at most one question is open. Pure: time and answers are given. */
#ifndef HOST_SUPERVISE_PROBE_H
#define HOST_SUPERVISE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

enum host_probe_kind { HOST_PROBE_STARTUP, HOST_PROBE_LIVENESS, HOST_PROBE_READINESS };
#define HOST_PROBE_KINDS 3

struct host_probe {
    struct rapahub_probe how;
    uint64_t due_ns;              /* it is asked then; HUB_NEVER: not now */
    uint64_t begun_ns;            /* it was to be asked since then */
    uint64_t judge_ns;            /* without an answer it fails then; HUB_NEVER: nothing is open */
    bool open;                    /* it was asked; else there was no room for the question */
    bool missed;                  /* and failed for lack of an answer: a late one does not count */
    bool last;                    /* looked for an answer once more before that */
    uint32_t successes, failures; /* in a row */
};

struct host_probe_set {
    struct host_probe all[HOST_PROBE_KINDS];
    bool serves; /* it is to get calls */
};

enum host_probe_news {
    HOST_PROBE_NONE,
    HOST_PROBE_STUCK,    /* it is to be killed, and nothing more is asked */
    HOST_PROBE_SERVES,   /* it gets calls, again or for the first time */
    HOST_PROBE_DEGRADED, /* it gets no new ones */
};

/* A life begins to be asked; where it is ready by its probes it does not serve yet. */
void host_probe_begin(struct host_probe_set *set, const struct rapahub_supervision *how,
                      uint64_t now_ns);
void host_probe_end(struct host_probe_set *set);

/* What is to be done now: called again until there is nothing. */
enum host_probe_step {
    HOST_PROBE_REST,
    HOST_PROBE_ASK,  /* then host_probe_asked */
    HOST_PROBE_LOOK, /* take what it sent: the answer may be there */
    HOST_PROBE_MISS  /* then host_probe_missed */
};
enum host_probe_step host_probe_next(struct host_probe_set *set, uint64_t now_ns,
                                     enum host_probe_kind *kind);
uint64_t host_probe_due(const struct host_probe_set *set); /* HUB_NEVER: nothing ever */

/* It was sent, or there is no room for it now. */
void host_probe_asked(struct host_probe_set *set, enum host_probe_kind kind, bool sent,
                      uint64_t now_ns);
enum host_probe_news host_probe_answered(struct host_probe_set *set, enum host_probe_kind kind,
                                         bool well, uint64_t now_ns);
enum host_probe_news host_probe_missed(struct host_probe_set *set, enum host_probe_kind kind,
                                       uint64_t now_ns);

/* A look so much later than it was due shows that the host stood still. Then: whoever is to answer
 * has the time anew, and failures in a row are none. */
uint64_t host_probe_interval(const struct host_probe_set *set);
void host_probe_forgive(struct host_probe_set *set, uint64_t now_ns);

#endif
