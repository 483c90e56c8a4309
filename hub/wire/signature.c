/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/signature.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/wire/arena.h"

struct output {
    char *to;
    size_t size;   /* bytes at `to`, with the final 0 */
    size_t length; /* bytes of the whole text, without the 0 */
    uint64_t hash; /* FNV-1a 64 of the whole text */
};

#define HASH_FIRST UINT64_C(0xcbf29ce484222325)

static uint64_t hash_on(uint64_t hash, char byte)
{
    return (hash ^ (uint8_t)byte) * UINT64_C(0x100000001b3);
}

static void add(struct output *output, const char *text)
{
    for (; *text; text++, output->length++) {
        output->hash = hash_on(output->hash, *text);
        if (output->length + 1 < output->size)
            output->to[output->length] = *text;
    }
}

static void end(const struct output *output)
{
    if (output->size)
        output->to[output->length < output->size ? output->length : output->size - 1] = '\0';
}

static void add_type(struct output *output, const struct rapahub_type *type, unsigned depth)
{
    const char *before = "{";

    if (type->kind != RAPAHUB_KIND_RECORD) {
        add(output, type->word);
        return;
    }
    for (const struct rapahub_member *member = type->members;
         depth < HUB_RECORD_DEPTH && member->name; member++, before = ", ") {
        add(output, before);
        add(output, member->name);
        add(output, ": ");
        add_type(output, member->type, depth + 1);
    }
    add(output, "}");
}

size_t hub_signature_print(const char *name, const struct rapahub_type *const *types, char *to,
                           size_t size)
{
    struct output output = {to, size, 0, HASH_FIRST};
    const char *before = "(";

    add(&output, name);
    for (size_t i = 1; types[i]; i++, before = ", ") {
        add(&output, before);
        add_type(&output, types[i], 0);
    }
    add(&output, types[1] ? ") -> " : "() -> ");
    add_type(&output, types[0], 0);
    end(&output);
    return output.length;
}

uint64_t hub_signature_hash(const char *text)
{
    uint64_t hash = HASH_FIRST;

    for (; *text; text++)
        hash = hash_on(hash, *text);
    return hash;
}

uint64_t hub_signature_hash_type(const struct rapahub_type *type)
{
    struct output output = {NULL, 0, 0, HASH_FIRST};

    add_type(&output, type, 0);
    return output.hash;
}

bool hub_signature_is_name(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    return size && size <= RAPAHUB_METHOD_NAME_MAX && !text[size] && (*text < '0' || *text > '9');
}

bool hub_signature_is_stream(const struct rapahub_type *type)
{
    return type->kind == RAPAHUB_KIND_SOURCE || type->kind == RAPAHUB_KIND_SINK;
}

static int check_type(const char *name, const struct rapahub_type *type, unsigned depth);

static int check_members(const char *name, const struct rapahub_type *record, unsigned depth)
{
    const struct rapahub_member *member = record->members;
    size_t count = 0;

    if (depth == HUB_RECORD_DEPTH)
        return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s': record '%s' is deeper than %d", name,
                            record->word, HUB_RECORD_DEPTH);
    for (; member && member->name; member++) {
        if (++count > HUB_RECORD_MEMBERS)
            return rapahub_fail(RAPAHUB_EINVAL, "",
                                "method '%s': record '%s' has more than %d members", name,
                                record->word, HUB_RECORD_MEMBERS);
        if (!hub_signature_is_name(member->name) || !member->type ||
            member->type->kind == RAPAHUB_KIND_VOID || hub_signature_is_stream(member->type))
            return rapahub_fail(
                RAPAHUB_EINVAL, "",
                "method '%s': member '%s' of record '%s' has a bad name, or no type "
                "a member may have",
                name, member->name, record->word);
        int r = check_type(name, member->type, depth + 1);

        if (r < 0)
            return r;
    }
    return count ? 0
                 : rapahub_fail(RAPAHUB_EINVAL, "", "method '%s': record '%s' has no members", name,
                                record->word);
}

static int check_type(const char *name, const struct rapahub_type *type, unsigned depth)
{
    if (type->kind == RAPAHUB_KIND_RECORD)
        return check_members(name, type, depth);
    if ((unsigned)type->kind > RAPAHUB_KIND_RECORD)
        return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s': a type of unknown kind %u", name,
                            (unsigned)type->kind);
    return 0;
}

/* Fills in the types. Returns 0 or -EINVAL. r[impl core.channel.return-forbidden]
 * r[impl channeling.error-no-channels] */
static int take_types(struct hub_signature *signature, const struct rapahub_type *const *types)
{
    size_t count = 0;

    if (!types || !types[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s' has no types", signature->name);
    for (; types[count]; count++) {
        if (count > HUB_SIGNATURE_ARGUMENTS_MAX)
            return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s' has more than %d arguments",
                                signature->name, HUB_SIGNATURE_ARGUMENTS_MAX);
        int r = check_type(signature->name, types[count], 0);

        if (r < 0)
            return r;
        if (count == 0 && hub_signature_is_stream(types[0]))
            return rapahub_fail(RAPAHUB_EINVAL, "core.channel.return-forbidden",
                                "method '%s': a stream is an argument, never a result: what it "
                                "writes goes into a sink it is given",
                                signature->name);
        if (count && types[count]->kind == RAPAHUB_KIND_VOID)
            return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s': argument %zu is void",
                                signature->name, count);
        signature->types[count] = types[count];
    }
    signature->argument_count = (uint32_t)count - 1;
    return 0;
}

int hub_signature_make(const char *name, const struct rapahub_type *const *types,
                       struct hub_signature **out)
{
    OWN(hub_signature) struct hub_signature *signature = calloc(1, sizeof(*signature));
    char text[RAPAHUB_SIGNATURE_MAX + 1];
    int r;

    if (!signature)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a signature");
    if (!name || !hub_signature_is_name(name))
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "'%.80s' is no name: letters, digits and _, not a digit first, at "
                            "most %d",
                            name ? name : "", RAPAHUB_METHOD_NAME_MAX);
    memcpy(signature->name, name, strlen(name) + 1);
    r = take_types(signature, types);
    if (r < 0)
        return r;
    if (hub_signature_print(name, types, text, sizeof(text)) >= sizeof(text))
        return rapahub_fail(RAPAHUB_EINVAL, "", "the signature of '%s' is longer than %d bytes",
                            name, RAPAHUB_SIGNATURE_MAX);
    signature->text = strdup(text);
    if (!signature->text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a signature");
    signature->id = hub_signature_hash(text);
    *out = TAKE(signature);
    return 0;
}

void hub_signature_release(struct hub_signature **signature)
{
    struct hub_signature *gone = *signature;

    *signature = NULL;
    if (!gone)
        return;
    hub_arena_release(&gone->storage);
    free(gone->text);
    free(gone);
}
