/* SPDX-License-Identifier: Apache-2.0 */
/* host_port: addresses of nodes in a network, as people write them: HOST or HOST:PORT, where HOST
 * is a name, 192.0.2.7, or [2001:db8::7].
 */
#ifndef CLUSTER_LINK_HOST_PORT_H
#define CLUSTER_LINK_HOST_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define CLUSTER_HOST_PORT_DEFAULT 9413
#define CLUSTER_HOST_PORT_HOST    254 /* bytes of a name, with its end */
#define CLUSTER_HOST_PORT_TEXT    64  /* bytes of an address in numbers, with its end */

struct cluster_host_port {
    char host[CLUSTER_HOST_PORT_HOST]; /* without brackets */
    uint16_t port;
};

/* An address in numbers. */
struct cluster_host_port_address {
    struct sockaddr_storage of;
    socklen_t size;
};

/* Reads one that others wrote. -EINVAL, with the diagnosis: it is none. */
int cluster_host_port_parse(const char *text, struct cluster_host_port *out);

/* Takes the next one of a text with commas between several. Returns 1; 0: there is none left. The
 * failure of the other. */
int cluster_host_port_next(const char **list, struct cluster_host_port *out);

/* Gives the address where the host is written in numbers, or is "*", which is every address of this
 * machine. False: it is a name. */
bool cluster_host_port_in_numbers(const struct cluster_host_port *of,
                                  struct cluster_host_port_address *out);

/* Writes an address as 192.0.2.7:9413 or [2001:db8::7]:9413. */
void cluster_host_port_print(const struct cluster_host_port_address *address,
                             char to[CLUSTER_HOST_PORT_TEXT]);

#endif
