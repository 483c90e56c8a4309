/* SPDX-License-Identifier: Apache-2.0 */
/* signature_parse: parses the text of a signature. A record gets the layout that the C compiler
 * gives a struct with these members in this order. */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/wire/arena.h"
#include "hub/wire/signature.h"

struct parser {
    const char *text, *at;
    void *storage;
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    const struct rapahub_type *types[HUB_SIGNATURE_ARGUMENTS_MAX + 2];
};

/* A record whose size is not known yet. */
struct draft {
    struct rapahub_member members[HUB_RECORD_MEMBERS + 1];
    size_t count, size, alignment;
};

/* In the order of enum rapahub_kind, without records. */
static const struct {
    const struct rapahub_type *type;
    size_t alignment;
} words[] = {
    {&rapahub_type_void, 1},
    {&rapahub_type_bool, _Alignof(bool)},
    {&rapahub_type_i8, _Alignof(int8_t)},
    {&rapahub_type_i16, _Alignof(int16_t)},
    {&rapahub_type_i32, _Alignof(int32_t)},
    {&rapahub_type_i64, _Alignof(int64_t)},
    {&rapahub_type_u8, _Alignof(uint8_t)},
    {&rapahub_type_u16, _Alignof(uint16_t)},
    {&rapahub_type_u32, _Alignof(uint32_t)},
    {&rapahub_type_u64, _Alignof(uint64_t)},
    {&rapahub_type_f32, _Alignof(float)},
    {&rapahub_type_f64, _Alignof(double)},
    {&rapahub_type_string, _Alignof(struct rapahub_string)},
    {&rapahub_type_bytes, _Alignof(struct rapahub_bytes)},
    {&rapahub_type_source, _Alignof(void *)},
    {&rapahub_type_sink, _Alignof(void *)},
};

static int refuse(const struct parser *parser, const char *at, const char *what)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.200s': column %zu: %s", parser->text,
                        (size_t)(at - parser->text) + 1, what);
}

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a signature");
}

/* Skips space and returns the position after it. */
static const char *skip_space(struct parser *parser)
{
    parser->at += strspn(parser->at, " \t");
    return parser->at;
}

/* Skips `what` if it is next. */
static bool accept(struct parser *parser, const char *what)
{
    size_t size = strlen(what);

    skip_space(parser);
    if (strncmp(parser->at, what, size) != 0)
        return false;
    parser->at += size;
    return true;
}

static int expect(struct parser *parser, const char *what, const char *why)
{
    return accept(parser, what) ? 0 : refuse(parser, parser->at, why);
}

/* Returns the size of the next word, 0 if there is none. */
static size_t next_word(struct parser *parser)
{
    skip_space(parser);
    return strspn(parser->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static int parse_name(struct parser *parser, char to[RAPAHUB_METHOD_NAME_MAX + 1])
{
    size_t size = next_word(parser);

    if (size > RAPAHUB_METHOD_NAME_MAX)
        return refuse(parser, parser->at, "the name is longer than 63 bytes");
    memcpy(to, parser->at, size);
    to[size] = '\0';
    if (!hub_signature_is_name(to))
        return refuse(parser, parser->at,
                      "a name is expected: letters, digits and _, not a digit first");
    parser->at += size;
    return 0;
}

static int parse_word(struct parser *parser, const struct rapahub_type **out)
{
    size_t size = next_word(parser);
    char what[256];

    if (!size)
        return refuse(parser, parser->at, "a type is expected");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct rapahub_type *type = words[i].type;

        if (strlen(type->word) == size && !memcmp(type->word, parser->at, size)) {
            parser->at += size;
            *out = type;
            return 0;
        }
    }
    snprintf(
        what, sizeof(what),
        "no such type '%.*s'; types are void bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 string "
        "bytes source sink and {records}",
        size < 63 ? (int)size : 63, parser->at);
    return refuse(parser, parser->at, what);
}

static size_t alignment_of(const struct rapahub_type *type)
{
    size_t alignment = 1;

    if (type->kind != RAPAHUB_KIND_RECORD)
        return words[type->kind].alignment;
    for (const struct rapahub_member *member = type->members; member->name; member++) {
        size_t of_member = alignment_of(member->type);

        alignment = of_member > alignment ? of_member : alignment;
    }
    return alignment;
}

static size_t round_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) / alignment * alignment;
}

static int parse_type(struct parser *parser, unsigned depth, const struct rapahub_type **out);

static int parse_member(struct parser *parser, struct draft *draft, unsigned depth)
{
    const char *start = skip_space(parser);
    struct rapahub_member *member = &draft->members[draft->count];
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    size_t alignment;
    int r;

    if (draft->count == HUB_RECORD_MEMBERS)
        return refuse(parser, start, "a record has at most 64 members");
    if ((r = parse_name(parser, name)) < 0 || (r = expect(parser, ":", "':' is expected")) < 0)
        return r;
    for (size_t i = 0; i < draft->count; i++)
        if (!strcmp(draft->members[i].name, name))
            return refuse(parser, start, "a member of that name is there already");
    start = skip_space(parser);
    if ((r = parse_type(parser, depth, &member->type)) < 0)
        return r;
    if (member->type->kind == RAPAHUB_KIND_VOID)
        return refuse(parser, start, "a member cannot be void");
    if (hub_signature_is_stream(member->type))
        return refuse(parser, start, "a member cannot be a stream");
    member->name = hub_arena_copy(&parser->storage, name, strlen(name));
    if (!member->name)
        return no_memory();
    alignment = alignment_of(member->type);
    member->offset = round_up(draft->size, alignment);
    draft->size = member->offset + member->type->size;
    draft->alignment = alignment > draft->alignment ? alignment : draft->alignment;
    draft->count++;
    return 0;
}

/* Parses from after the opening brace. */
static int parse_record(struct parser *parser, unsigned depth, const struct rapahub_type **out)
{
    struct draft draft = {.alignment = 1};
    struct rapahub_member *members;
    struct rapahub_type *type;
    int r;

    if (depth == HUB_RECORD_DEPTH)
        return refuse(parser, parser->at - 1, "records nest at most 8 deep");
    do {
        r = parse_member(parser, &draft, depth + 1);
        if (r < 0)
            return r;
    } while (accept(parser, ","));
    r = expect(parser, "}", "',' or '}' is expected");
    if (r < 0)
        return r;
    members = hub_arena_alloc(&parser->storage, (draft.count + 1) * sizeof(*members));
    type = hub_arena_alloc(&parser->storage, sizeof(*type));
    if (!members || !type)
        return no_memory();
    memcpy(members, draft.members, draft.count * sizeof(*members));
    *type = (struct rapahub_type){RAPAHUB_KIND_RECORD, "record",
                                  round_up(draft.size, draft.alignment), members};
    *out = type;
    return 0;
}

/* `depth` is the number of enclosing records. */
static int parse_type(struct parser *parser, unsigned depth, const struct rapahub_type **out)
{
    return accept(parser, "{") ? parse_record(parser, depth, out) : parse_word(parser, out);
}

/* Parses from after the opening parenthesis through the closing one. */
static int parse_arguments(struct parser *parser)
{
    size_t count = 0;
    int r;

    if (accept(parser, ")"))
        return 0;
    do {
        const char *start = skip_space(parser);

        if (count == HUB_SIGNATURE_ARGUMENTS_MAX)
            return refuse(parser, start, "a method has at most 16 arguments");
        r = parse_type(parser, 0, &parser->types[1 + count]);
        if (r < 0)
            return r;
        if (parser->types[1 + count]->kind != RAPAHUB_KIND_VOID) {
            count++;
            continue;
        }
        parser->types[1] = NULL;
        return !count && accept(parser, ")") ? 0
                                             : refuse(parser, start, "an argument cannot be void");
    } while (accept(parser, ","));
    return expect(parser, ")", "',' or ')' is expected");
}

static int parse_all(struct parser *parser)
{
    int r;

    if ((r = parse_name(parser, parser->name)) < 0 ||
        (r = expect(parser, "(", "'(' is expected")) < 0 || (r = parse_arguments(parser)) < 0)
        return r;
    parser->types[0] = &rapahub_type_void;
    if (accept(parser, "->")) {
        const char *start = skip_space(parser);

        r = parse_type(parser, 0, &parser->types[0]);
        if (r < 0)
            return r;
        if (hub_signature_is_stream(parser->types[0]))
            return refuse(parser, start, "a result cannot be a stream: take a sink as an argument");
    }
    skip_space(parser);
    return *parser->at ? refuse(parser, parser->at, "the end is expected") : 0;
}

int hub_signature_parse(const char *text, struct hub_signature **out)
{
    struct parser parser = {.text = text, .at = text};
    int r;

    if (strnlen(text, RAPAHUB_SIGNATURE_MAX + 1) > RAPAHUB_SIGNATURE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%.60s...' is longer than %d bytes", text,
                            RAPAHUB_SIGNATURE_MAX);
    r = parse_all(&parser);
    if (r == 0)
        r = hub_signature_make(parser.name, parser.types, out);
    if (r == 0)
        (*out)->storage = parser.storage;
    else
        hub_arena_release(&parser.storage);
    return r;
}
