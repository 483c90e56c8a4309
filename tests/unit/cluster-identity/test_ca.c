/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/unit/cluster-identity/made.h"

static int begin(void **state)
{
    static struct cluster_ca ca;

    assert_int_equal(cluster_ca_make(the_uuid, NOW, &ca), 0);
    *state = &ca;
    return 0;
}

static int end(void **state)
{
    cluster_ca_fini(*state);
    return 0;
}

/* r[verify cluster.identity.ca] */
static void an_authority_is_written_and_read(void **state)
{
    struct cluster_ca *ca = *state, again, other;
    struct cluster_pem certificate, key, other_key;
    uint64_t from_s, until_s;

    assert_int_equal(cluster_certificate_write(ca->certificate, &certificate), 0);
    assert_int_equal(cluster_private_key_write(ca->key, &key), 0);
    assert_int_equal(cluster_ca_read(bytes_of(&certificate), bytes_of(&key), &again), 0);
    assert_memory_equal(again.uuid, the_uuid, sizeof the_uuid);
    assert_int_equal(cluster_certificate_dates(again.certificate, &from_s, &until_s), 0);
    assert_int_equal(until_s - NOW, CLUSTER_CA_LIFE_S);
    cluster_ca_fini(&again);
    assert_int_equal(cluster_ca_make(the_uuid, NOW, &other), 0);
    assert_int_equal(cluster_private_key_write(other.key, &other_key), 0);
    assert_int_equal(cluster_ca_read(bytes_of(&certificate), bytes_of(&other_key), &again),
                     RAPAHUB_EINVAL);
    assert_null(again.certificate);
    assert_null(again.key);
    assert_int_equal(cluster_ca_read(bytes_of(&key), bytes_of(&certificate), &again),
                     RAPAHUB_EINVAL);
    cluster_ca_fini(&other);
}

/* OpenSSL's own check, as a TLS connection makes it. */
static int verify(X509 *authority, X509 *certificate, int purpose)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *how = X509_STORE_get0_param(store);
    int r;

    X509_STORE_add_cert(store, authority);
    X509_VERIFY_PARAM_set_time(how, (time_t)NOW);
    X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_purpose(how, purpose);
    X509_STORE_CTX_init(context, store, certificate, NULL);
    r = X509_verify_cert(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return r;
}

/* r[verify cluster.identity.ca] */
static void a_certificate_is_good_for_its_purpose(void **state)
{
    struct cluster_ca *ca = *state;
    const struct cluster_peer_name node = a_node(1), client = a_client("ana");
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_pem request;
    X509 *of_node, *of_client;
    size_t size;

    make_request(&request, NULL);
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &node, NOW, &of_node), 0);
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &client, NOW, &of_client), 0);
    assert_int_equal(verify(ca->certificate, of_node, X509_PURPOSE_SSL_SERVER), 1);
    assert_int_equal(verify(ca->certificate, of_node, X509_PURPOSE_SSL_CLIENT), 1);
    assert_int_equal(verify(ca->certificate, of_client, X509_PURPOSE_SSL_CLIENT), 1);
    assert_int_equal(verify(ca->certificate, of_client, X509_PURPOSE_SSL_SERVER), 0);
    assert_int_equal(cluster_certificate_peer(of_client, &name, serial, &size), 0);
    assert_string_equal(name.name, "ana");
    assert_int_equal(name.role, CLUSTER_PEER_OPERATOR);
    X509_free(of_node);
    X509_free(of_client);
}

/* r[verify cluster.identity.ca] */
static void a_request_is_refused(void **state)
{
    struct cluster_ca *ca = *state;
    struct cluster_peer_name name = a_client("ana");
    char *huge = malloc(CLUSTER_PEM_SIZE_MAX + 2);
    struct cluster_pem request;
    X509 *made = NULL;

    make_request(&request, NULL);
    assert_non_null(huge);
    memset(huge, 'A', CLUSTER_PEM_SIZE_MAX + 2);
    assert_int_equal(cluster_ca_sign(ca, bytes_of_text("nonsense"), &name, NOW, &made),
                     RAPAHUB_EINVAL);
    assert_int_equal(cluster_ca_sign(ca, (struct rapahub_bytes){huge, CLUSTER_PEM_SIZE_MAX + 2},
                                     &name, NOW, &made),
                     RAPAHUB_EINVAL);
    name.uuid[3] ^= 1;
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &name, NOW, &made), RAPAHUB_EACCES);
    name = a_client("a/b");
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &name, NOW, &made), RAPAHUB_EINVAL);
    name = a_client("");
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &name, NOW, &made), RAPAHUB_EINVAL);
    assert_null(made);
    free(huge);
}

/* r[verify cluster.identity.dates] */
static void no_certificate_outlives_its_authority(void **state)
{
    struct cluster_ca *ca = *state;
    const struct cluster_peer_name name = a_node(1);
    struct cluster_pem request;
    uint64_t from_s, until_s;
    X509 *made = NULL;

    make_request(&request, NULL);
    assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &name,
                                     NOW + CLUSTER_CA_LIFE_S - CLUSTER_CA_DAY_S, &made),
                     0);
    assert_int_equal(cluster_certificate_dates(made, &from_s, &until_s), 0);
    assert_int_equal(until_s, NOW + CLUSTER_CA_LIFE_S);
    X509_free(made);
    made = NULL;
    assert_int_equal(
        cluster_ca_sign(ca, bytes_of(&request), &name, NOW + CLUSTER_CA_LIFE_S + 1, &made),
        RAPAHUB_EACCES);
    assert_null(made);
}

/* r[verify cluster.identity.ca] */
static void no_two_certificates_have_one_number(void **state)
{
    struct cluster_ca *ca = *state;
    const struct cluster_peer_name name = a_client("ana");
    uint8_t serials[50][CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name found;
    struct cluster_pem request;
    size_t size;

    make_request(&request, NULL);
    for (size_t i = 0; i < 50; i++) {
        X509 *made;

        assert_int_equal(cluster_ca_sign(ca, bytes_of(&request), &name, NOW, &made), 0);
        assert_int_equal(cluster_certificate_peer(made, &found, serials[i], &size), 0);
        assert_int_equal(size, 16);
        X509_free(made);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(serials[i], serials[j], 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_authority_is_written_and_read, begin, end),
        cmocka_unit_test_setup_teardown(a_certificate_is_good_for_its_purpose, begin, end),
        cmocka_unit_test_setup_teardown(a_request_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(no_certificate_outlives_its_authority, begin, end),
        cmocka_unit_test_setup_teardown(no_two_certificates_have_one_number, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
