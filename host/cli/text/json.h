/* SPDX-License-Identifier: Apache-2.0 */
/* json: a document, made of lists of members and printed by jansson. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rapahub/value.h>

#define CLI_JSON_DEPTH 8 /* objects and lists in each other */

/* A type of jansson. */
struct json_t;

struct cli_json {
    FILE *to;
    struct json_t *open[CLI_JSON_DEPTH]; /* the document, and what is open in it, outermost first */
    unsigned depth;
    bool begun;  /* the members before a raw one are printed */
    bool failed; /* memory was short */
};

enum cli_json_kind {
    CLI_JSON_END, /* of a list of members */
    CLI_JSON_LEFT_OUT,
    CLI_JSON_TEXT,
    CLI_JSON_RAW,
    CLI_JSON_NUMBER,
    CLI_JSON_SIGNED,
    CLI_JSON_BOOL,
    CLI_JSON_TIME,
    CLI_JSON_OBJECT, /* opens one: what follows is in it, until it is closed */
    CLI_JSON_LIST,   /* the same */
    CLI_JSON_CLOSE
};

/* A member of an object, or, with the key NULL, an element of a list; or a bracket around some. */
struct cli_json_member {
    enum cli_json_kind kind;
    const char *key;
    struct rapahub_string text;
    uint64_t number; /* also a time, and the bits of one with a sign */
};

/* Bytes that are no UTF-8 become U+FFFD. */
static inline struct cli_json_member cli_json_text(const char *key, const char *text)
{
    return (struct cli_json_member){CLI_JSON_TEXT, key, rapahub_string_of(text), 0};
}

static inline struct cli_json_member cli_json_view(const char *key, struct rapahub_string text)
{
    return (struct cli_json_member){CLI_JSON_TEXT, key, text, 0};
}

/* A number above INT64_MAX, which jansson does not have, is rounded. */
static inline struct cli_json_member cli_json_number(const char *key, uint64_t number)
{
    return (struct cli_json_member){CLI_JSON_NUMBER, key, {NULL, 0}, number};
}

static inline struct cli_json_member cli_json_signed(const char *key, int64_t number)
{
    return (struct cli_json_member){CLI_JSON_SIGNED, key, {NULL, 0}, (uint64_t)number};
}

static inline struct cli_json_member cli_json_bool(const char *key, bool value)
{
    return (struct cli_json_member){CLI_JSON_BOOL, key, {NULL, 0}, value};
}

/* The member that fits the type of a value. The constant true of C is an int. */
#define MEMBER(key, value) \
    _Generic((value), char *                                                                      \
             : cli_json_text, const char *                                                        \
             : cli_json_text, struct rapahub_string                                               \
             : cli_json_view, bool                                                                \
             : cli_json_bool, int                                                                 \
             : cli_json_signed, long                                                              \
             : cli_json_signed, default                                                           \
             : cli_json_number)(key, value)

/* A member that is left out unless a condition holds. */
#define MEMBER_IF(condition, key, value) \
    ((condition) ? MEMBER(key, value) : (struct cli_json_member){.kind = CLI_JSON_LEFT_OUT})

/* A point of time, in nanoseconds of the wall clock. */
#define MEMBER_TIME(key, wall_ns) ((struct cli_json_member){CLI_JSON_TIME, key, {NULL, 0}, wall_ns})

/* A member of the document itself, whose value is JSON already: the result of a call, as
 * hub_text_json prints it. jansson has no unsigned 64-bit numbers, and prints 0.1 with 17 digits.
 * `key` needs no escapes. Left out if `json_text` is NULL. */
static inline struct cli_json_member cli_json_raw(const char *key, const char *json_text)
{
    return (struct cli_json_member){
        json_text ? CLI_JSON_RAW : CLI_JSON_LEFT_OUT, key, {json_text, 0}, 0};
}

/* An object in what is open, with its members, and a list without elements. */
#define BRACKET(kind, key) ((struct cli_json_member){kind, key, {NULL, 0}, 0})
#define MEMBER_OBJECT(key, ...) \
    BRACKET(CLI_JSON_OBJECT, key), __VA_ARGS__, BRACKET(CLI_JSON_CLOSE, NULL)
#define MEMBER_LIST(key) BRACKET(CLI_JSON_LIST, key), BRACKET(CLI_JSON_CLOSE, NULL)

/* False where the program was built without jansson: then nothing below may be called. */
bool cli_json_is_there(void);

/* A document with its schema; all calls until the end add to it. */
void cli_json_begin(struct cli_json *json, FILE *to, const char *schema);
void cli_json_add(struct cli_json *json, const struct cli_json_member *members);

/* Closes what is open, prints the document and the end of its line. RAPAHUB_ENOMEM: it is not
 * printed, or not all. */
int cli_json_end(struct cli_json *json);

static inline int cli_json_add_all(FILE *to, const char *schema,
                                   const struct cli_json_member *members)
{
    struct cli_json json;

    cli_json_begin(&json, to, schema);
    cli_json_add(&json, members);
    return cli_json_end(&json);
}

/* Add members, or an object that has just these; open an object or a list for what follows, and
 * close the innermost one; print a document of members. */
#define cli_json_put(json, ...)         cli_json_add(json, MEMBERS(__VA_ARGS__))
#define cli_json_object(json, key, ...) cli_json_put(json, MEMBER_OBJECT(key, __VA_ARGS__))
#define cli_json_open(json, key, kind)  cli_json_put(json, BRACKET(kind, key))
#define cli_json_close(json)            cli_json_put(json, BRACKET(CLI_JSON_CLOSE, NULL))
#define cli_json_print(to, schema, ...) cli_json_add_all(to, schema, MEMBERS(__VA_ARGS__))
#define MEMBERS(...)                             \
    (const struct cli_json_member[])             \
    {                                            \
        __VA_ARGS__, BRACKET(CLI_JSON_END, NULL) \
    }

#endif
