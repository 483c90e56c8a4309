/* SPDX-License-Identifier: Apache-2.0 */
/* A Response from any bytes: metadata, kind, error of a method; a decoded response can be encoded,
 * and only OK is no failure. */
#include "hub/base/bytes.h"
#include "hub/wire/response.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct hub_response *response, size_t size)
{
    struct hub_response again;
    struct hub_writer writer;
    struct hub_reader reader;
    uint8_t *copy;

    hub_writer_count(&writer);
    hub_response_put(&writer, response);
    FUZZ_HOLDS(writer.failure == 0);
    FUZZ_HOLDS(writer.size <= size + 64); /* its metadata that we know is no longer than it was */
    copy = malloc(writer.size);
    if (!copy)
        return;
    hub_writer_init(&writer, copy, writer.size);
    hub_response_put(&writer, response);
    hub_reader_init(&reader, copy, writer.size);
    FUZZ_HOLDS(hub_response_decode(&reader, &again) == 0 && hub_reader_left(&reader) == 0);
    FUZZ_HOLDS(again.kind == response->kind && again.code == response->code);
    FUZZ_HOLDS((hub_response_code(response, "m") == 0) == (response->kind == HUB_RESPONSE_OK));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_response response;
    struct hub_reader reader;

    hub_reader_init(&reader, data, size);
    if (hub_response_decode(&reader, &response) == 0)
        check(&response, size);
    return 0;
}
