/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/invoke.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/wire/align.h"
#include "hub/wire/arena.h"
#include "hub/wire/c_type.h"
#include "hub/wire/number.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/words.h"

/* self and result, or each argument, where bytes are two */
#define PARAMETERS_MAX (2 * HUB_SIGNATURE_ARGUMENTS_MAX + 2)
#define ALIGNMENT      sizeof(max_align_t)

/* Offsets in a frame's memory. */
#define SELF_AT      0
#define POINTER_AT   ALIGNMENT /* the pointer to the result */
#define STATUS_AT    (2 * ALIGNMENT)
#define ARGUMENTS_AT (3 * ALIGNMENT)

/* The memory of one run. A run inside another run of the same plan uses the next deeper frame. */
struct frame {
    struct frame *deeper;
    char *texts; /* C strings for the arguments of a plain function */
    size_t texts_size;
    struct hub_align aligned;     /* copies of bytes that were not aligned */
    void *values[PARAMETERS_MAX]; /* address of each parameter */
    max_align_t memory[];
};

/* The way a plan is run, chosen when it is prepared. Returns 0 or a failure. */
typedef int run_function(struct hub_invoke *invoke, struct frame *frame,
                         const struct hub_invoke_target *to, struct hub_reader *arguments,
                         struct hub_outcome *out);

struct hub_invoke {
    const struct rapahub_method *method;
    run_function *run;
    struct hub_signature *signature;
    ffi_cif cif;
    bool has_streams;
    bool has_bytes; /* an argument has bytes */
    bool by_words;  /* called through `words`, without libffi */
    struct hub_words words;
    unsigned parameter_count;
    ffi_type *parameters[PARAMETERS_MAX];
    size_t places[PARAMETERS_MAX]; /* offset of each parameter in a frame's memory */
    size_t arguments[HUB_SIGNATURE_ARGUMENTS_MAX];
    size_t result;
    size_t size; /* bytes of a frame's memory */
    void *blocks;
    unsigned depth; /* running calls */
    struct frame *frames;
};

static void *memory_at(struct frame *frame, size_t offset)
{
    return (char *)frame->memory + offset;
}

static void add_parameter(struct hub_invoke *invoke, ffi_type *type, size_t place)
{
    invoke->parameters[invoke->parameter_count] = type;
    invoke->places[invoke->parameter_count++] = place;
}

/* Reserves space for a value in each frame's memory, never less than libffi writes for a result. */
static size_t add_room(struct hub_invoke *invoke, size_t size)
{
    size_t place = invoke->size;

    invoke->size += size < ALIGNMENT ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return place;
}

/* A view is passed to a plain function as parameters of its own: the data, and for bytes the
 * size. */
static void add_plain_view(struct hub_invoke *invoke, enum rapahub_kind kind, size_t place)
{
    if (kind == RAPAHUB_KIND_STRING) {
        add_parameter(invoke, &ffi_type_pointer, place + offsetof(struct rapahub_string, data));
    } else {
        add_parameter(invoke, &ffi_type_pointer, place + offsetof(struct rapahub_bytes, data));
        add_parameter(invoke, &ffi_type_ulong, place + offsetof(struct rapahub_bytes, size));
    }
}

static int add_argument(struct hub_invoke *invoke, uint32_t index)
{
    const struct rapahub_type *type = invoke->signature->types[1 + index];
    size_t place = add_room(invoke, type->size);
    ffi_type *c_type;
    int r = hub_c_type_of(&invoke->blocks, type, &c_type);

    if (r < 0)
        return r;
    invoke->arguments[index] = place;
    invoke->has_streams = invoke->has_streams || hub_signature_is_stream(type);
    invoke->has_bytes = invoke->has_bytes || hub_align_concerns(type);
    if (invoke->method->kind == RAPAHUB_METHOD_PLAIN && hub_c_type_has_views(type))
        add_plain_view(invoke, type->kind, place);
    else
        add_parameter(invoke, c_type, place);
    return 0;
}

static int add_parameters(struct hub_invoke *invoke, bool checked)
{
    if (checked)
        add_parameter(invoke, &ffi_type_pointer, SELF_AT);
    for (uint32_t i = 0; i < invoke->signature->argument_count; i++) {
        int r = add_argument(invoke, i);

        if (r < 0)
            return r;
    }
    if (checked && invoke->signature->types[0]->kind != RAPAHUB_KIND_VOID)
        add_parameter(invoke, &ffi_type_pointer, POINTER_AT);
    return 0;
}

static int refuse_plain(const struct hub_invoke *invoke, const char *why)
{
    return rapahub_fail(RAPAHUB_ENOTSUP, "", "plain method '%s': %s", invoke->signature->name, why);
}

static int check_plain(const struct hub_invoke *invoke)
{
    const struct rapahub_type *const *types = invoke->signature->types;

    if (types[0]->kind == RAPAHUB_KIND_BYTES)
        return refuse_plain(invoke, "a C function cannot return bytes, nobody knows how many");
    for (size_t i = 0; types[i]; i++) {
        if (types[i]->kind == RAPAHUB_KIND_RECORD && hub_c_type_has_views(types[i]))
            return refuse_plain(invoke, "its records cannot hold strings or bytes");
        if (hub_signature_is_stream(types[i]))
            return refuse_plain(invoke, "a C function that knows nothing of rapahub reads no "
                                        "streams");
    }
    return 0;
}

static bool is_raw(const struct hub_invoke *invoke)
{
    const struct hub_signature *signature = invoke->signature;

    return invoke->method->kind == RAPAHUB_METHOD_CHECKED && signature->argument_count == 1 &&
           signature->types[0]->kind == RAPAHUB_KIND_BYTES &&
           signature->types[1]->kind == RAPAHUB_KIND_BYTES;
}

/* Adds self, the arguments, and the pointer to the result. */
static bool plan_words(struct hub_invoke *invoke)
{
    const struct hub_signature *signature = invoke->signature;
    bool fits = invoke->method->kind == RAPAHUB_METHOD_CHECKED &&
                hub_words_add_pointer(&invoke->words, SELF_AT);

    for (uint32_t i = 0; fits && i < signature->argument_count; i++)
        fits = hub_words_add(&invoke->words, signature->types[1 + i], invoke->arguments[i]);
    return fits && (signature->types[0]->kind == RAPAHUB_KIND_VOID ||
                    hub_words_add_pointer(&invoke->words, POINTER_AT));
}

static int plan(struct hub_invoke *invoke)
{
    const struct rapahub_type *type = invoke->signature->types[0];
    bool checked = invoke->method->kind == RAPAHUB_METHOD_CHECKED;
    ffi_type *result;
    int r = checked ? 0 : check_plain(invoke);

    if (r < 0)
        return r;
    r = hub_c_type_of(&invoke->blocks, type, &result);
    if (r < 0)
        return r;
    if (type->kind == RAPAHUB_KIND_STRING)
        result = &ffi_type_pointer;
    invoke->size = ARGUMENTS_AT;
    invoke->result = add_room(invoke, type->size);
    r = add_parameters(invoke, checked);
    if (r < 0)
        return r;
    if (ffi_prep_cif(&invoke->cif, FFI_DEFAULT_ABI, invoke->parameter_count,
                     checked ? &ffi_type_sint : result, invoke->parameters) != FFI_OK)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "method '%s' cannot be called",
                            invoke->signature->name);
    invoke->by_words = plan_words(invoke);
    return 0;
}

static struct frame *new_frame(const struct hub_invoke *invoke)
{
    struct frame *frame = calloc(1, sizeof(*frame) + invoke->size);
    void *result;

    if (!frame)
        return NULL;
    for (unsigned i = 0; i < invoke->parameter_count; i++)
        frame->values[i] = memory_at(frame, invoke->places[i]);
    result = memory_at(frame, invoke->result);
    memcpy(memory_at(frame, POINTER_AT), &result, sizeof(result));
    return frame;
}

void hub_invoke_release(struct hub_invoke **invoke)
{
    struct hub_invoke *gone = *invoke;
    struct frame *deeper;

    *invoke = NULL;
    if (!gone)
        return;
    for (struct frame *frame = gone->frames; frame; frame = deeper) {
        deeper = frame->deeper;
        free(frame->texts);
        hub_align_fini(&frame->aligned);
        free(frame);
    }
    hub_signature_release(&gone->signature);
    hub_arena_release(&gone->blocks);
    free(gone);
}

const struct hub_signature *hub_invoke_signature(const struct hub_invoke *invoke)
{
    return invoke->signature;
}

bool hub_invoke_has_streams(const struct hub_invoke *invoke)
{
    return invoke->has_streams;
}

static int no_memory(const struct hub_invoke *invoke)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to call '%s'", invoke->signature->name);
}

/* Returns the frame of a run that begins, or NULL if there is no memory. */
static struct frame *find_frame(struct hub_invoke *invoke)
{
    struct frame **frame = &invoke->frames;

    if (invoke->depth == 0) /* made when the plan was prepared */
        return *frame;
    for (unsigned depth = 0; depth < invoke->depth; depth++)
        frame = &(*frame)->deeper;
    if (!*frame)
        *frame = new_frame(invoke);
    return *frame;
}

static int refuse_arguments(const struct hub_invoke *invoke)
{
    return rapahub_fail(RAPAHUB_EARGUMENTS, "call.error.invalid-payload", "arguments of '%s': %s",
                        invoke->signature->name, rapahub_last_error()->text);
}

/* r[impl call.error.invalid-payload] */
static int decode(const struct hub_invoke *invoke, struct frame *frame, struct hub_reader *reader)
{
    const struct hub_signature *signature = invoke->signature;

    for (uint32_t i = 0; i < signature->argument_count && !reader->failure; i++)
        hub_payload_decode(reader, signature->types[1 + i], memory_at(frame, invoke->arguments[i]));
    return hub_postcard_end(reader) < 0 ? refuse_arguments(invoke) : 0;
}

/* Replaces the ids of channels by the streams that the method works with. */
static int open_streams(const struct hub_invoke *invoke, struct frame *frame,
                        const struct hub_invoke_streams *streams)
{
    const struct hub_signature *signature = invoke->signature;

    for (uint32_t i = 0; i < signature->argument_count; i++) {
        const struct rapahub_type *type = signature->types[1 + i];
        void *place = memory_at(frame, invoke->arguments[i]);
        uint64_t id;
        void *stream;

        if (!hub_signature_is_stream(type))
            continue;
        memcpy(&id, place, sizeof id);
        stream = streams ? streams->find(streams->user, type, id) : NULL;
        if (!stream)
            return rapahub_fail(RAPAHUB_EARGUMENTS, "call.error.invalid-payload",
                                "argument %u of '%s' is no stream here", i + 1, signature->name);
        memcpy(place, &stream, sizeof stream);
    }
    return 0;
}

static bool is_text(const struct hub_invoke *invoke, uint32_t argument)
{
    return invoke->signature->types[1 + argument]->kind == RAPAHUB_KIND_STRING;
}

static int reserve_texts(const struct hub_invoke *invoke, struct frame *frame)
{
    size_t size = 0;
    char *texts;

    for (uint32_t i = 0; i < invoke->signature->argument_count; i++)
        if (is_text(invoke, i)) {
            const struct rapahub_string *string = memory_at(frame, invoke->arguments[i]);

            size += string->size + 1;
        }
    if (size <= frame->texts_size)
        return 0;
    texts = realloc(frame->texts, size);
    if (!texts)
        return no_memory(invoke);
    frame->texts = texts;
    frame->texts_size = size;
    return 0;
}

/* Replaces strings by copies that end with 0. */
static int end_texts(const struct hub_invoke *invoke, struct frame *frame)
{
    int r = reserve_texts(invoke, frame);
    char *to = frame->texts;

    for (uint32_t i = 0; r == 0 && i < invoke->signature->argument_count; i++) {
        struct rapahub_string *string = memory_at(frame, invoke->arguments[i]);

        if (!is_text(invoke, i))
            continue;
        if (string->size && memchr(string->data, 0, string->size))
            return rapahub_fail(RAPAHUB_EARGUMENTS, "call.error.invalid-payload",
                                "argument %u of '%s' holds a 0 byte, which ends a C string", i + 1,
                                invoke->signature->name);
        if (string->size)
            memcpy(to, string->data, string->size);
        to[string->size] = '\0';
        string->data = to;
        to += string->size + 1;
    }
    return r;
}

/* libffi 3.4 writes the addresses of its own copies of records and views into the list of values,
 * and the copies are gone when it returns. So each call has a list of its own. */
static void call_by_ffi(struct hub_invoke *invoke, const struct frame *frame, void *result)
{
    void *values[PARAMETERS_MAX];

    for (unsigned i = 0; i < invoke->parameter_count; i++)
        values[i] = frame->values[i];
    ffi_call(&invoke->cif, invoke->method->function, result, values);
}

static void call_checked(struct hub_invoke *invoke, struct frame *frame, void *self,
                         struct hub_outcome *out)
{
    ffi_arg *status = memory_at(frame, STATUS_AT);

    memcpy(memory_at(frame, SELF_AT), &self, sizeof(self));
    if (invoke->by_words) {
        out->status = hub_words_call(&invoke->words, invoke->method->function, frame->memory);
        return;
    }
    call_by_ffi(invoke, frame, status);
    out->status = (int)*status;
}

static int view_text(const struct hub_invoke *invoke, void *result)
{
    struct rapahub_string string = {NULL, 0};

    memcpy(&string.data, result, sizeof(string.data));
    string.size = string.data ? strnlen(string.data, HUB_INVOKE_TEXT_MAX + 1) : 0;
    memcpy(result, &string, sizeof(string));
    if (string.size <= HUB_INVOKE_TEXT_MAX)
        return 0;
    return rapahub_fail(RAPAHUB_EMSGSIZE, "", "'%s' returned a text longer than %d bytes",
                        invoke->signature->name, HUB_INVOKE_TEXT_MAX);
}

/* libffi widens integers to a word; this puts the value where its type expects it. */
static int settle_result(const struct hub_invoke *invoke, void *result)
{
    const struct rapahub_type *type = invoke->signature->types[0];
    ffi_arg wide;

    memcpy(&wide, result, sizeof(wide));
    if (type->kind == RAPAHUB_KIND_STRING)
        return view_text(invoke, result);
    if (type->kind == RAPAHUB_KIND_BOOL)
        hub_number_store(result, sizeof(bool), (uint8_t)wide != 0);
    else if (type->kind >= RAPAHUB_KIND_I8 && type->kind <= RAPAHUB_KIND_U64)
        hub_number_store(result, type->size, wide);
    return 0;
}

static int call(struct hub_invoke *invoke, struct frame *frame, void *self, struct hub_outcome *out)
{
    void *result = memory_at(frame, invoke->result);

    memset(result, 0, invoke->signature->types[0]->size);
    out->result = result;
    out->status = 0;
    if (invoke->method->kind == RAPAHUB_METHOD_CHECKED) {
        call_checked(invoke, frame, self, out);
        return 0;
    }
    call_by_ffi(invoke, frame, result);
    return settle_result(invoke, result);
}

static int run_by_ffi(struct hub_invoke *invoke, struct frame *frame,
                      const struct hub_invoke_target *to, struct hub_reader *arguments,
                      struct hub_outcome *out)
{
    int r = decode(invoke, frame, arguments);

    if (r == 0 && invoke->has_bytes)
        r = hub_align_values(invoke->signature->types + 1, frame->memory, invoke->arguments,
                             &frame->aligned);
    if (r == 0 && invoke->has_streams)
        r = open_streams(invoke, frame, to->streams);
    if (r == 0 && invoke->method->kind == RAPAHUB_METHOD_PLAIN)
        r = end_texts(invoke, frame);
    return r == 0 ? call(invoke, frame, to->self, out) : r;
}

/* The one shape that is called through its own C type. libffi would sort the struct into registers
 * at each call, which costs more than all the rest of a small call. */
static int run_raw(struct hub_invoke *invoke, struct frame *frame,
                   const struct hub_invoke_target *to, struct hub_reader *arguments,
                   struct hub_outcome *out)
{
    struct rapahub_bytes *result = memory_at(frame, invoke->result);
    struct rapahub_bytes in = hub_postcard_read_bytes(arguments);

    if (hub_postcard_end(arguments) < 0)
        return refuse_arguments(invoke);
    if (hub_align_bytes(&in, &frame->aligned) < 0)
        return RAPAHUB_ENOMEM;
    *result = (struct rapahub_bytes){NULL, 0};
    out->result = result;
    out->status = ((hub_invoke_raw_function *)invoke->method->function)(to->self, in, result);
    return 0;
}

hub_invoke_raw_function *hub_invoke_raw(const struct hub_invoke *invoke)
{
    return invoke->run == run_raw ? (hub_invoke_raw_function *)invoke->method->function : NULL;
}

int hub_invoke_prepare(const struct rapahub_method *method, struct hub_invoke **out)
{
    OWN(hub_invoke) struct hub_invoke *invoke = calloc(1, sizeof(*invoke));
    int r;

    if (!invoke)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a method");
    invoke->method = method;
    r = hub_signature_make(method->name, method->types, &invoke->signature);
    if (r < 0)
        return r;
    if (!method->function || (unsigned)method->kind > RAPAHUB_METHOD_PLAIN)
        return rapahub_fail(RAPAHUB_EINVAL, "", "method '%s' has no function", method->name);
    r = plan(invoke);
    if (r < 0)
        return r;
    invoke->run = is_raw(invoke) ? run_raw : run_by_ffi;
    invoke->frames = new_frame(invoke);
    if (!invoke->frames)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for method '%s'", method->name);
    *out = TAKE(invoke);
    return 0;
}

int hub_invoke_call(struct hub_invoke *invoke, const struct hub_invoke_target *to,
                    struct hub_reader *arguments, struct hub_outcome *out)
{
    struct frame *frame = find_frame(invoke);
    int r;

    if (!frame)
        return no_memory(invoke);
    invoke->depth++;
    r = invoke->run(invoke, frame, to, arguments, out);
    invoke->depth--;
    return r;
}
