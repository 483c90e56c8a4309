/* SPDX-License-Identifier: Apache-2.0 */
/* ticket: the command line arguments of a spawned guest. r[impl shm.spawn.args] */
#ifndef HUB_WIRE_TICKET_H
#define HUB_WIRE_TICKET_H

#include <stdint.h>

#define HUB_TICKET_PATH_MAX      4096
#define HUB_TICKET_ARGUMENTS     7
#define HUB_TICKET_ARGUMENT_SIZE (HUB_TICKET_PATH_MAX + 16)

struct hub_ticket {
    const char *hub_path; /* in the arguments, or the caller's */
    uint32_t peer;        /* 1 to 255; 0: no ticket */
    int doorbell;         /* descriptor; -1: no ticket */
    int module;           /* descriptor of the module; -1: absent (--module-fd) */
    const char *name;     /* file name of the module, for messages; NULL: absent (--module-name) */
    /* way of waiting; 0: the guest chooses; 1 poll, 2 sleep, 3 bell (--waiting) */
    uint32_t waiting;
};

/* Parses the arguments in any order. The last one of a name counts, and unknown ones are ignored.
 * RAPAHUB_EFORMAT with a text that names the missing or malformed argument. */
int hub_ticket_parse(int count, char *const *arguments, struct hub_ticket *out);

/* The same, but if neither --peer-id nor --doorbell-fd is given, there is no ticket, only the path
 * of a segment, for a guest that its host did not start: peer 0, doorbell and module -1. */
int hub_ticket_parse_path(int count, char *const *arguments, struct hub_ticket *out);

/* Makes the arguments, each allocated separately, and ends them with NULL. `out` needs space for
 * HUB_TICKET_ARGUMENTS + 1 of them. -ENOMEM. */
int hub_ticket_print(const struct hub_ticket *ticket, char **out);

#endif
