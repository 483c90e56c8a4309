/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-identity/made.h"

static int read_request(const struct cluster_pem *pem)
{
    EVP_PKEY *key = NULL;
    int r = cluster_csr_read(bytes_of(pem), &key);

    if (r < 0)
        assert_null(key);
    cluster_private_key_release(&key);
    return r;
}

/* Makes a request by hand: for one key, signed by another one, with a digest. */
static void make_other(EVP_PKEY *key, EVP_PKEY *signer, const EVP_MD *digest,
                       struct cluster_pem *out)
{
    X509_REQ *request = X509_REQ_new();
    unsigned char *der = NULL;
    int size;

    X509_REQ_set_version(request, X509_REQ_VERSION_1);
    X509_REQ_set_pubkey(request, key);
    assert_true(X509_REQ_sign(request, signer, digest) > 0);
    size = i2d_X509_REQ(request, &der);
    assert_int_equal(cluster_pem_write(CLUSTER_PEM_REQUEST, der, (size_t)size, out), 0);
    OPENSSL_free(der);
    X509_REQ_free(request);
}

/* r[verify cluster.identity.csr] */
static void a_request_carries_its_key(void **state)
{
    struct cluster_pem pem;
    EVP_PKEY *key, *found;

    (void)state;
    make_request(&pem, &key);
    assert_int_equal(cluster_csr_read(bytes_of(&pem), &found), 0);
    assert_int_equal(EVP_PKEY_eq(key, found), 1);
    EVP_PKEY_free(key);
    EVP_PKEY_free(found);
}

/* r[verify cluster.identity.csr] */
static void a_request_for_a_key_of_another_kind_is_refused(void **state)
{
    EVP_PKEY *rsa = EVP_RSA_gen(1024), *p384 = EVP_EC_gen("P-384");
    struct cluster_pem pem;

    (void)state;
    make_other(rsa, rsa, EVP_sha256(), &pem);
    assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "cluster.identity.csr");
    make_other(p384, p384, EVP_sha256(), &pem);
    assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(p384);
}

/* r[verify cluster.identity.csr] */
static void a_request_that_its_key_did_not_sign_is_refused(void **state)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256"), *rsa = EVP_RSA_gen(1024);
    struct cluster_pem pem;

    (void)state;
    make_other(key, key, EVP_sha256(), &pem);
    assert_int_equal(read_request(&pem), 0);
    make_other(key, other, EVP_sha256(), &pem);
    assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
    make_other(key, rsa, EVP_sha256(), &pem);
    assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
    make_other(key, key, EVP_sha1(), &pem);
    assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
    EVP_PKEY_free(rsa);
}

/* r[verify cluster.identity.csr] */
static void a_damaged_request_is_refused(void **state)
{
    struct cluster_pem_der der;
    struct cluster_pem pem;
    unsigned taken = 0;

    (void)state;
    make_request(&pem, NULL);
    assert_int_equal(cluster_pem_read(bytes_of(&pem), CLUSTER_PEM_REQUEST, &der), 0);
    for (size_t at = 0; at < der.size; at += 3) {
        der.data[at] ^= 4;
        assert_int_equal(cluster_pem_write(CLUSTER_PEM_REQUEST, der.data, der.size, &pem), 0);
        taken += read_request(&pem) == 0;
        der.data[at] ^= 4;
        if (at > 0) {
            assert_int_equal(cluster_pem_write(CLUSTER_PEM_REQUEST, der.data, at, &pem), 0);
            assert_int_equal(read_request(&pem), RAPAHUB_EINVAL);
        }
    }
    assert_int_equal(taken, 0);
    cluster_pem_release_der(&der);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_carries_its_key),
        cmocka_unit_test(a_request_for_a_key_of_another_kind_is_refused),
        cmocka_unit_test(a_request_that_its_key_did_not_sign_is_refused),
        cmocka_unit_test(a_damaged_request_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
