/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/keys.h"

#include <limits.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/base/txn.h"
#include "hub/base/bytes.h"

static const char *const forms[CLUSTER_KEY_KINDS] = {
#define FORM(kind, form) [CLUSTER_KEY_##kind] = (form),
    CLUSTER_KEYS(FORM)
#undef FORM
};

static const char hex_digits[] = "0123456789abcdef";

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Says whether it has 1 to `most` letters, digits and bytes of `more`, and begins with none of
 * `not_first`. */
static bool is_word(struct rapahub_string text, size_t most, const char *more,
                    const char *not_first)
{
    if (text.size == 0 || text.size > most || strchr(not_first, text.data[0]))
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\0' ||
            (!is_letter_or_digit(text.data[i]) && !strchr(more, text.data[i])))
            return false;
    return true;
}

/* r[impl cluster.keys.name] */
bool cluster_keys_is_name(struct rapahub_string text)
{
    return is_word(text, CLUSTER_KEYS_NAME_MAX, "_-.", "-.");
}

bool cluster_keys_is_version(struct rapahub_string text)
{
    return is_word(text, CLUSTER_KEYS_VERSION_MAX, "_-.+~", "-.+~");
}

static bool is_hex(struct rapahub_string text, size_t least, size_t most)
{
    if (text.size < least || text.size > most)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (!memchr(hex_digits, text.data[i], 16))
            return false;
    return true;
}

/* Digits of the number that stands for this letter of a form; 0: it stands for a text. */
static size_t width_of(char letter)
{
    switch (letter) {
    case 'n':
    case 'c':
        return 8;
    case 'p':
    case 'o':
    case 's':
        return 16;
    case 'm':
        return 2;
    default:
        return 0;
    }
}

static uint64_t number_of(const struct cluster_key *key, char letter)
{
    switch (letter) {
    case 'n':
        return key->node;
    case 'c':
        return key->container;
    case 'p':
        return key->pool;
    case 's':
        return key->revision;
    case 'm':
        return key->slot;
    default:
        return key->number;
    }
}

static void set_number(struct cluster_key *key, char letter, uint64_t number)
{
    switch (letter) {
    case 'n':
        key->node = (uint32_t)number;
        break;
    case 'c':
        key->container = (uint32_t)number;
        break;
    case 'p':
        key->pool = number;
        break;
    case 's':
        key->revision = number;
        break;
    case 'm':
        key->slot = (uint32_t)number;
        break;
    default:
        key->number = number;
        break;
    }
}

static bool is_sound_number(char letter, uint64_t number)
{
    switch (letter) {
    case 'c':
        return number <= UINT32_MAX && cluster_ids_is_container((uint32_t)number);
    case 'p':
        return cluster_ids_is_pool(number);
    case 's':
        return cluster_ids_is_revision(number);
    case 'm':
        return number < CLUSTER_TXN_FLIGHT_MAX;
    default:
        return number > 0;
    }
}

static bool is_sound_text(char letter, struct rapahub_string text)
{
    switch (letter) {
    case 'a':
        return cluster_keys_is_name(text);
    case 'v':
        return cluster_keys_is_version(text);
    case 'x':
        return is_hex(text, 1, CLUSTER_KEYS_SERIAL_MAX);
    default:
        return is_hex(text, CLUSTER_KEYS_DIGEST, CLUSTER_KEYS_DIGEST);
    }
}

/* r[impl cluster.keys.order] */
static void put_hex(struct hub_writer *writer, uint64_t number, size_t width)
{
    for (size_t i = width; i-- > 0;)
        hub_writer_byte(writer, (uint8_t)hex_digits[number >> 4 * i & 15]);
}

static const struct rapahub_string *text_of(const struct cluster_key *key, char letter)
{
    return letter == 'v' ? &key->version : &key->text;
}

/* Writes the form up to `end` of it. Returns whether all that stands in it is sound. */
static bool put_form(struct hub_writer *writer, const struct cluster_key *key, const char *form,
                     const char *end)
{
    for (; form < end; form++) {
        if (*form != '%') {
            hub_writer_byte(writer, (uint8_t)*form);
            continue;
        }
        form++;
        if (width_of(*form) > 0) {
            if (!is_sound_number(*form, number_of(key, *form)))
                return false;
            put_hex(writer, number_of(key, *form), width_of(*form));
        } else {
            if (!is_sound_text(*form, *text_of(key, *form)))
                return false;
            hub_writer_put(writer, text_of(key, *form)->data, text_of(key, *form)->size);
        }
    }
    return writer->failure == 0;
}

int cluster_keys_build(const struct cluster_key *key, char to[CLUSTER_KEYS_SIZE_MAX])
{
    struct hub_writer writer;
    const char *form;

    hub_writer_init(&writer, to, CLUSTER_KEYS_SIZE_MAX);
    if ((uint32_t)key->kind >= CLUSTER_KEY_KINDS)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.keys.form", "%d is no kind of key", key->kind);
    form = forms[key->kind];
    if (!put_form(&writer, key, form, form + strlen(form)))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.keys.form",
                            "a number or a text that is in no key like %s", form);
    return (int)writer.size;
}

int cluster_keys_prefix(enum cluster_keys_kind kind, uint64_t pool,
                        char from[CLUSTER_KEYS_SIZE_MAX], char past[CLUSTER_KEYS_SIZE_MAX])
{
    const struct cluster_key key = {.kind = kind, .pool = pool};
    bool of_pool = pool != 0 && (kind == CLUSTER_KEY_ENTRY || kind == CLUSTER_KEY_HOLD);
    struct hub_writer writer;
    const char *form, *end;

    hub_writer_init(&writer, from, CLUSTER_KEYS_SIZE_MAX);
    if ((uint32_t)kind >= CLUSTER_KEY_KINDS)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.keys.form", "%d is no kind of key", kind);
    form = forms[kind];
    end = of_pool ? strrchr(form, '%') : strchr(form, '%');
    if (!put_form(&writer, &key, form, end ? end : form + strlen(form)))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.keys.form", "no pool of a cluster");
    memcpy(past, from, writer.size);
    past[writer.size - 1]++;
    return (int)writer.size;
}

/* Takes `width` hexadecimal digits from the reader. */
static bool read_number(struct hub_reader *reader, char letter, struct cluster_key *out)
{
    size_t width = width_of(letter);
    uint64_t number = 0;

    if (hub_reader_left(reader) < width)
        return false;
    for (size_t i = 0; i < width; i++) {
        const char *digit = memchr(hex_digits, *reader->at++, 16);

        if (!digit)
            return false;
        number = number << 4 | (uint64_t)(digit - hex_digits);
    }
    set_number(out, letter, number);
    return is_sound_number(letter, number);
}

/* Takes a text, up to the next '/' or the end. */
static bool read_text(struct hub_reader *reader, char letter, struct cluster_key *out)
{
    const uint8_t *slash = memchr(reader->at, '/', hub_reader_left(reader));
    struct rapahub_string text = {(const char *)reader->at,
                                  (size_t)((slash ? slash : reader->end) - reader->at)};

    *(letter == 'v' ? &out->version : &out->text) = text;
    reader->at += text.size;
    return is_sound_text(letter, text);
}

static bool has_form(struct rapahub_bytes text, const char *form, struct cluster_key *out)
{
    struct hub_reader reader;

    hub_reader_init(&reader, text.data, text.size);
    for (; *form; form++) {
        if (*form == '%') {
            form++;
            if (width_of(*form) > 0 ? !read_number(&reader, *form, out)
                                    : !read_text(&reader, *form, out))
                return false;
        } else if (hub_reader_left(&reader) == 0 || *reader.at++ != (uint8_t)*form) {
            return false;
        }
    }
    return hub_reader_left(&reader) == 0;
}

/* r[impl cluster.keys.form] */
int cluster_keys_parse(struct rapahub_bytes text, struct cluster_key *out)
{
    for (int kind = 0; kind < CLUSTER_KEY_KINDS && text.size <= CLUSTER_KEYS_SIZE_MAX; kind++) {
        memset(out, 0, sizeof *out);
        out->kind = (enum cluster_keys_kind)kind;
        if (has_form(text, forms[kind], out))
            return 0;
    }
    memset(out, 0, sizeof *out);
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.keys.form", "'%.*s' is no key of a cluster",
                        text.size < CLUSTER_KEYS_SIZE_MAX ? (int)text.size : CLUSTER_KEYS_SIZE_MAX,
                        text.size > 0 ? (const char *)text.data : "");
}
