/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/c_type.h"

#include <stddef.h>

#include <rapahub/error.h>

#include "hub/wire/arena.h"
#include "hub/wire/signature.h"

static ffi_type *const words[] = {
    [RAPAHUB_KIND_VOID] = &ffi_type_void,      [RAPAHUB_KIND_BOOL] = &ffi_type_uint8,
    [RAPAHUB_KIND_I8] = &ffi_type_sint8,       [RAPAHUB_KIND_I16] = &ffi_type_sint16,
    [RAPAHUB_KIND_I32] = &ffi_type_sint32,     [RAPAHUB_KIND_I64] = &ffi_type_sint64,
    [RAPAHUB_KIND_U8] = &ffi_type_uint8,       [RAPAHUB_KIND_U16] = &ffi_type_uint16,
    [RAPAHUB_KIND_U32] = &ffi_type_uint32,     [RAPAHUB_KIND_U64] = &ffi_type_uint64,
    [RAPAHUB_KIND_F32] = &ffi_type_float,      [RAPAHUB_KIND_F64] = &ffi_type_double,
    [RAPAHUB_KIND_SOURCE] = &ffi_type_pointer, [RAPAHUB_KIND_SINK] = &ffi_type_pointer,
};

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a C type");
}

/* Makes a struct type with space for `count` elements and the final NULL. */
static ffi_type *new_struct(void **blocks, size_t count)
{
    ffi_type *type = hub_arena_alloc(blocks, sizeof(*type));

    if (!type)
        return NULL;
    type->type = FFI_TYPE_STRUCT;
    type->elements = hub_arena_alloc(blocks, (count + 1) * sizeof(ffi_type *));
    return type->elements ? type : NULL;
}

/* A string and bytes are both a struct of a pointer and a size. */
static int view_of(void **blocks, ffi_type **out)
{
    ffi_type *view = new_struct(blocks, 2);

    if (!view)
        return no_memory();
    view->elements[0] = &ffi_type_pointer;
    view->elements[1] = &ffi_type_ulong;
    *out = view;
    return 0;
}

static int check_layout(const struct rapahub_type *type, ffi_type *record)
{
    size_t offsets[HUB_RECORD_MEMBERS];
    const struct rapahub_member *member = type->members;
    size_t last = 0;

    if (ffi_get_struct_offsets(FFI_DEFAULT_ABI, record, offsets) != FFI_OK)
        return rapahub_fail(RAPAHUB_EABI, "", "record '%s' has no C layout", type->word);
    for (size_t i = 0; member[i].name; last = i++)
        if (member[i].offset != offsets[i])
            return rapahub_fail(RAPAHUB_EABI, "",
                                "member '%s' of record '%s' is at byte %zu where a C struct of "
                                "these members has it at %zu",
                                member[i].name, type->word, member[i].offset, offsets[i]);
    if (type->size != record->size)
        return rapahub_fail(RAPAHUB_EABI, "",
                            "record '%s' has %zu bytes where a C struct that ends with member "
                            "'%s' has %zu",
                            type->word, type->size, member[last].name, record->size);
    return 0;
}

static int record_of(void **blocks, const struct rapahub_type *type, ffi_type **out)
{
    size_t count = 0;
    ffi_type *record;

    while (type->members[count].name)
        count++;
    record = new_struct(blocks, count);
    if (!record)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        int r = hub_c_type_of(blocks, type->members[i].type, &record->elements[i]);

        if (r < 0)
            return r;
    }
    *out = record;
    return check_layout(type, record);
}

int hub_c_type_of(void **blocks, const struct rapahub_type *type, ffi_type **out)
{
    if (type->kind == RAPAHUB_KIND_RECORD)
        return record_of(blocks, type, out);
    if (hub_c_type_has_views(type))
        return view_of(blocks, out);
    *out = words[type->kind];
    return 0;
}

bool hub_c_type_has_views(const struct rapahub_type *type)
{
    if (type->kind != RAPAHUB_KIND_RECORD)
        return type->kind == RAPAHUB_KIND_STRING || type->kind == RAPAHUB_KIND_BYTES;
    for (const struct rapahub_member *member = type->members; member->name; member++)
        if (hub_c_type_has_views(member->type))
            return true;
    return false;
}
