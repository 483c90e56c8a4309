/* SPDX-License-Identifier: Apache-2.0 */
/* method: a C function with a name and a signature, so that another process can call it.
 *
 * The signature is the type: `add(i64, i64) -> i64`. Its words are the arguments of RAPAHUB_METHOD:
 * the result first, then one to five arguments, or `void` for none. A C function of another type
 * than the words demand does not compile, and the error names the line.
 */
#ifndef RAPAHUB_METHOD_H
#define RAPAHUB_METHOD_H

#include <rapahub/value.h>

/* Limits of a method's name and of a whole signature, in bytes. */
#define RAPAHUB_METHOD_NAME_MAX 63
#define RAPAHUB_SIGNATURE_MAX   1023

enum rapahub_method_kind {
    /* int function(void *self, A a, ..., R *result), which returns 0 or an error code. If the
     * result is void there is no `R *result`. Views in arguments hold until the function returns.
     * Data that *result points to must hold until the call is answered: see rapahub_chimod_alloc.
     */
    RAPAHUB_METHOD_CHECKED,
    /* R function(A a, ...): a C function that needs nothing of rapahub and cannot fail. A `string`
     * argument is a `const char *` ended by 0; a `bytes` argument is two, `const void *, size_t`. A
     * `string` result is a `const char *`, which is copied; `bytes` cannot be a result. */
    RAPAHUB_METHOD_PLAIN
};

/* A method. A list of methods ends with RAPAHUB_METHOD_END, and all of it is constant. */
struct rapahub_method {
    const char *name;                        /* letters, digits and _; the first is no digit */
    const struct rapahub_type *const *types; /* result, arguments, NULL */
    void (*function)(void);
    enum rapahub_method_kind kind;
};

#ifndef __cplusplus

#define RAPAHUB_METHOD_END                       \
    {                                            \
        NULL, NULL, NULL, RAPAHUB_METHOD_CHECKED \
    }

/* Makes an entry for `int function(void *self, arguments, result *)`. */
#define RAPAHUB_METHOD(method, c_function, ...)                    \
    {                                                              \
#method, RAPAHUB_TYPES(__VA_ARGS__),                       \
            _Generic(c_function, RAPAHUB_CHECKED_TYPE(__VA_ARGS__) \
                     : (void (*)(void))c_function),                \
            RAPAHUB_METHOD_CHECKED                                 \
    }

/* Makes an entry for `result function(arguments)`, with scalars and records. */
#define RAPAHUB_PLAIN(method, c_function, ...)                   \
    {                                                            \
#method, RAPAHUB_TYPES(__VA_ARGS__),                     \
            _Generic(c_function, RAPAHUB_PLAIN_TYPE(__VA_ARGS__) \
                     : (void (*)(void))c_function),              \
            RAPAHUB_METHOD_PLAIN                                 \
    }

/* Makes the list of descriptions of a result and its arguments, at file scope or in a function. */
#define RAPAHUB_TYPES(...)                                                          \
    (const struct rapahub_type *const[])                                            \
    {                                                                               \
        RAPAHUB_PASTE(RAPAHUB_TYPES_, RAPAHUB_COUNT(__VA_ARGS__))(__VA_ARGS__) NULL \
    }

/* The rest of this file implements the macros above. */
#define RAPAHUB_PASTE(a, b)                      RAPAHUB_PASTE_(a, b)
#define RAPAHUB_PASTE_(a, b)                     a##b
#define RAPAHUB_COUNT(...)                       RAPAHUB_COUNT_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)
#define RAPAHUB_COUNT_(a, b, c, d, e, f, n, ...) n
#define RAPAHUB_VOID_void                        ~, 1
#define RAPAHUB_SECOND(a, b, ...)                b
#define RAPAHUB_SECOND_OF(...)                   RAPAHUB_SECOND(__VA_ARGS__)
#define RAPAHUB_IS_VOID(word)                    RAPAHUB_SECOND_OF(RAPAHUB_VOID_##word, 0, 0)

/* Words as descriptions of types. */
#define RAPAHUB_TYPE_(word)         &rapahub_type_##word,
#define RAPAHUB_ARGUMENT_TYPE(word) RAPAHUB_PASTE(RAPAHUB_ARGUMENT_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_ARGUMENT_0(word)    &rapahub_type_##word,
#define RAPAHUB_ARGUMENT_1(word)

#define RAPAHUB_TYPES_2(r, a)             RAPAHUB_TYPE_(r) RAPAHUB_ARGUMENT_TYPE(a)
#define RAPAHUB_TYPES_3(r, a, b)          RAPAHUB_TYPE_(r) RAPAHUB_TYPE_(a) RAPAHUB_TYPE_(b)
#define RAPAHUB_TYPES_4(r, a, b, c)       RAPAHUB_TYPES_3(r, a, b) RAPAHUB_TYPE_(c)
#define RAPAHUB_TYPES_5(r, a, b, c, d)    RAPAHUB_TYPES_4(r, a, b, c) RAPAHUB_TYPE_(d)
#define RAPAHUB_TYPES_6(r, a, b, c, d, e) RAPAHUB_TYPES_5(r, a, b, c, d) RAPAHUB_TYPE_(e)

/* Parameters after the first: `, T` for each, and nothing for void. */
#define RAPAHUB_AFTER(word)   RAPAHUB_PASTE(RAPAHUB_AFTER_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_AFTER_0(word) , rapahub_t_##word
#define RAPAHUB_AFTER_1(word)
#define RAPAHUB_OUT(word)   RAPAHUB_PASTE(RAPAHUB_OUT_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_OUT_0(word) , rapahub_t_##word *
#define RAPAHUB_OUT_1(word)

#define RAPAHUB_CHECKED_TYPE(...) \
    RAPAHUB_PASTE(RAPAHUB_CHECKED_, RAPAHUB_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define RAPAHUB_CHECKED_2(r, a)    int (*)(void *RAPAHUB_AFTER(a) RAPAHUB_OUT(r))
#define RAPAHUB_CHECKED_3(r, a, b) int (*)(void *RAPAHUB_AFTER(a) RAPAHUB_AFTER(b) RAPAHUB_OUT(r))
#define RAPAHUB_CHECKED_4(r, a, b, c) \
    int (*)(void *RAPAHUB_AFTER(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c) RAPAHUB_OUT(r))
#define RAPAHUB_CHECKED_5(r, a, b, c, d)                                              \
    int (*)(void *RAPAHUB_AFTER(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c) RAPAHUB_AFTER(d) \
                RAPAHUB_OUT(r))
#define RAPAHUB_CHECKED_6(r, a, b, c, d, e)                                           \
    int (*)(void *RAPAHUB_AFTER(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c) RAPAHUB_AFTER(d) \
                RAPAHUB_AFTER(e) RAPAHUB_OUT(r))

#define RAPAHUB_RETURN(word)   RAPAHUB_PASTE(RAPAHUB_RETURN_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_RETURN_0(word) rapahub_t_##word
#define RAPAHUB_RETURN_1(word) void
#define RAPAHUB_FIRST(word)    RAPAHUB_PASTE(RAPAHUB_FIRST_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_FIRST_0(word)  rapahub_t_##word
#define RAPAHUB_FIRST_1(word)  void
#define RAPAHUB_PLAIN_TYPE(...) \
    RAPAHUB_PASTE(RAPAHUB_PLAIN_, RAPAHUB_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define RAPAHUB_PLAIN_2(r, a)    RAPAHUB_RETURN(r) (*)(RAPAHUB_FIRST(a))
#define RAPAHUB_PLAIN_3(r, a, b) RAPAHUB_RETURN(r) (*)(RAPAHUB_FIRST(a) RAPAHUB_AFTER(b))
#define RAPAHUB_PLAIN_4(r, a, b, c) \
    RAPAHUB_RETURN(r) (*)(RAPAHUB_FIRST(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c))
#define RAPAHUB_PLAIN_5(r, a, b, c, d) \
    RAPAHUB_RETURN(r)                  \
    (*)(RAPAHUB_FIRST(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c) RAPAHUB_AFTER(d))
#define RAPAHUB_PLAIN_6(r, a, b, c, d, e) \
    RAPAHUB_RETURN(r)                     \
    (*)(RAPAHUB_FIRST(a) RAPAHUB_AFTER(b) RAPAHUB_AFTER(c) RAPAHUB_AFTER(d) RAPAHUB_AFTER(e))

#endif

#endif
