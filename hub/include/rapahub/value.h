/* SPDX-License-Identifier: Apache-2.0 */
/* value: the types that a call carries, and how a C struct becomes one of them.
 *
 * A type has a word T, a C type rapahub_t_T and a description rapahub_type_T. The words are void,
 * bool, i8 i16 i32 i64, u8 u16 u32 u64, f32 f64, string, bytes, source, sink, and the records that
 * a program declares. Each value has one form: C memory described by its type.
 */
#ifndef RAPAHUB_VALUE_H
#define RAPAHUB_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

/* Alignment of bytes that a method receives or a call returns, alone or in a record. The largest
 * bytes of a message begin at a multiple of the first, all others at a multiple of the second,
 * whether they are copied or shown in place. Strings begin anywhere. */
#define RAPAHUB_BYTES_ALIGN        64
#define RAPAHUB_BYTES_ALIGN_OTHERS 16

/* A view of bytes that another object owns. The function that returns it says how long it holds. */
struct rapahub_bytes {
    const void *data; /* may be NULL where size is 0 */
    size_t size;
};

/* A view of UTF-8 text that another object owns. It is not ended by a 0 byte. */
struct rapahub_string {
    const char *data; /* may be NULL where size is 0 */
    size_t size;
};

/* Streams, see stream.h. They can be arguments, but neither results nor members of records. */
struct rapahub_source;
struct rapahub_sink;

/* Returns a view of a C string. NULL gives the empty string. */
RAPAHUB_API struct rapahub_string rapahub_string_of(const char *text);

enum rapahub_kind {
    RAPAHUB_KIND_VOID,
    RAPAHUB_KIND_BOOL,
    RAPAHUB_KIND_I8,
    RAPAHUB_KIND_I16,
    RAPAHUB_KIND_I32,
    RAPAHUB_KIND_I64,
    RAPAHUB_KIND_U8,
    RAPAHUB_KIND_U16,
    RAPAHUB_KIND_U32,
    RAPAHUB_KIND_U64,
    RAPAHUB_KIND_F32,
    RAPAHUB_KIND_F64,
    RAPAHUB_KIND_STRING,
    RAPAHUB_KIND_BYTES,
    RAPAHUB_KIND_SOURCE,
    RAPAHUB_KIND_SINK,
    RAPAHUB_KIND_RECORD
};

struct rapahub_type;

/* A member of a record. */
struct rapahub_member {
    const char *name; /* NULL ends the list */
    const struct rapahub_type *type;
    size_t offset; /* bytes from the record's start */
};

/* The description of a type: constant, and shared by all its users. */
struct rapahub_type {
    enum rapahub_kind kind;
    const char *word;                     /* "i64"; a record's is its C tag */
    size_t size;                          /* bytes of the C type */
    const struct rapahub_member *members; /* NULL unless a record */
};

#define RAPAHUB_WORD(word, c_type)   \
    typedef c_type rapahub_t_##word; \
    RAPAHUB_API extern const struct rapahub_type rapahub_type_##word

RAPAHUB_API extern const struct rapahub_type rapahub_type_void;
RAPAHUB_WORD(bool, bool);
RAPAHUB_API extern const struct rapahub_type rapahub_type__Bool; /* `bool` of <stdbool.h> */
RAPAHUB_WORD(i8, int8_t);
RAPAHUB_WORD(i16, int16_t);
RAPAHUB_WORD(i32, int32_t);
RAPAHUB_WORD(i64, int64_t);
RAPAHUB_WORD(u8, uint8_t);
RAPAHUB_WORD(u16, uint16_t);
RAPAHUB_WORD(u32, uint32_t);
RAPAHUB_WORD(u64, uint64_t);
RAPAHUB_WORD(f32, float);
RAPAHUB_WORD(f64, double);
RAPAHUB_WORD(string, struct rapahub_string);
RAPAHUB_WORD(bytes, struct rapahub_bytes);
RAPAHUB_WORD(source, struct rapahub_source *);
RAPAHUB_WORD(sink, struct rapahub_sink *);

#ifndef __cplusplus
typedef bool rapahub_t__Bool;

/* Makes `struct tag` a type whose word is its tag. The struct's size and offsets must be those that
 * libffi computes; a module whose struct differs is refused with RAPAHUB_EABI.
 *
 *     struct point { double x, y; };
 *     RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));
 *
 * A signature shows it as `{x: f64, y: f64}`. A member whose C type is not that of its word does
 * not compile. Records may hold records, 8 deep, and have at most 64 members.
 */
#define RAPAHUB_RECORD(tag, ...)                                                           \
    typedef struct tag rapahub_t_##tag;                                                    \
    __attribute__((unused)) static const struct rapahub_member rapahub_members_##tag[] = { \
        __VA_ARGS__, {NULL, NULL, 0}};                                                     \
    __attribute__((unused)) static const struct rapahub_type rapahub_type_##tag = {        \
        RAPAHUB_KIND_RECORD, #tag, sizeof(struct tag), rapahub_members_##tag}

#define RAPAHUB_MEMBER(tag, member, type)                        \
    {                                                            \
#member, &rapahub_type_##type,                           \
            _Generic(((struct tag *)0)->member, rapahub_t_##type \
                     : offsetof(struct tag, member))             \
    }
#endif

RAPAHUB_END_DECLS

#endif
