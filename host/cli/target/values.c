/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/values.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/text/record.h"
#include "hub/base/own.h"
#include "hub/wire/arena.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments");
}

/* Reads to the end, or to what is more than a message may be by far. */
static int read_all(int fd, const char *path, void **arena, struct rapahub_bytes *out)
{
    OWN(hub_memory) char *data = NULL;
    size_t size = 0, room = 0;
    ssize_t n = 1;

    while (n > 0) {
        char *more = size < room ? data : realloc(data, room = room ? room * 2 : 65536);

        if (!more)
            return no_memory();
        data = more;
        n = read(fd, data + size, room - size);
        if (n < 0)
            return rapahub_fail(-errno, "", "cannot read '%s'", path);
        size += (size_t)n;
        if (size > CLI_VALUES_FILE_MAX)
            return rapahub_fail(RAPAHUB_EMSGSIZE, "", "'%s' has more than 64 MiB", path);
    }
    out->size = size;
    out->data = hub_arena_copy(arena, data, size);
    return out->data ? 0 : no_memory();
}

static int read_file(const char *path, void **arena, struct rapahub_bytes *out)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return rapahub_fail(-errno, "", "cannot open '%s'", path);
    return read_all(fd, path, arena, out);
}

/* `-`, `@FILE`, `@@text` for `@text`: 1 where the text is one of these. */
static int read_elsewhere(const char *text, void **arena, struct rapahub_bytes *out)
{
    int r;

    if (strcmp(text, "-") == 0)
        r = read_all(STDIN_FILENO, "standard input", arena, out);
    else if (text[0] == '@' && text[1] != '@')
        r = read_file(text + 1, arena, out);
    else if (text[0] == '@')
        r = (*out = (struct rapahub_bytes){text + 1, strlen(text + 1)}, 0);
    else
        return 0;
    return r < 0 ? r : 1;
}

static int parse_text(const struct rapahub_type *type, const char *text, void *value,
                      struct hub_text_arena *arena)
{
    struct rapahub_bytes bytes;
    int r = 0;

    if (type->kind == RAPAHUB_KIND_STRING || type->kind == RAPAHUB_KIND_BYTES)
        r = read_elsewhere(text, &arena->blocks, &bytes);
    if (r < 0)
        return r;
    if (r > 0 && type->kind == RAPAHUB_KIND_STRING)
        *(struct rapahub_string *)value = (struct rapahub_string){bytes.data, bytes.size};
    else if (r > 0)
        *(struct rapahub_bytes *)value = bytes;
    else if (type->kind == RAPAHUB_KIND_RECORD && cli_record_is_json(text))
        return cli_record_parse(type, text, value, arena);
    else
        return hub_text_parse(type, text, strlen(text), value, arena);
    return 0;
}

static int parse_argument(const struct rapahub_type *type, const char *text, void *value,
                          struct cli_values *to)
{
    return hub_signature_is_stream(type) ? cli_stream_files_add(&to->files, type, text, value)
                                         : parse_text(type, text, value, &to->arena);
}

/* Where the streams are not pointers of this process, they are numbers. */
static void number_streams(const struct rapahub_type *const *types, const struct cli_values *values,
                           const void **to, uint64_t *numbers)
{
    uint64_t next = 0;

    for (size_t i = 0; types[i]; i++) {
        to[i] = values->values[i];
        if (!hub_signature_is_stream(types[i]))
            continue;
        numbers[next] = next;
        to[i] = &numbers[next++];
    }
}

static int encode(const struct hub_signature *signature, struct cli_values *values)
{
    const struct rapahub_type *const *types = signature->types + 1;
    const void *sent[HUB_SIGNATURE_ARGUMENTS_MAX + 1];
    uint64_t numbers[HUB_SIGNATURE_ARGUMENTS_MAX];
    struct hub_writer writer;
    void *data;

    number_streams(types, values, sent, numbers);
    hub_writer_count(&writer);
    hub_payload_put_arguments(&writer, types, sent);
    if (writer.failure == RAPAHUB_EINVAL)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "a string of %s is not UTF-8", signature->name);
    data = hub_arena_alloc(&values->arena.blocks, writer.size + 1);
    if (!data)
        return no_memory();
    values->payload = (struct rapahub_bytes){data, writer.size};
    hub_writer_init(&writer, data, writer.size);
    hub_payload_put_arguments(&writer, types, sent);
    return writer.failure;
}

static int fail_argument(const struct hub_signature *signature, unsigned index, int r)
{
    char text[900];

    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    return rapahub_fail(r == RAPAHUB_EINVAL ? RAPAHUB_EARGUMENTS : r, "", "argument %u of %s: %s",
                        index + 1, signature->name, text);
}

int cli_values_parse(const struct hub_signature *signature, int count, char *const *texts,
                     struct cli_values *out)
{
    *out = (struct cli_values){.arena = {NULL}};
    if (count < 0 || (uint32_t)count != signature->argument_count)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "%s takes %u argument%s, %d given",
                            signature->name, signature->argument_count,
                            signature->argument_count == 1 ? "" : "s", count);
    for (unsigned i = 0; i < signature->argument_count; i++) {
        const struct rapahub_type *type = signature->types[1 + i];
        void *value = hub_arena_alloc(&out->arena.blocks, type->size);
        int r = value ? parse_argument(type, texts[i], value, out) : no_memory();

        if (r < 0)
            return fail_argument(signature, i, r);
        out->values[i] = value;
    }
    return encode(signature, out);
}

static int decode_arguments(const struct hub_signature *signature, struct cli_values *values)
{
    struct hub_reader reader;

    hub_reader_init(&reader, values->payload.data, values->payload.size);
    for (unsigned i = 0; i < signature->argument_count; i++) {
        const struct rapahub_type *type = signature->types[1 + i];
        void *value = hub_arena_alloc(&values->arena.blocks, type->size);

        if (!value)
            return no_memory();
        hub_payload_decode(&reader, type, value);
        values->values[i] = value;
    }
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "these bytes are no arguments of %s",
                            signature->text);
    return 0;
}

int cli_values_parse_raw(const struct hub_signature *signature, const char *text,
                         struct cli_values *out)
{
    int r;

    *out = (struct cli_values){.arena = {NULL}};
    for (unsigned i = 0; i < signature->argument_count; i++)
        if (hub_signature_is_stream(signature->types[1 + i]))
            return rapahub_fail(RAPAHUB_EARGUMENTS, "", "%s has streams: --raw cannot give them",
                                signature->name);
    r = parse_text(&rapahub_type_bytes, text, &out->payload, &out->arena);
    return r < 0 ? r : decode_arguments(signature, out);
}

void cli_values_fini(struct cli_values *values)
{
    cli_stream_files_fini(&values->files);
    hub_text_arena_fini(&values->arena);
}
