/* SPDX-License-Identifier: Apache-2.0 */
/* raw module: ids are those of the texts below; a record is its members in their order. */
#include "tests/raw/raw_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/raw/raw_call.h"

#define CALL_MS 10000

#define READY                                                                   \
    "rapahub.ready({abi: u32, name: string, version: string, state_size: u64, " \
    "state_version: u32, callbacks: u32, methods: u32}) -> void"
#define METHODS "rapahub.methods(u32) -> string"
#define BEGIN                                                                    \
    "rapahub.begin({handle: u64, id: {major: u32, minor: u32, container: u32}, " \
    "pool_name: string, params: bytes, how: u8, load_follows: bool}) -> void"
#define FINI "rapahub.fini(u64) -> void"

static size_t count_of(const struct raw_module *module)
{
    size_t count = 0;

    while (module->methods[count].signature)
        count++;
    return count;
}

int raw_module_announce(struct raw_link *link, const struct raw_module *module, int timeout_ms)
{
    struct raw_postcard ready = {.size = 0};
    struct raw_postcard_rest rest;
    int r;

    raw_postcard_u64(&ready, 1); /* abi */
    raw_postcard_string(&ready, module->name);
    raw_postcard_string(&ready, "1.0");
    raw_postcard_u64(&ready, 0); /* size of a state, its version, callbacks */
    raw_postcard_u64(&ready, 0);
    raw_postcard_u64(&ready, 0);
    raw_postcard_u64(&ready, count_of(module));
    r = raw_call_request(link, 1, raw_call_method(READY), &ready, timeout_ms);
    return r == 0 ? raw_call_await(link, 1, timeout_ms, &rest) : r;
}

/* A line each, from the index that is asked for. */
static int answer_methods(struct raw_link *link, const struct raw_module *module,
                          const struct raw_message *request)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    struct raw_postcard lines = {.size = 0};
    size_t from = raw_postcard_take_u64(&arguments), count = count_of(module);

    if (arguments.wrong || from > count)
        return raw_call_fail(link, request->id, RAW_INVALID_PAYLOAD, CALL_MS);
    for (size_t i = from; i < count; i++) {
        raw_postcard_raw(&lines, module->methods[i].signature,
                         strlen(module->methods[i].signature));
        raw_postcard_byte(&lines, '\n');
    }
    return raw_call_answer_bytes(link, request->id, lines.bytes, lines.size, CALL_MS);
}

static const struct raw_method *find(const struct raw_method *list, uint64_t id)
{
    while (list && list->signature && raw_call_method(list->signature) != id)
        list++;
    return list && list->signature ? list : NULL;
}

int raw_module_answer(struct raw_link *link, const struct raw_module *module,
                      const struct raw_message *request)
{
    const struct raw_method *method = find(module->methods, request->method);

    if (!method)
        method = find(module->orders, request->method);
    if (request->method == raw_call_method(METHODS))
        return answer_methods(link, module, request);
    if (!module->bare &&
        (request->method == raw_call_method(BEGIN) || request->method == raw_call_method(FINI)))
        return raw_call_answer(link, request->id, NULL, CALL_MS);
    if (method)
        return method->run(link, request, module->user);
    return raw_call_fail(link, request->id, RAW_UNKNOWN_METHOD, CALL_MS);
}

int raw_module_serve(struct raw_link *link, const struct raw_module *module)
{
    struct raw_message message;
    int r = 0;

    while (r == 0 || r == -ETIMEDOUT) {
        r = raw_link_receive(link, CALL_MS, &message);
        if (r == 0 && message.type == RAW_REQUEST)
            r = raw_module_answer(link, module, &message);
    }
    return r == -EPIPE ? 0 : r;
}

int raw_module_begin(struct raw_link *link, uint32_t id, int timeout_ms)
{
    static const uint8_t how_and_load[2] = {0, 0};
    struct raw_postcard begin = {.size = 0};
    struct raw_postcard_rest rest;
    int r;

    raw_postcard_u64(&begin, 1); /* handle */
    raw_postcard_u64(&begin, 1); /* container 1.0[0] */
    raw_postcard_u64(&begin, 0);
    raw_postcard_u64(&begin, 0);
    raw_postcard_string(&begin, "raw");
    raw_postcard_bytes(&begin, "", 0);
    raw_postcard_raw(&begin, how_and_load, sizeof(how_and_load));
    r = raw_call_request(link, id, raw_call_method(BEGIN), &begin, timeout_ms);
    return r == 0 ? raw_call_await(link, id, timeout_ms, &rest) : r;
}

int raw_module_await_ready(struct raw_link *link, int timeout_ms)
{
    struct raw_message message;
    int r;

    do {
        r = raw_link_receive(link, timeout_ms, &message);
    } while (r == 0 && (message.type != RAW_REQUEST || message.method != raw_call_method(READY)));
    return r == 0 ? raw_call_answer(link, message.id, NULL, timeout_ms) : r;
}
