/* SPDX-License-Identifier: Apache-2.0 */
/* datagram: what nodes tell each other of who is alive. The clear header names the sender and what
 * its key was made with; the payload after it is sealed elsewhere. Little-endian.
 */
#ifndef CLUSTER_WIRE_DATAGRAM_H
#define CLUSTER_WIRE_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_DATAGRAM_MAX         1400 /* bytes in all */
#define CLUSTER_DATAGRAM_CLEAR       32   /* bytes of the clear header */
#define CLUSTER_DATAGRAM_SALT        16
#define CLUSTER_DATAGRAM_TAG         16 /* bytes after the payload that prove it */
#define CLUSTER_DATAGRAM_UPDATE      21 /* bytes of an update */
#define CLUSTER_DATAGRAM_HEAD        32 /* bytes of a payload before its updates */
#define CLUSTER_DATAGRAM_SESSION     16 /* where in a payload the sender's session is, 8 bytes */
#define CLUSTER_DATAGRAM_UPDATES_MAX 62
#define CLUSTER_DATAGRAM_PAYLOAD_MAX \
    (CLUSTER_DATAGRAM_HEAD + CLUSTER_DATAGRAM_UPDATES_MAX * CLUSTER_DATAGRAM_UPDATE)

_Static_assert(CLUSTER_DATAGRAM_CLEAR + CLUSTER_DATAGRAM_PAYLOAD_MAX + CLUSTER_DATAGRAM_TAG <=
                   CLUSTER_DATAGRAM_MAX,
               "a datagram fits a packet");

struct cluster_datagram_clear {
    uint8_t key;   /* number of the key in the ring */
    uint16_t size; /* bytes after the clear header */
    uint32_t node; /* that sends it */
    uint8_t salt[CLUSTER_DATAGRAM_SALT];
    uint64_t counter; /* never used twice with one salt */
};

enum cluster_datagram_type {
    CLUSTER_DATAGRAM_PING = 1,
    CLUSTER_DATAGRAM_ACK,     /* `target` has answered the probe `sequence` */
    CLUSTER_DATAGRAM_REQUEST, /* the receiver is to probe `target` for the sender */
    CLUSTER_DATAGRAM_NACK,    /* it has not answered so far */
    CLUSTER_DATAGRAM_GOSSIP,  /* updates alone */
    CLUSTER_DATAGRAM_TYPES
};

enum cluster_datagram_state { /* in an update */
                              CLUSTER_DATAGRAM_ALIVE = 1,
                              CLUSTER_DATAGRAM_SUSPECTED,
                              CLUSTER_DATAGRAM_DEAD,
                              CLUSTER_DATAGRAM_LEFT,
                              CLUSTER_DATAGRAM_STATES
};

/* News of a member in its life `session`. */
struct cluster_update {
    uint32_t id;
    uint64_t session;
    uint32_t refutations;
    uint32_t from; /* the member that found it so */
    uint8_t state; /* enum cluster_datagram_state */
};

struct cluster_datagram {
    uint8_t type;   /* enum cluster_datagram_type */
    uint8_t health; /* local health of the sender, 0 to 8 */
    uint8_t updates_count;
    uint32_t sequence;
    uint32_t target;
    uint32_t refutations; /* the sender's, in its life `session` */
    uint64_t session;
    uint64_t revision; /* the sender's map has it */
    struct cluster_update updates[CLUSTER_DATAGRAM_UPDATES_MAX];
};

void cluster_datagram_write_clear(const struct cluster_datagram_clear *clear,
                                  uint8_t to[CLUSTER_DATAGRAM_CLEAR]);

/* Reads the clear header of a datagram of `size` bytes, which anybody may have sent.
 * RAPAHUB_EPROTOCOL: it is none. */
int cluster_datagram_read_clear(const uint8_t *from, size_t size,
                                struct cluster_datagram_clear *out);

/* Says whether an update that another node wrote can be news of a member. */
bool cluster_datagram_update_is_sound(const struct cluster_update *update);

/* Writes a payload and returns its bytes. */
size_t cluster_datagram_write(const struct cluster_datagram *datagram,
                              uint8_t to[CLUSTER_DATAGRAM_PAYLOAD_MAX]);

/* Reads a payload as a whole. RAPAHUB_EPROTOCOL: some of it is not sound. */
int cluster_datagram_read(const uint8_t *from, size_t size, struct cluster_datagram *out);

#endif
