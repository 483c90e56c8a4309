/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/elf_methods.h"

#include <stddef.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/elf.h"
#include "hub/base/own.h"

#define METHODS_MAX 1024
#define TYPE_PREFIX "rapahub_type_"

/* Offsets of members: in struct rapahub_chimod of abi 1, which is for modules only, and in the
 * structs of <rapahub/method.h> and <rapahub/value.h>. */
#define CHIMOD_METHODS   48
#define AT(type, member) offsetof(struct rapahub_##type, member)

/* A signature under construction; `good` is false once a part was missing or it is too long. */
struct writing {
    struct hub_elf *image;
    bool good;
    size_t size;
    char text[RAPAHUB_SIGNATURE_MAX + 1];
};

static void put(struct writing *writing, const char *text)
{
    size_t size = strlen(text);

    if (!writing->good || size >= sizeof writing->text - writing->size) {
        writing->good = false;
        return;
    }
    memcpy(writing->text + writing->size, text, size + 1);
    writing->size += size;
}

/* Returns the text that the pointer at `address` points to; false for NULL. */
static bool read_pointed(struct writing *writing, uint64_t address, char to[HUB_ELF_NAME])
{
    uint64_t pointer = hub_elf_pointer(writing->image, address), offset;

    if (pointer == 0)
        return false;
    to[0] = '\0';
    if (hub_elf_offset(writing->image, pointer, &offset))
        hub_elf_text(writing->image, offset, to, HUB_ELF_NAME);
    else
        writing->good = false;
    return true;
}

static void put_type(struct writing *writing, uint64_t address, unsigned depth);

static void put_record(struct writing *writing, uint64_t members, unsigned depth)
{
    char name[HUB_ELF_NAME];

    put(writing, "{");
    for (unsigned i = 0; writing->good; i++, members += sizeof(struct rapahub_member)) {
        if (!read_pointed(writing, members + AT(member, name), name))
            break;
        writing->good = writing->good && i < HUB_RECORD_MEMBERS;
        put(writing, i ? ", " : "");
        put(writing, name);
        put(writing, ": ");
        put_type(writing, members + AT(member, type), depth + 1);
    }
    put(writing, "}");
}

/* Writes a type that the file itself describes: a record, or a word where the library is part of
 * it. */
static void put_own_type(struct writing *writing, uint64_t type, unsigned depth)
{
    uint32_t kind = 0;
    uint64_t offset;
    char word[HUB_ELF_NAME];

    if (depth > HUB_RECORD_DEPTH ||
        !hub_elf_offset(writing->image, type + AT(type, kind), &offset) ||
        !hub_elf_copy(writing->image, offset, &kind, sizeof kind)) {
        writing->good = false;
    } else if (kind == RAPAHUB_KIND_RECORD) {
        put_record(writing, hub_elf_pointer(writing->image, type + AT(type, members)), depth);
    } else if (read_pointed(writing, type + AT(type, word), word)) {
        put(writing, word);
    } else {
        writing->good = false;
    }
}

/* Writes the type that the pointer at `address` points to. */
static void put_type(struct writing *writing, uint64_t address, unsigned depth)
{
    char name[HUB_ELF_NAME];

    if (!writing->good)
        return;
    if (!hub_elf_import(writing->image, address, name))
        put_own_type(writing, hub_elf_pointer(writing->image, address), depth);
    else if (strcmp(name, TYPE_PREFIX "_Bool") == 0)
        put(writing, "bool");
    else if (strncmp(name, TYPE_PREFIX, strlen(TYPE_PREFIX)) == 0)
        put(writing, name + strlen(TYPE_PREFIX));
    else
        writing->good = false;
}

/* Result, arguments, NULL. */
static void put_method(struct writing *writing, const char *name, uint64_t types)
{
    writing->size = 0;
    put(writing, name);
    put(writing, "(");
    for (unsigned i = 1; writing->good && hub_elf_pointer(writing->image, types + 8 * i); i++) {
        writing->good = i <= HUB_SIGNATURE_ARGUMENTS_MAX;
        put(writing, i > 1 ? ", " : "");
        put_type(writing, types + 8 * i, 0);
    }
    put(writing, ") -> ");
    put_type(writing, types, 0);
}

/* Adds the text if it is a signature; a file may hold anything else. */
static void add(struct writing *writing, struct cli_texts *to)
{
    OWN(hub_signature) struct hub_signature *signature = NULL;

    writing->good = writing->good && hub_signature_parse(writing->text, &signature) == 0;
    if (writing->good)
        cli_texts_add(to, signature->text);
}

static bool read_list(struct writing *writing, struct cli_texts *to)
{
    char name[HUB_ELF_NAME];
    uint64_t chimod, at, offset;

    if (!hub_elf_symbol(writing->image, "rapahub_chimod", &chimod))
        return false;
    at = hub_elf_pointer(writing->image, chimod + CHIMOD_METHODS);
    for (unsigned i = 0; writing->good && i <= METHODS_MAX; i++) {
        if (at == 0)
            return true;
        if (!hub_elf_offset(writing->image, at, &offset)) /* it is made when it is loaded */
            return false;
        if (!read_pointed(writing, at + AT(method, name), name))
            return writing->good;
        put_method(writing, name, hub_elf_pointer(writing->image, at + AT(method, types)));
        add(writing, to);
        at += sizeof(struct rapahub_method);
    }
    return false;
}

int cli_elf_methods_read(const char *path, struct cli_texts *to)
{
    struct hub_elf image;
    struct writing writing = {.image = &image, .good = true};
    int r = hub_elf_open(path, &image);

    if (r < 0)
        return r;
    if (!read_list(&writing, to)) {
        cli_texts_fini(to);
        r = rapahub_fail(RAPAHUB_ELOAD, "", "the methods of '%s' cannot be read from the file",
                         path);
    }
    hub_elf_fini(&image);
    return r;
}
