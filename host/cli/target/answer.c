/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/answer.h"

#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/text/terminal.h"
#include "hub/base/own.h"
#include "hub/wire/arena.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/text.h"

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a result");
}

int cli_answer_keep(struct cli_answer *answer, const struct rapahub_type *type, const void *value)
{
    struct hub_writer writer;
    void *data;

    cli_answer_fini(answer);
    if (type->kind == RAPAHUB_KIND_VOID)
        return 0;
    hub_writer_count(&writer);
    hub_payload_put(&writer, type, value);
    data = hub_arena_alloc(&answer->blocks, writer.size + 1);
    if (!data)
        return no_memory();
    answer->payload = (struct rapahub_bytes){data, writer.size};
    hub_writer_init(&writer, data, writer.size);
    hub_payload_put(&writer, type, value);
    return writer.failure < 0 ? rapahub_fail(writer.failure, "", "the result cannot be encoded")
                              : 0;
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

    *out = NULL;
    if (type->kind == RAPAHUB_KIND_VOID)
        return 0;
    value = hub_arena_alloc(&answer->blocks, type->size);
    if (!value)
        return no_memory();
    hub_reader_init(&reader, answer->payload.data, answer->payload.size);
    hub_payload_decode(&reader, type, value);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "the result is malformed");
    *out = value;
    return 0;
}

int cli_answer_print(const struct rapahub_type *type, const void *value, FILE *to)
{
    OWN(hub_memory) char *text = NULL;

    if (!value)
        return 0;
    /* A file or a pipe gets the bytes themselves: call codec.compress @a.log 3 > a.zst */
    if (type->kind == RAPAHUB_KIND_BYTES && to == stdout && !isatty(STDOUT_FILENO)) {
        const struct rapahub_bytes *bytes = value;

        fwrite(bytes->data, 1, bytes->size, to);
        return 0;
    }
    text = hub_text_print(type, value);
    if (!text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the result");
    return cli_terminal_print(to, text);
}

void cli_answer_fini(struct cli_answer *answer)
{
    hub_arena_release(&answer->blocks);
    answer->payload = (struct rapahub_bytes){NULL, 0};
}
