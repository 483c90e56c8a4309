/* SPDX-License-Identifier: Apache-2.0 */
/* identities: authorities of clusters made for a test, and folders with what they have signed. */
#ifndef TESTS_UNIT_CLUSTER_LINK_IDENTITIES_H
#define TESTS_UNIT_CLUSTER_LINK_IDENTITIES_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/identity/ca.h"
#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define IDENTITIES __attribute__((unused)) static

#define IDENTITY_PATH 256

IDENTITIES uint64_t wall_s(void)
{
    return hub_clock_wall() / HUB_SECOND;
}

/* The authority of a cluster whose uuid has this byte sixteen times. */
IDENTITIES void make_authority(struct cluster_ca *ca, uint8_t byte)
{
    uint8_t uuid[CLUSTER_URI_UUID];

    memset(uuid, byte, sizeof uuid);
    assert_int_equal(cluster_ca_make(uuid, wall_s() - 400 * CLUSTER_CA_DAY_S, ca), 0);
}

IDENTITIES struct cluster_peer_name client_name(const struct cluster_ca *ca, uint8_t role,
                                                const char *name)
{
    struct cluster_peer_name made = {.kind = CLUSTER_PEER_CLIENT, .role = role};

    memcpy(made.uuid, ca->uuid, sizeof made.uuid);
    snprintf(made.name, sizeof made.name, "%s", name);
    return made;
}

IDENTITIES struct cluster_peer_name node_name(const struct cluster_ca *ca, uint32_t number)
{
    struct cluster_peer_name made = {.kind = CLUSTER_PEER_NODE, .node = number};

    memcpy(made.uuid, ca->uuid, sizeof made.uuid);
    return made;
}

IDENTITIES void write_text(const char *folder, const char *name, const char *end,
                           const struct cluster_pem *pem, mode_t mode)
{
    char path[IDENTITY_PATH];
    int fd;

    snprintf(path, sizeof path, "%s/%s%s", folder, name, end);
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, pem->text, pem->size), (ssize_t)pem->size);
    close(fd);
}

IDENTITIES void write_trust(const char *folder, const struct cluster_ca *ca)
{
    struct cluster_pem pem;

    assert_int_equal(cluster_certificate_write(ca->certificate, &pem), 0);
    write_text(folder, "ca", ".pem", &pem, 0644);
}

/* A folder, which is made, with ca.pem, FILE.pem and FILE.key: a certificate that is signed at a
 * time, in seconds since 1970. */
IDENTITIES void write_identity_at(const char *folder, const struct cluster_ca *ca,
                                  const struct cluster_peer_name *name, const char *file,
                                  uint64_t at_s)
{
    struct evp_pkey_st *key = NULL;
    struct x509_st *certificate = NULL;
    struct cluster_pem pem;

    (void)mkdir(folder, 0700);
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_private_key_write(key, &pem), 0);
    write_text(folder, file, ".key", &pem, 0600);
    assert_int_equal(cluster_csr_make(key, &pem), 0);
    assert_int_equal(
        cluster_ca_sign(ca, (struct rapahub_bytes){pem.text, pem.size}, name, at_s, &certificate),
        0);
    assert_int_equal(cluster_certificate_write(certificate, &pem), 0);
    write_text(folder, file, ".pem", &pem, 0644);
    write_trust(folder, ca);
    cluster_certificate_release(&certificate);
    cluster_private_key_release(&key);
}

IDENTITIES void write_client(const char *folder, const struct cluster_ca *ca, uint8_t role,
                             const char *name)
{
    const struct cluster_peer_name whole = client_name(ca, role, name);

    write_identity_at(folder, ca, &whole, "client", wall_s());
}

IDENTITIES void write_node(const char *folder, const struct cluster_ca *ca, uint32_t number)
{
    const struct cluster_peer_name whole = node_name(ca, number);

    write_identity_at(folder, ca, &whole, "node", wall_s());
}

IDENTITIES void remove_identity(const char *folder)
{
    static const char *const files[] = {"ca.pem",     "node.pem",   "node.key",
                                        "client.pem", "client.key", NULL};
    char path[IDENTITY_PATH];

    for (unsigned i = 0; files[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

#endif
