/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/revocation.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

static int parse(const char *text, struct cluster_revocation_serial *out)
{
    return cluster_revocation_parse((struct rapahub_string){text, strlen(text)}, out);
}

/* r[verify cluster.identity.revoked] */
static void a_number_is_read(void **state)
{
    static const char *const wrong[] = {"",
                                        "f",
                                        "fff",
                                        "00",
                                        "00ff",
                                        "0x1f",
                                        "1g",
                                        "1f ",
                                        "1f:2e",
                                        "-1f1",
                                        "0123456789012345678901234567890123456789012"};
    struct cluster_revocation_serial serial, upper;
    char text[CLUSTER_CERTIFICATE_SERIAL_TEXT];

    (void)state;
    assert_int_equal(parse("1f2e3d", &serial), 0);
    assert_int_equal(serial.size, 3);
    assert_int_equal(serial.bytes[0], 0x1f);
    assert_int_equal(parse("1F2E3D", &upper), 0);
    assert_memory_equal(serial.bytes, upper.bytes, 3);
    cluster_certificate_serial_text(upper.bytes, upper.size, text);
    assert_string_equal(text, "1f2e3d");
    assert_int_equal(parse("1123456789012345678901234567890123456789", &serial), 0);
    assert_int_equal(serial.size, CLUSTER_CERTIFICATE_SERIAL_MAX);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(parse(wrong[i], &serial), RAPAHUB_EINVAL);
    assert_int_equal(cluster_revocation_parse((struct rapahub_string){NULL, 0}, &serial),
                     RAPAHUB_EINVAL);
}

/* Against an array in which every number is looked for. r[verify cluster.identity.revoked] */
static void a_set_has_what_was_added(void **state)
{
    static bool has[3][256];
    struct cluster_revocation set = {NULL, 0, 0};
    struct hub_random random;
    size_t count = 0;

    (void)state;
    hub_random_init(&random, 5);
    for (unsigned i = 0; i < 400; i++) {
        struct cluster_revocation_serial serial = {.size = 1 + hub_random_below(&random, 3)};

        serial.bytes[0] = (uint8_t)(1 + hub_random_below(&random, 255));
        count += !has[serial.size - 1][serial.bytes[0]];
        has[serial.size - 1][serial.bytes[0]] = true;
        assert_int_equal(cluster_revocation_add(&set, &serial), 0);
        assert_int_equal(set.count, count);
    }
    for (size_t size = 1; size <= 3; size++)
        for (unsigned first = 1; first < 256; first++)
            assert_int_equal(
                cluster_revocation_has(&set, (const uint8_t[3]){(uint8_t)first, 0, 0}, size),
                has[size - 1][first]);
    cluster_revocation_fini(&set);
    assert_false(cluster_revocation_has(&set, (const uint8_t[1]){1}, 1));
}

static void a_set_is_bounded(void **state)
{
    struct cluster_revocation set = {NULL, 0, 0};
    struct cluster_revocation_serial serial = {.size = 2, .bytes = {1}};

    (void)state;
    for (unsigned i = 0; i < CLUSTER_REVOCATION_MAX; i++) {
        serial.bytes[0] = (uint8_t)(1 + i / 256);
        serial.bytes[1] = (uint8_t)i;
        assert_int_equal(cluster_revocation_add(&set, &serial), 0);
    }
    assert_int_equal(cluster_revocation_add(&set, &serial), 0); /* it is there */
    serial.size = 1;
    assert_int_equal(cluster_revocation_add(&set, &serial), RAPAHUB_EFULL);
    assert_int_equal(set.count, CLUSTER_REVOCATION_MAX);
    cluster_revocation_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_read),
        cmocka_unit_test(a_set_has_what_was_added),
        cmocka_unit_test(a_set_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
