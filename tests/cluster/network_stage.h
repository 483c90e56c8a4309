/* SPDX-License-Identifier: Apache-2.0 */
/* network_stage: a node that listens at a port of this machine, the authority of its cluster, and
 * the folders of clients, whom that has given certificates. */
#ifndef TESTS_CLUSTER_NETWORK_STAGE_H
#define TESTS_CLUSTER_NETWORK_STAGE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/unit/cluster-link/identities.h"

#define NETWORK __attribute__((unused)) static

struct network {
    struct node_process node; /* its address is HOST:PORT */
    struct cluster_ca ca;
    uint16_t port;
    char option[64], local[NODE_PROCESS_PATH];   /* local: the address of its Unix socket */
    char tls[IDENTITY_PATH], ana[IDENTITY_PATH]; /* ana: an admin */
};

/* Waits until the node answers, by the address that it has now. */
NETWORK void network_await(const struct network *network)
{
    static const char *const words[] = {"node", "status", NULL};
    struct process_result result;
    int status = -1;

    for (int ms = 0; ms < 30000 && status != 0; ms += 10) {
        status = node_process_rapahub(&network->node, words, &result);
        if (status != 0)
            pause_ms(10);
        if (status != 0 && ms > 29000)
            fail_msg("node status: %s", result.err);
        process_result_fini(&result);
    }
    assert_int_equal(status, 0);
}

/* The uuid of the cluster, as the data folder has it. */
NETWORK void network_read_uuid(const char *data, uint8_t uuid[CLUSTER_URI_UUID])
{
    char path[NODE_PROCESS_PATH + 32], line[80];
    FILE *file;

    snprintf(path, sizeof path, "%s/node.store", data);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && strncmp(line, "uuid ", 5) != 0)
        ;
    fclose(file);
    assert_int_equal(strncmp(line, "uuid ", 5), 0);
    for (unsigned i = 0; i < CLUSTER_URI_UUID; i++) {
        const char digits[] = {line[5 + 2 * i], line[6 + 2 * i], '\0'};

        uuid[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

/* A port that is free now. */
NETWORK uint16_t network_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const void *)&address, size), 0);
    assert_int_equal(getsockname(fd, (void *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

NETWORK void network_open(struct network *network)
{
    char data[NODE_PROCESS_PATH + 8];
    uint8_t uuid[CLUSTER_URI_UUID];

    *network = (struct network){.port = network_free_port()};
    node_process_open(&network->node);
    node_process_begin(&network->node);
    network_await(network);
    node_process_end(&network->node);
    snprintf(data, sizeof data, "%s/data", network->node.folder);
    network_read_uuid(data, uuid);
    assert_int_equal(cluster_ca_make(uuid, wall_s() - 400 * CLUSTER_CA_DAY_S, &network->ca), 0);
    snprintf(network->tls, sizeof network->tls, "%.200s/data/tls", network->node.folder);
    snprintf(network->ana, sizeof network->ana, "%.200s/ana", network->node.folder);
    write_node(network->tls, &network->ca, 1);
    write_client(network->ana, &network->ca, CLUSTER_PEER_ADMIN, "ana");
    assert_int_equal(setenv("RAPAHUB_CLIENT_TLS", network->ana, 1), 0);
    snprintf(network->option, sizeof network->option, "--listen=127.0.0.1:%u", network->port);
    snprintf(network->local, sizeof network->local, "%s", network->node.address);
    snprintf(network->node.address, sizeof network->node.address, "127.0.0.1:%u", network->port);
    network->node.option = network->option;
    node_process_begin(&network->node);
    network_await(network);
}

NETWORK void network_close(struct network *network)
{
    cluster_ca_fini(&network->ca);
    node_process_close(&network->node);
}

#endif
