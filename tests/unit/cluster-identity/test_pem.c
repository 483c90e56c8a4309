/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/cluster-identity/made.h"

#define LABEL "CERTIFICATE"
#define BLOCK "-----BEGIN CERTIFICATE-----\nAQIDBA==\n-----END CERTIFICATE-----\n"

static int read_text(const char *text, struct cluster_pem_der *der)
{
    return cluster_pem_read(bytes_of_text(text), LABEL, der);
}

static void assert_refused(const char *text)
{
    struct cluster_pem_der der;

    assert_int_equal(read_text(text, &der), RAPAHUB_EINVAL);
    assert_null(der.data);
    assert_string_equal(rapahub_last_error()->rule, "cluster.identity.pem");
}

/* r[verify cluster.identity.pem] */
static void a_block_is_read_and_written(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4};
    struct cluster_pem_der der;
    struct cluster_pem pem;

    (void)state;
    assert_int_equal(cluster_pem_write(LABEL, bytes, sizeof bytes, &pem), 0);
    assert_string_equal(pem.text, BLOCK);
    assert_int_equal(pem.size, sizeof BLOCK - 1);
    assert_int_equal(cluster_pem_read(bytes_of(&pem), LABEL, &der), 0);
    assert_int_equal(der.size, sizeof bytes);
    assert_memory_equal(der.data, bytes, sizeof bytes);
    cluster_pem_release_der(&der);
    assert_int_equal(read_text(" \r\n" BLOCK "\n\t\n", &der), 0);
    cluster_pem_release_der(&der);
}

/* r[verify cluster.identity.pem] */
static void a_text_that_is_no_block_is_refused(void **state)
{
    (void)state;
    assert_refused("");
    assert_refused("x");
    assert_refused("-----BEGIN ");
    assert_refused("-----BEGIN CERTIFICATE-----");
    assert_refused("-----BEGIN CERTIFICATE-----\nAQIDBA==\n");
    assert_refused("-----BEGIN CERTIFICATE-----\nAQIDBA==\n-----END CERT-----\n");
    assert_refused("-----BEGIN CERTIFICATE-----\nA?IDBA==\n-----END CERTIFICATE-----\n");
    assert_refused("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
    assert_refused("-----BEGIN PRIVATE KEY-----\nAQIDBA==\n-----END PRIVATE KEY-----\n");
    assert_refused("-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: A,00\n\n"
                   "AQIDBA==\n-----END CERTIFICATE-----\n");
    assert_refused("Subject: someone\n" BLOCK);
    assert_refused(BLOCK "x");
    assert_refused(BLOCK BLOCK);
    assert_refused("-----END CERTIFICATE-----\n" BLOCK);
}

/* r[verify cluster.identity.pem] */
static void a_text_is_bounded(void **state)
{
    static uint8_t bytes[CLUSTER_PEM_SIZE_MAX];
    char *text = malloc(CLUSTER_PEM_SIZE_MAX + 1);
    struct rapahub_bytes long_text = {text, CLUSTER_PEM_SIZE_MAX + 1};
    struct cluster_pem_der der;
    struct cluster_pem pem;

    (void)state;
    assert_non_null(text);
    memset(text, '\n', CLUSTER_PEM_SIZE_MAX + 1);
    memcpy(text, BLOCK, sizeof BLOCK - 1);
    assert_int_equal(cluster_pem_read(long_text, LABEL, &der), RAPAHUB_EINVAL);
    long_text.size--;
    assert_int_equal(cluster_pem_read(long_text, LABEL, &der), 0);
    cluster_pem_release_der(&der);
    assert_int_equal(cluster_pem_write(LABEL, bytes, sizeof bytes, &pem), RAPAHUB_EMSGSIZE);
    free(text);
}

/* r[verify cluster.identity.pem] */
static void blocks_come_one_after_another(void **state)
{
    struct rapahub_bytes text = bytes_of_text(BLOCK "\n" BLOCK);
    struct cluster_pem_der der;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cluster_pem_next(&text, LABEL, &der), 0);
        cluster_pem_release_der(&der);
    }
    assert_int_equal(text.size, 0);
    assert_int_equal(cluster_pem_next(&text, LABEL, &der), RAPAHUB_EINVAL);
}

/* Every prefix of a text, and the text with any byte changed, is read or refused; nothing else. */
static void a_damaged_text_harms_nobody(void **state)
{
    struct cluster_pem pem, damaged;
    struct cluster_pem_der der;
    EVP_PKEY *key = NULL;

    (void)state;
    make_request(&pem, NULL);
    for (size_t size = 0; size < pem.size; size++) {
        struct rapahub_bytes text = {pem.text, size};

        if (cluster_csr_read(text, &key) == 0)
            assert_int_equal(size, pem.size - 1); /* all but the end of the last line */
        cluster_private_key_release(&key);
    }
    for (size_t at = 0; at < pem.size; at += 3) {
        damaged = pem;
        damaged.text[at] = (char)(damaged.text[at] ^ 0x15);
        if (cluster_pem_read(bytes_of(&damaged), CLUSTER_PEM_REQUEST, &der) == 0)
            cluster_pem_release_der(&der);
        if (cluster_csr_read(bytes_of(&damaged), &key) == 0)
            cluster_private_key_release(&key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_read_and_written),
        cmocka_unit_test(a_text_that_is_no_block_is_refused),
        cmocka_unit_test(a_text_is_bounded),
        cmocka_unit_test(blocks_come_one_after_another),
        cmocka_unit_test(a_damaged_text_harms_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
