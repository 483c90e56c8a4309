/* SPDX-License-Identifier: Apache-2.0 */
/* value: the descriptions of the built-in types. */
#include <string.h>

#include <rapahub/value.h>

const struct rapahub_type rapahub_type_void = {RAPAHUB_KIND_VOID, "void", 0, NULL};
const struct rapahub_type rapahub_type_bool = {RAPAHUB_KIND_BOOL, "bool", sizeof(bool), NULL};
const struct rapahub_type rapahub_type__Bool = {RAPAHUB_KIND_BOOL, "bool", sizeof(bool), NULL};
const struct rapahub_type rapahub_type_i8 = {RAPAHUB_KIND_I8, "i8", 1, NULL};
const struct rapahub_type rapahub_type_i16 = {RAPAHUB_KIND_I16, "i16", 2, NULL};
const struct rapahub_type rapahub_type_i32 = {RAPAHUB_KIND_I32, "i32", 4, NULL};
const struct rapahub_type rapahub_type_i64 = {RAPAHUB_KIND_I64, "i64", 8, NULL};
const struct rapahub_type rapahub_type_u8 = {RAPAHUB_KIND_U8, "u8", 1, NULL};
const struct rapahub_type rapahub_type_u16 = {RAPAHUB_KIND_U16, "u16", 2, NULL};
const struct rapahub_type rapahub_type_u32 = {RAPAHUB_KIND_U32, "u32", 4, NULL};
const struct rapahub_type rapahub_type_u64 = {RAPAHUB_KIND_U64, "u64", 8, NULL};
const struct rapahub_type rapahub_type_f32 = {RAPAHUB_KIND_F32, "f32", sizeof(float), NULL};
const struct rapahub_type rapahub_type_f64 = {RAPAHUB_KIND_F64, "f64", sizeof(double), NULL};
const struct rapahub_type rapahub_type_string = {RAPAHUB_KIND_STRING, "string",
                                                 sizeof(struct rapahub_string), NULL};
const struct rapahub_type rapahub_type_bytes = {RAPAHUB_KIND_BYTES, "bytes",
                                                sizeof(struct rapahub_bytes), NULL};
const struct rapahub_type rapahub_type_source = {RAPAHUB_KIND_SOURCE, "source",
                                                 sizeof(struct rapahub_source *), NULL};
const struct rapahub_type rapahub_type_sink = {RAPAHUB_KIND_SINK, "sink",
                                               sizeof(struct rapahub_sink *), NULL};

struct rapahub_string rapahub_string_of(const char *text)
{
    struct rapahub_string string = {text, text ? strlen(text) : 0};

    return string;
}
