/* SPDX-License-Identifier: Apache-2.0 */
/* raw: the same bytes as the general codec writes, and none that it would not take. */
#include "hub/wire/metadata.h"
#include "hub/wire/postcard.h"
#include "hub/wire/raw.h"
#include "hub/wire/response.h"
#include "tests/support/testing.h"

#define ROOM 32

/* Reads a Response of bytes the general way. */
static bool read_response(const uint8_t *data, size_t size, struct rapahub_bytes *result)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    if (hub_response_decode(&reader, &response) < 0 || response.kind != HUB_RESPONSE_OK)
        return false;
    *result = hub_postcard_read_bytes(&reader);
    return reader.failure == 0 && hub_reader_left(&reader) == 0;
}

static void a_request_is_what_the_codec_reads(void **state)
{
    uint8_t bytes[ROOM], data[ROOM];

    (void)state;
    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (uint8_t)(9 + i);
    for (size_t size = 0; size <= ROOM; size++) {
        uint32_t n = hub_raw_put_request(data, ROOM, (struct rapahub_bytes){bytes, size});
        struct hub_metadata metadata;
        struct rapahub_bytes read;
        struct hub_reader reader;

        assert_int_equal(n, size <= ROOM - HUB_RAW_REQUEST ? HUB_RAW_REQUEST + size : 0);
        if (n == 0)
            continue;
        hub_reader_init(&reader, data, n);
        assert_int_equal(hub_metadata_read(&reader, &metadata), 0);
        read = hub_postcard_read_bytes(&reader);
        assert_int_equal(hub_reader_left(&reader), 0);
        assert_int_equal(read.size, size);
        assert_memory_equal(read.data, bytes, size);
    }
}

/* All combinations of two bytes and a length, in each size: the codec decodes the accepted ones
 * alike. */
static void what_is_taken_the_codec_takes_alike(void **state)
{
    uint32_t taken = 0;

    (void)state;
    for (uint32_t head = 0; head < 1 << 16; head++) {
        uint8_t data[ROOM] = {(uint8_t)(head >> 14), (uint8_t)(head >> 8 & 0x3f), (uint8_t)head, 5};

        for (size_t size = 0; size <= ROOM; size++) {
            struct rapahub_bytes quick = {NULL, 0}, slow = {NULL, 0};

            if (!hub_raw_decode_response(data, size, &quick))
                continue;
            taken++;
            assert_true(read_response(data, size, &slow));
            assert_ptr_equal(quick.data, slow.data);
            assert_int_equal(quick.size, slow.size);
        }
    }
    assert_int_equal(taken, ROOM - HUB_RAW_RESPONSE + 1); /* plain ones of each size */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_what_the_codec_reads),
        cmocka_unit_test(what_is_taken_the_codec_takes_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
