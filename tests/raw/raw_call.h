/* SPDX-License-Identifier: Apache-2.0 */
/* raw call: the messages of calls, in the forms tests use most. */
#ifndef TESTS_RAW_RAW_CALL_H
#define TESTS_RAW_RAW_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"
#include "tests/raw/raw_postcard.h"

/* The meaning of `01` and a number after the metadata. */
enum raw_failure {
    RAW_USER = 0,
    RAW_UNKNOWN_METHOD = 1,
    RAW_INVALID_PAYLOAD = 2,
    RAW_CANCELLED = 3
};

/* FNV-1a 64 of the canonical signature, "add(i64, i64) -> i64". */
uint64_t raw_call_method(const char *signature);

/* A Request without metadata; `arguments` are the encoded ones, NULL for none. */
int raw_call_request(struct raw_link *link, uint32_t id, uint64_t method,
                     const struct raw_postcard *arguments, int timeout_ms);

/* A Response without metadata: Ok with the encoded result (NULL: nothing), or a failure with what
 * follows it (NULL: nothing). */
int raw_call_answer(struct raw_link *link, uint32_t id, const struct raw_postcard *result,
                    int timeout_ms);
int raw_call_answer_i64(struct raw_link *link, uint32_t id, int64_t result, int timeout_ms);
int raw_call_answer_bytes(struct raw_link *link, uint32_t id, const void *bytes, size_t size,
                          int timeout_ms);
int raw_call_fail(struct raw_link *link, uint32_t id, enum raw_failure failure, int timeout_ms);

/* A Cancel; a Goodbye with its reason. */
int raw_call_cancel(struct raw_link *link, uint32_t id, int timeout_ms);
int raw_call_goodbye(struct raw_link *link, const char *reason, int timeout_ms);

/* Returns the arguments of a Request, after its metadata. */
struct raw_postcard_rest raw_call_arguments(const struct raw_message *request);

/* For a Response: 0 and the result in `rest`; 1 + the failure; -EPROTO if it is no Response. */
int raw_call_result(const struct raw_message *response, struct raw_postcard_rest *rest);

/* Waits for the Response to `id` and drops all other messages. Returns the same as raw_call_result,
 * or the code of raw_link_receive. */
int raw_call_await(struct raw_link *link, uint32_t id, int timeout_ms,
                   struct raw_postcard_rest *rest);

/* A whole call with two i64 and an i64 as result: the "add" of most tests. */
int raw_call_add(struct raw_link *link, uint32_t id, const char *signature, const int64_t terms[2],
                 int64_t *out);

#endif
