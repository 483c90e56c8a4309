/* SPDX-License-Identifier: Apache-2.0 */
/* frame: the messages on a control socket: a length, little-endian, 32 bits; then POSTCARD: the
 * kind as a varint, and the record of that kind.
 *
 * A request is answered by any number of items and then DONE or FAILED. Requests come one at a
 * time; only CANCEL may follow a CALL, and it has no answer of its own. Each side considers the
 * other hostile: lengths are bounded, and every record is checked to its end. */
#ifndef HOST_CONTROL_FRAME_H
#define HOST_CONTROL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"
#include "hub/base/closer.h"

#define HOST_FRAME_MAX     ((size_t)1 << 20) /* bytes of a frame after its length */
#define HOST_FRAME_FDS     16                /* descriptors with a request: its streams */
#define HOST_FRAME_PENDING ((size_t)4 << 20) /* bytes that may wait for a reader */

enum host_frame_kind {
    /* requests */
    HOST_FRAME_LIST,    /* control_none: GUEST for each */
    HOST_FRAME_METHODS, /* control_name: SIGNATURE for each */
    HOST_FRAME_CALL,    /* control_call: RESULT */
    HOST_FRAME_CANCEL,  /* control_none */
    HOST_FRAME_STOP,    /* control_name; "": the host */
    HOST_FRAME_KILL,    /* control_name */
    HOST_FRAME_LOGS,    /* control_logs: LINE for each */
    HOST_FRAME_STATS,   /* control_name; "": all guests: FIGURE for each of each */
    HOST_FRAME_TREE,    /* control_none: CHILD for each, supervisors before their children */
    HOST_FRAME_RESTART, /* control_name */
    HOST_FRAME_UPGRADE, /* control_upgrade: UPGRADED */
    HOST_FRAME_REQUESTS,
    /* answers */
    HOST_FRAME_DONE = HOST_FRAME_REQUESTS, /* control_none */
    HOST_FRAME_FAILED,                     /* control_failure */
    HOST_FRAME_GUEST,                      /* control_guest */
    HOST_FRAME_SIGNATURE,                  /* control_name */
    HOST_FRAME_RESULT,                     /* control_result */
    HOST_FRAME_LINE,                       /* control_line */
    HOST_FRAME_FIGURE,                     /* control_figure */
    HOST_FRAME_CHILD,                      /* control_child */
    HOST_FRAME_UPGRADED,                   /* control_upgraded */
    HOST_FRAME_COUNT
};

struct control_none {
    uint8_t version; /* 1 */
};

struct control_name {
    struct rapahub_string name;
};

struct control_call {
    struct rapahub_string guest, signature;
    uint32_t container;
    uint64_t timeout_ns;
    struct rapahub_bytes arguments; /* a POSTCARD tuple; a stream is the index of its descriptor */
};

struct control_logs {
    uint64_t since_ns; /* not older than this; UINT64_MAX: all */
    uint8_t level;     /* enum rapahub_log_level: these and graver */
    bool follow;       /* never DONE */
};

struct control_upgrade {
    struct rapahub_string guest, chimod;
    uint64_t timeout_ns;
    bool check;
};

struct control_failure {
    int32_t code, application;
    struct rapahub_string rule, text;
};

struct control_guest {
    struct rapahub_string name, state, chimod, version, host;
    uint64_t group, uptime_ns, calls, resident_bytes, violations;
    uint32_t epoch, peer, restarts;
    int32_t pid;
    uint8_t trust;
};

struct control_result {
    struct rapahub_bytes payload;
    uint32_t epoch, peer;
    int32_t pid;
};

struct control_line {
    uint64_t time_ns; /* wall clock */
    uint8_t level;
    struct rapahub_string topic, text;
};

struct control_figure {
    struct rapahub_string guest, name, rule;
    bool gauge;
    uint64_t value;
};

struct control_child {
    struct rapahub_string name, state;
    uint32_t number, parent; /* parent 0: it has none */
    bool is_supervisor;
    uint8_t strategy; /* enum rapahub_strategy */
    int32_t pid;      /* 0: none */
    uint64_t incarnation, due_ns;
    uint32_t restarts, failures, failures_max;
};

struct control_upgraded {
    struct rapahub_string before, after; /* versions */
    uint64_t start_ns, blackout_ns, calls_held, state_bytes;
    uint32_t containers, methods_kept, methods_new, methods_lost;
};

/* A record of any kind. Its views point into the frame from which it was decoded. */
union host_frame_record {
    struct control_none none;
    struct control_name name;
    struct control_call call;
    struct control_logs logs;
    struct control_upgrade upgrade;
    struct control_failure failure;
    struct control_guest guest;
    struct control_result result;
    struct control_line line;
    struct control_figure figure;
    struct control_child child;
    struct control_upgraded upgraded;
};

/* The buffer of one direction. */
struct host_frame_buffer {
    uint8_t *data;
    size_t start, size, capacity; /* first byte that is not consumed yet: data[start .. size) */
    /* Descriptors: received ones belong to this buffer until host_frame_close; the ones to be sent
     * with the next byte stay the caller's. */
    int fds[HOST_FRAME_FDS];
    unsigned fds_count;
    struct hub_closer *closer; /* closes received ones; NULL: none are accepted from this peer */
};

void host_frame_fini(struct host_frame_buffer *buffer);

/* Passes received descriptors that no request used to the closer. */
void host_frame_close(struct host_frame_buffer *buffer);

/* Adds a frame with the record of its kind. -ENOMEM; -EMSGSIZE if the frame or all pending bytes
 * would be too large; -EINVAL for text that is not UTF-8. A failure adds nothing. */
int host_frame_put(struct host_frame_buffer *buffer, enum host_frame_kind kind, const void *record);

/* Decodes the first complete frame: 1; 0 if there is none yet; RAPAHUB_EPROTOCOL if its kind is not
 * at least `first` and below `end`. */
int host_frame_decode(struct host_frame_buffer *buffer, enum host_frame_kind first,
                      enum host_frame_kind end, union host_frame_record *out);

/* Return the kind of the first frame, which must be complete; and remove it. */
enum host_frame_kind host_frame_kind(const struct host_frame_buffer *buffer);
void host_frame_drop(struct host_frame_buffer *buffer);

/* Read what the socket has; write what it accepts. 1 if bytes were moved, 0 if none could be;
 * RAPAHUB_ECLOSED at its end, -errno. Neither waits. */
int host_frame_fill(struct host_frame_buffer *buffer, int fd);
int host_frame_flush(struct host_frame_buffer *buffer, int fd);

bool host_frame_pending(const struct host_frame_buffer *buffer);

#endif
