/* SPDX-License-Identifier: Apache-2.0 */
/* etcd_process: an etcd of one or several members, each a process with a folder and free ports of
 * 127.0.0.1 of its own, that ends with the test.
 */
#ifndef TESTS_METASTORE_ETCD_PROCESS_H
#define TESTS_METASTORE_ETCD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/metastore/metastore.h"
#include "tests/support/process.h"

#define ETCD_PROCESS_MEMBERS 3
#define ETCD_PROCESS_URL     256

struct etcd_process_options {
    unsigned members;
    bool tls;          /* both sides have certificates: etcd_process.tls */
    const char *quota; /* bytes of its database; NULL: 2 GiB */
};

struct etcd_process {
    struct etcd_process_options options;
    char folder[64];
    char tls[96]; /* the folder with the certificate of a client */
    struct process of[ETCD_PROCESS_MEMBERS];
    bool runs[ETCD_PROCESS_MEMBERS];
    uint16_t client_ports[ETCD_PROCESS_MEMBERS], peer_ports[ETCD_PROCESS_MEMBERS];
};

/* False, and says so, where etcd is not installed. */
bool etcd_process_possible(void);

/* They fail the test. A member may serve some time after its start only. */
void etcd_process_begin(struct etcd_process *etcd, const struct etcd_process_options *options);
void etcd_process_end(struct etcd_process *etcd);
void etcd_process_start(struct etcd_process *etcd, unsigned member);
void etcd_process_kill(struct etcd_process *etcd, unsigned member);

/* SIGSTOP, SIGCONT. */
void etcd_process_signal(struct etcd_process *etcd, unsigned member, int signal);

/* The number of the member that leads, by etcdctl; it fails the test if there is none in 10 s. */
unsigned etcd_process_leader(struct etcd_process *etcd);

/* Runs etcdctl with these words against a member; says whether it succeeded. */
bool etcd_process_ctl(struct etcd_process *etcd, unsigned member, const char *const *words);

/* Ends an etcd of one member, and begins it again with what a snapshot of etcdctl has, whose file
 * is `snapshot`. They fail the test. */
void etcd_process_restore(struct etcd_process *etcd, const char *snapshot);

/* etcd://127.0.0.1:PORT,.../PREFIX with all members. */
void etcd_process_url(const struct etcd_process *etcd, const char *prefix,
                      char to[ETCD_PROCESS_URL]);

/* The back end, for the suites: each folder that they make is a prefix in this etcd. */
extern struct etcd_process *etcd_process_of_suite;
extern const struct cluster_metastore_end etcd_process_suite_end, etcd_process_tls_suite_end;

#endif
