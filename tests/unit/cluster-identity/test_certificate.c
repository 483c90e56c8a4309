/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-identity/made.h"

#define HERE "rapahub://30313233343536373839616263646500"
#define NODE "URI:" HERE "/node/1"

struct stage {
    struct cluster_ca ca;
    X509 *node;
    EVP_PKEY *key;
};

static int begin(void **state)
{
    static struct stage stage;
    const struct cluster_peer_name name = a_node(7);
    struct cluster_pem request;

    assert_int_equal(cluster_ca_make(the_uuid, NOW, &stage.ca), 0);
    make_request(&request, &stage.key);
    assert_int_equal(cluster_ca_sign(&stage.ca, bytes_of(&request), &name, NOW, &stage.node), 0);
    *state = &stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_certificate_release(&stage->node);
    cluster_private_key_release(&stage->key);
    cluster_ca_fini(&stage->ca);
    return 0;
}

/* r[verify cluster.identity.certificate] */
static void a_certificate_says_whose_it_is(void **state)
{
    struct stage *stage = *state;
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    char text[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    struct cluster_pem pem;
    X509 *again;
    size_t size;

    assert_int_equal(cluster_certificate_write(stage->node, &pem), 0);
    assert_int_equal(cluster_certificate_read(bytes_of(&pem), &again), 0);
    assert_int_equal(cluster_certificate_peer(again, &name, serial, &size), 0);
    assert_int_equal(name.kind, CLUSTER_PEER_NODE);
    assert_int_equal(name.node, 7);
    assert_memory_equal(name.uuid, the_uuid, sizeof the_uuid);
    assert_int_equal(size, 16);
    assert_true(serial[0] >= 0x40 && serial[0] < 0x80);
    cluster_certificate_serial_text(serial, size, text);
    assert_int_equal(strlen(text), 32);
    cluster_certificate_release(&again);
}

static void assert_odd(const struct odd *odd)
{
    struct cluster_peer_name name = {.node = 77};
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    X509 *certificate = make_odd(odd);
    size_t size;

    assert_int_equal(cluster_certificate_peer(certificate, &name, serial, &size), RAPAHUB_EINVAL);
    assert_int_equal(name.node, 77);
    X509_free(certificate);
}

/* r[verify cluster.identity.certificate] */
static void an_odd_certificate_is_refused(void **state)
{
    struct stage *stage = *state;
    const struct odd sound = {stage->key, NULL, NODE, "critical,CA:FALSE", 5, X509_VERSION_3};
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    X509 *certificate = make_odd(&sound);
    struct odd odd = sound;
    size_t size;

    assert_int_equal(cluster_certificate_peer(certificate, &name, serial, &size), 0);
    X509_free(certificate);
    odd.digest = EVP_sha384(), assert_odd(&odd);
    odd = sound, odd.constraints = "critical,CA:TRUE", assert_odd(&odd);
    odd = sound, odd.serial = 0, assert_odd(&odd);
    odd = sound, odd.serial = -5, assert_odd(&odd);
    odd = sound, odd.version = X509_VERSION_1, odd.names = NULL, odd.constraints = NULL,
    assert_odd(&odd);
    odd = sound, odd.names = NULL, assert_odd(&odd);
    odd.names = "DNS:localhost", assert_odd(&odd);
    odd.names = NODE ",DNS:localhost", assert_odd(&odd);
    odd.names = NODE "," NODE, assert_odd(&odd);
    odd.names = "URI:http://example/", assert_odd(&odd);
    odd.names = "URI:" HERE "/ca", assert_odd(&odd);
    odd.names = "email:a@b", assert_odd(&odd);
}

/* r[verify cluster.identity.certificate] */
static void other_keys_are_refused(void **state)
{
    EVP_PKEY *keys[] = {EVP_RSA_gen(1024), EVP_EC_gen("P-384"), EVP_EC_gen("secp256k1")};

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_odd(&(struct odd){keys[i], NULL, NODE, "critical,CA:FALSE", 5, X509_VERSION_3});
        EVP_PKEY_free(keys[i]);
    }
}

/* r[verify cluster.identity.certificate] */
static void a_name_with_a_0_in_it_is_refused(void **state)
{
    struct stage *stage = *state;
    static const char uri[] = HERE "/node/1\0.example";
    const struct odd odd = {stage->key, NULL, NULL, "critical,CA:FALSE", 5, X509_VERSION_3};
    X509 *certificate = make_odd(&odd);
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    struct cluster_peer_name out;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    size_t size;

    ASN1_STRING_set(text, uri, sizeof uri - 1);
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    sk_GENERAL_NAME_push(names, name);
    assert_int_equal(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0), 1);
    assert_true(X509_sign(certificate, stage->key, EVP_sha256()) > 0);
    assert_int_equal(cluster_certificate_peer(certificate, &out, serial, &size), RAPAHUB_EINVAL);
    GENERAL_NAMES_free(names);
    X509_free(certificate);
}

/* r[verify cluster.identity.certificate] */
static void an_authority_is_no_peer_and_no_peer_is_one(void **state)
{
    struct stage *stage = *state;
    const struct odd odd = {stage->key,         NULL, "URI:" HERE "/ca",
                            "critical,CA:TRUE", 5,    X509_VERSION_3};
    X509 *other = make_odd(&odd);
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX], uuid[CLUSTER_URI_UUID];
    size_t size;

    assert_int_equal(cluster_certificate_authority(stage->ca.certificate, uuid), 0);
    assert_memory_equal(uuid, the_uuid, sizeof uuid);
    assert_int_equal(cluster_certificate_authority(other, uuid), 0);
    assert_int_equal(cluster_certificate_authority(stage->node, uuid), RAPAHUB_EINVAL);
    assert_int_equal(cluster_certificate_peer(stage->ca.certificate, &name, serial, &size),
                     RAPAHUB_EINVAL);
    assert_true(X509_sign(other, stage->ca.key, EVP_sha256()) > 0);
    assert_int_equal(cluster_certificate_authority(other, uuid), RAPAHUB_EACCES);
    X509_free(other);
}

/* r[verify cluster.identity.certificate] */
static void another_authority_has_not_signed_it(void **state)
{
    struct stage *stage = *state;
    struct cluster_ca other;

    assert_int_equal(cluster_ca_make(the_uuid, NOW, &other), 0); /* of the same names */
    assert_int_equal(cluster_certificate_check_issuer(stage->node, stage->ca.certificate), 0);
    assert_int_equal(cluster_certificate_check_issuer(stage->node, other.certificate),
                     RAPAHUB_EACCES);
    assert_int_equal(cluster_certificate_check_issuer(stage->node, stage->node), RAPAHUB_EACCES);
    assert_int_equal(cluster_certificate_check_key(stage->node, stage->key), 0);
    assert_int_equal(cluster_certificate_check_key(stage->node, other.key), RAPAHUB_EINVAL);
    cluster_ca_fini(&other);
}

/* r[verify cluster.identity.dates] */
static void a_certificate_has_its_time(void **state)
{
    struct stage *stage = *state;
    uint64_t from_s, until_s;

    assert_int_equal(cluster_certificate_dates(stage->node, &from_s, &until_s), 0);
    assert_int_equal(from_s, NOW - CLUSTER_CA_BACKDATE_S);
    assert_int_equal(until_s, NOW + CLUSTER_CA_PEER_S);
    assert_int_equal(cluster_certificate_check_dates(stage->node, from_s), 0);
    assert_int_equal(cluster_certificate_check_dates(stage->node, until_s), 0);
    assert_int_equal(cluster_certificate_check_dates(stage->node, from_s - 1), RAPAHUB_EACCES);
    assert_string_equal(rapahub_last_error()->text,
                        "the certificate is valid only from 2027-01-15 07:55:00 UTC, and the clock "
                        "here says 2027-01-15 07:54:59 UTC");
    assert_int_equal(cluster_certificate_check_dates(stage->node, until_s + 1), RAPAHUB_EACCES);
    assert_int_equal(cluster_certificate_check_dates(stage->node, UINT64_MAX), RAPAHUB_EACCES);
    ASN1_STRING_set(X509_getm_notAfter(stage->node), "99", 2);
    assert_int_equal(cluster_certificate_dates(stage->node, &from_s, &until_s), RAPAHUB_EINVAL);
}

/* r[verify cluster.identity.certificate] */
static void a_text_has_as_many_as_it_may(void **state)
{
    struct stage *stage = *state;
    struct cluster_pem one;
    char two[3 * CLUSTER_PEM_SIZE_MAX], three[5 * CLUSTER_PEM_SIZE_MAX];
    X509 *found[2];

    assert_int_equal(cluster_certificate_write(stage->ca.certificate, &one), 0);
    snprintf(two, sizeof two, "%s\n%s", one.text, one.text);
    snprintf(three, sizeof three, "%s%s", two, one.text);
    assert_int_equal(cluster_certificate_read_all(bytes_of(&one), found, 2), 1);
    cluster_certificate_release(&found[0]);
    assert_int_equal(cluster_certificate_read_all(bytes_of_text(two), found, 2), 2);
    cluster_certificate_release(&found[0]);
    cluster_certificate_release(&found[1]);
    assert_int_equal(cluster_certificate_read_all(bytes_of_text(three), found, 2), RAPAHUB_EINVAL);
    assert_int_equal(cluster_certificate_read(bytes_of_text(two), found), RAPAHUB_EINVAL);
    assert_int_equal(cluster_certificate_read_all(bytes_of_text(""), found, 2), RAPAHUB_EINVAL);
}

/* A certificate that is cut, or has any byte changed, is read as one or refused; nothing else. */
static void a_damaged_certificate_harms_nobody(void **state)
{
    struct stage *stage = *state;
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_pem_der der;
    struct cluster_pem pem;
    uint64_t from_s, until_s;
    X509 *found;
    size_t size;

    assert_int_equal(cluster_certificate_write(stage->node, &pem), 0);
    assert_int_equal(cluster_pem_read(bytes_of(&pem), CLUSTER_PEM_CERTIFICATE, &der), 0);
    for (size_t at = 0; at < der.size; at += 3) {
        for (unsigned bit = 0; bit < 8; bit++) {
            der.data[at] = (uint8_t)(der.data[at] ^ 1U << bit);
            assert_int_equal(cluster_pem_write(CLUSTER_PEM_CERTIFICATE, der.data, der.size, &pem),
                             0);
            if (cluster_certificate_read(bytes_of(&pem), &found) == 0) {
                cluster_certificate_peer(found, &name, serial, &size);
                cluster_certificate_dates(found, &from_s, &until_s);
                assert_true(cluster_certificate_check_issuer(found, stage->ca.certificate) < 0);
                cluster_certificate_release(&found);
            }
            der.data[at] = (uint8_t)(der.data[at] ^ 1U << bit);
        }
    }
    cluster_pem_release_der(&der);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_certificate_says_whose_it_is, begin, end),
        cmocka_unit_test_setup_teardown(an_odd_certificate_is_refused, begin, end),
        cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test_setup_teardown(a_name_with_a_0_in_it_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(an_authority_is_no_peer_and_no_peer_is_one, begin, end),
        cmocka_unit_test_setup_teardown(another_authority_has_not_signed_it, begin, end),
        cmocka_unit_test_setup_teardown(a_certificate_has_its_time, begin, end),
        cmocka_unit_test_setup_teardown(a_text_has_as_many_as_it_may, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_certificate_harms_nobody, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
