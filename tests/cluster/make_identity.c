/* SPDX-License-Identifier: Apache-2.0 */
/* make_identity DATA CLIENT: makes an authority for the cluster of a data folder, the certificate
 * of its node 1, and a folder with that of a client, for programs that cannot do so themselves. */
#include "tests/cluster/network_stage.h"

static const char *data, *client;

static void make(void **state)
{
    char tls[IDENTITY_PATH];
    uint8_t uuid[CLUSTER_URI_UUID];
    struct cluster_ca ca;

    (void)state;
    snprintf(tls, sizeof tls, "%.200s/tls", data);
    network_read_uuid(data, uuid);
    assert_int_equal(cluster_ca_make(uuid, wall_s(), &ca), 0);
    write_node(tls, &ca, 1);
    write_client(client, &ca, CLUSTER_PEER_ADMIN, "bench");
    cluster_ca_fini(&ca);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(make)};

    if (argc != 3)
        return 2;
    data = argv[1];
    client = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
