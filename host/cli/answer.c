/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/answer.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/arena.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a result");
}

/* Copies the texts and bytes that a value shows, and makes it show the copies. */
static int own_views(void **blocks, const struct rapahub_type *type, void *value)
{
    struct rapahub_string *string = value;
    struct rapahub_bytes *bytes = value;
    int r = 0;

    if (type->kind == RAPAHUB_KIND_STRING) {
        string->data = hub_arena_copy(blocks, string->data, string->size);
        return string->data ? 0 : no_memory();
    }
    if (type->kind == RAPAHUB_KIND_BYTES) {
        bytes->data = hub_arena_copy(blocks, bytes->data, bytes->size);
        return bytes->data ? 0 : no_memory();
    }
    if (type->kind == RAPAHUB_KIND_RECORD)
        for (const struct rapahub_member *m = type->members; r == 0 && m->name; m++)
            r = own_views(blocks, m->type, (char *)value + m->offset);
    return r;
}

int cli_answer_keep(struct cli_answer *answer, const struct rapahub_type *type, const void *value)
{
    void *copy;

    cli_answer_fini(answer);
    if (type->kind == RAPAHUB_KIND_VOID)
        return 0;
    copy = hub_arena_alloc(&answer->blocks, type->size);
    if (!copy)
        return no_memory();
    memcpy(copy, value, type->size);
    answer->value = copy;
    return own_views(&answer->blocks, type, copy);
}

int cli_answer_keep_payload(struct cli_answer *answer, struct rapahub_bytes payload)
{
    cli_answer_fini(answer);
    answer->payload.data = hub_arena_copy(&answer->blocks, payload.data, payload.size);
    answer->payload.size = payload.size;
    return answer->payload.data ? 0 : no_memory();
}

int cli_answer_value(struct cli_answer *answer, const struct rapahub_type *type, const void **out)
{
    struct hub_reader reader;
    void *value;

    *out = answer->value;
    if (*out || type->kind == RAPAHUB_KIND_VOID)
        return 0;
    value = hub_arena_alloc(&answer->blocks, type->size);
    if (!value)
        return no_memory();
    hub_reader_init(&reader, answer->payload.data, answer->payload.size);
    hub_payload_decode(&reader, type, value);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "the result is malformed");
    *out = answer->value = value;
    return 0;
}

int cli_answer_payload(struct cli_answer *answer, const struct rapahub_type *type,
                       struct rapahub_bytes *out)
{
    struct hub_writer writer;
    void *data;

    *out = answer->payload;
    if (out->data || type->kind == RAPAHUB_KIND_VOID)
        return 0;
    hub_writer_count(&writer);
    hub_payload_put(&writer, type, answer->value);
    data = hub_arena_alloc(&answer->blocks, writer.size + 1);
    if (!data)
        return no_memory();
    *out = answer->payload = (struct rapahub_bytes){data, writer.size};
    hub_writer_init(&writer, data, writer.size);
    hub_payload_put(&writer, type, answer->value);
    return writer.failure < 0 ? rapahub_fail(writer.failure, "", "the result cannot be encoded")
                              : 0;
}

void cli_answer_fini(struct cli_answer *answer)
{
    hub_arena_release(&answer->blocks);
    answer->value = NULL;
    answer->payload = (struct rapahub_bytes){NULL, 0};
}
