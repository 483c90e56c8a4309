/* SPDX-License-Identifier: Apache-2.0 */
/* ticket: what a spawned guest is told on its command line. r[impl shm.spawn.args] */
#ifndef HUB_WIRE_TICKET_H
#define HUB_WIRE_TICKET_H

#include <stdint.h>

#define HUB_TICKET_PATH_MAX      4096
#define HUB_TICKET_ARGUMENTS     7
#define HUB_TICKET_ARGUMENT_SIZE (HUB_TICKET_PATH_MAX + 16)

struct hub_ticket {
    const char *hub_path; /* into the arguments, or the caller's */
    uint32_t peer;        /* 1 to 255; 0: no ticket */
    int doorbell;         /* descriptor; -1: no ticket */
    int module;           /* descriptor of the module; -1: absent (--module-fd) */
    const char *name;     /* of the module's file, for messages; NULL: absent (--module-name) */
    uint32_t waiting;     /* 0: as it sees fit; 1 poll, 2 sleep, 3 bell (--waiting) */
};

/* Reads the arguments, in any order; the last one of a name wins; unknown ones are ignored.
 * RAPAHUB_EFORMAT names the argument that is missing or malformed. */
int hub_ticket_parse(int count, char *const *arguments, struct hub_ticket *out);

/* The same; or, where neither --peer-id nor --doorbell-fd is given, no ticket but the path of a
 * segment, for a guest that its host did not start: peer 0, doorbell and module -1. */
int hub_ticket_parse_path(int count, char *const *arguments, struct hub_ticket *out);

/* The arguments as text, one allocation each, ended by NULL in `out`, which has room for
 * HUB_TICKET_ARGUMENTS + 1. -ENOMEM. */
int hub_ticket_print(const struct hub_ticket *ticket, char **out);

#endif
