/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-identity/made.h"

static void assert_refused(struct rapahub_bytes text)
{
    EVP_PKEY *key = NULL;

    assert_int_equal(cluster_private_key_read(text, &key), RAPAHUB_EINVAL);
    assert_null(key);
}

/* r[verify cluster.identity.key] */
static void a_key_is_made_written_and_read(void **state)
{
    EVP_PKEY *key, *again;
    struct cluster_pem pem;

    (void)state;
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_true(cluster_private_key_is_p256(key));
    assert_int_equal(cluster_private_key_write(key, &pem), 0);
    assert_int_equal(cluster_private_key_read(bytes_of(&pem), &again), 0);
    assert_int_equal(EVP_PKEY_eq(key, again), 1);
    cluster_pem_wipe(&pem);
    assert_int_equal(pem.size, 0);
    assert_int_equal(pem.text[0], 0);
    cluster_private_key_release(&key);
    cluster_private_key_release(&again);
    assert_null(key);
    assert_false(cluster_private_key_is_p256(NULL));
}

static void write_key(EVP_PKEY *key, struct cluster_pem *to)
{
    BIO *bio = BIO_new(BIO_s_mem());
    long size;
    char *text;

    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    size = BIO_get_mem_data(bio, &text);
    assert_true(size > 0 && size < CLUSTER_PEM_SIZE_MAX);
    memcpy(to->text, text, (size_t)size);
    to->size = (size_t)size;
    BIO_free(bio);
}

/* r[verify cluster.identity.key] */
static void keys_of_other_kinds_are_refused(void **state)
{
    EVP_PKEY *keys[] = {EVP_RSA_gen(1024), EVP_EC_gen("P-384"), EVP_EC_gen("secp256k1"),
                        EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")};
    struct cluster_pem pem;

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_non_null(keys[i]);
        assert_false(cluster_private_key_is_p256(keys[i]));
        write_key(keys[i], &pem);
        assert_refused(bytes_of(&pem));
        EVP_PKEY_free(keys[i]);
    }
}

/* r[verify cluster.identity.key] */
static void a_key_with_a_password_is_refused(void **state)
{
    BIO *bio = BIO_new(BIO_s_mem());
    EVP_PKEY *key;
    char *text;
    long size;

    (void)state;
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(bio, key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL), 1);
    size = BIO_get_mem_data(bio, &text);
    assert_refused((struct rapahub_bytes){text, (size_t)size});
    BIO_free(bio);
    EVP_PKEY_free(key);
}

/* r[verify cluster.identity.key] */
static void a_damaged_key_is_refused(void **state)
{
    struct cluster_pem_der der;
    struct cluster_pem pem;
    EVP_PKEY *key;

    (void)state;
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_private_key_write(key, &pem), 0);
    assert_int_equal(cluster_pem_read(bytes_of(&pem), CLUSTER_PEM_KEY, &der), 0);
    der.data[40] ^= 1; /* of the private number: it fits the public point no more */
    assert_int_equal(cluster_pem_write(CLUSTER_PEM_KEY, der.data, der.size, &pem), 0);
    assert_refused(bytes_of(&pem));
    for (size_t size = 0; size < der.size; size += 7) {
        assert_int_equal(cluster_pem_write(CLUSTER_PEM_KEY, der.data, size + 1, &pem), 0);
        assert_refused(bytes_of(&pem));
    }
    cluster_pem_release_der(&der);
    cluster_private_key_release(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_made_written_and_read),
        cmocka_unit_test(keys_of_other_kinds_are_refused),
        cmocka_unit_test(a_key_with_a_password_is_refused),
        cmocka_unit_test(a_damaged_key_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
