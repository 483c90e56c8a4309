/* SPDX-License-Identifier: Apache-2.0 */
/* raw call: metadata, then arguments; or metadata, 00 and the result; or metadata, 01, failure. */
#include "tests/raw/raw_call.h"

#include <errno.h>
#include <stdlib.h>

#define CALL_MS 10000

uint64_t raw_call_method(const char *signature)
{
    uint64_t id = 0xcbf29ce484222325;

    for (; *signature; signature++)
        id = (id ^ (uint8_t)*signature) * 0x100000001b3;
    return id;
}

/* `first` and then the bytes of `rest`. The message is large: it lives on the heap. */
static int send_parts(struct raw_link *link, struct raw_message *message,
                      const struct raw_postcard *first, const struct raw_postcard *rest,
                      int timeout_ms)
{
    struct raw_postcard *all = calloc(1, sizeof(*all));
    int r;

    if (!all)
        return -ENOMEM;
    raw_postcard_raw(all, first->bytes, first->size);
    if (rest)
        raw_postcard_raw(all, rest->bytes, rest->size);
    message->payload = all->bytes;
    message->length = (uint32_t)all->size;
    r = raw_link_send(link, message, timeout_ms);
    free(all);
    return r;
}

int raw_call_request(struct raw_link *link, uint32_t id, uint64_t method,
                     const struct raw_postcard *arguments, int timeout_ms)
{
    struct raw_message message = {.type = RAW_REQUEST, .id = id, .method = method};
    static const struct raw_postcard no_metadata = {.bytes = {0}, .size = 1};

    return send_parts(link, &message, &no_metadata, arguments, timeout_ms);
}

int raw_call_answer(struct raw_link *link, uint32_t id, const struct raw_postcard *result,
                    int timeout_ms)
{
    struct raw_message message = {.type = RAW_RESPONSE, .id = id};
    static const struct raw_postcard ok = {.bytes = {0, 0}, .size = 2};

    return send_parts(link, &message, &ok, result, timeout_ms);
}

int raw_call_answer_i64(struct raw_link *link, uint32_t id, int64_t result, int timeout_ms)
{
    struct raw_postcard encoded = {.size = 0};

    raw_postcard_i64(&encoded, result);
    return raw_call_answer(link, id, &encoded, timeout_ms);
}

int raw_call_answer_bytes(struct raw_link *link, uint32_t id, const void *bytes, size_t size,
                          int timeout_ms)
{
    struct raw_postcard encoded = {.size = 0};

    raw_postcard_bytes(&encoded, bytes, size);
    return raw_call_answer(link, id, &encoded, timeout_ms);
}

int raw_call_fail(struct raw_link *link, uint32_t id, enum raw_failure failure, int timeout_ms)
{
    struct raw_message message = {.type = RAW_RESPONSE, .id = id};
    struct raw_postcard error = {.bytes = {0, 1, (uint8_t)failure}, .size = 3};

    return send_parts(link, &message, &error, NULL, timeout_ms);
}

int raw_call_cancel(struct raw_link *link, uint32_t id, int timeout_ms)
{
    struct raw_message message = {.type = RAW_CANCEL, .id = id};

    return raw_link_send(link, &message, timeout_ms);
}

int raw_call_goodbye(struct raw_link *link, const char *reason, int timeout_ms)
{
    struct raw_message message = {.type = RAW_GOODBYE};
    struct raw_postcard text = {.size = 0};

    raw_postcard_string(&text, reason);
    return send_parts(link, &message, &text, NULL, timeout_ms);
}

/* Keys, and values of kind 0 text, 1 bytes, 2 u64. */
static void skip_metadata(struct raw_postcard_rest *rest)
{
    uint64_t count = raw_postcard_take_u64(rest);
    size_t size;

    for (; count > 0 && !rest->wrong; count--) {
        raw_postcard_take_bytes(rest, &size);
        if (raw_postcard_take_u64(rest) == 2)
            raw_postcard_take_u64(rest);
        else
            raw_postcard_take_bytes(rest, &size);
    }
}

struct raw_postcard_rest raw_call_arguments(const struct raw_message *request)
{
    struct raw_postcard_rest rest = {.at = request->payload, .left = request->length};

    skip_metadata(&rest);
    return rest;
}

int raw_call_result(const struct raw_message *response, struct raw_postcard_rest *rest)
{
    uint8_t tag;
    int r = 0;

    *rest = raw_call_arguments(response);
    tag = raw_postcard_take_byte(rest);
    if (tag == 1)
        r = 1 + raw_postcard_take_byte(rest);
    return response->type != RAW_RESPONSE || rest->wrong || tag > 1 ? -EPROTO : r;
}

int raw_call_await(struct raw_link *link, uint32_t id, int timeout_ms,
                   struct raw_postcard_rest *rest)
{
    struct raw_message message;
    int r;

    do {
        r = raw_link_receive(link, timeout_ms, &message);
    } while (r == 0 && (message.type != RAW_RESPONSE || message.id != id));
    return r < 0 ? r : raw_call_result(&message, rest);
}

int raw_call_add(struct raw_link *link, uint32_t id, const char *signature, const int64_t terms[2],
                 int64_t *out)
{
    struct raw_postcard arguments = {.size = 0};
    struct raw_postcard_rest rest;
    int r;

    raw_postcard_i64(&arguments, terms[0]);
    raw_postcard_i64(&arguments, terms[1]);
    r = raw_call_request(link, id, raw_call_method(signature), &arguments, CALL_MS);
    if (r == 0)
        r = raw_call_await(link, id, CALL_MS, &rest);
    if (r != 0)
        return r;
    *out = raw_postcard_take_i64(&rest);
    return rest.wrong ? -EPROTO : 0;
}
