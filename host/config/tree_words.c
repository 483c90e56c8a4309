/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host/config/tree_keys.h"

#define WORD_SIZE 64

static void append(struct config_tree_words *out, const char *text, size_t size)
{
    size_t at = strlen(out->text);

    snprintf(out->text + at, sizeof out->text - at, "%.*s", (int)size, text);
}

/* Letters, digits, '_', and dots inside: "startup.period_ns". */
static size_t word_size(const char *text)
{
    size_t size = 0;

    while (isalnum((unsigned char)text[size]) || text[size] == '_' ||
           (text[size] == '.' && size > 0 && isalpha((unsigned char)text[size + 1])))
        size++;
    return size;
}

static void note_path(struct config_tree_words *out, const char *path)
{
    if (out->count < CONFIG_TREE_WORDS_MAX)
        out->paths[out->count++] = path;
}

/* "SLOW_RETRY" is slow_retry; other words in capitals, as SIGABRT, stay. */
static bool take_choice(struct config_tree_words *out, const char *word)
{
    char lower[WORD_SIZE];
    size_t size = strlen(word);

    for (size_t i = 0; i <= size; i++) {
        if (islower((unsigned char)word[i]))
            return false;
        lower[i] = (char)tolower((unsigned char)word[i]);
    }
    if (!config_tree_keys_is_choice(lower))
        return false;
    append(out, lower, size);
    return true;
}

static void take_word(struct config_tree_words *out, const char *text, size_t size, unsigned of)
{
    char word[WORD_SIZE];
    const char *path;

    if (size >= sizeof word) {
        append(out, text, size);
        return;
    }
    memcpy(word, text, size);
    word[size] = '\0';
    path = config_tree_keys_of_member(word, of);
    if (path) {
        note_path(out, path);
        append(out, path, strlen(path));
    } else if (!take_choice(out, word)) {
        append(out, text, size);
    }
}

void config_tree_words_take(const char *text, unsigned of, struct config_tree_words *out)
{
    const char *behind = strstr(text, ": ");

    out->text[0] = '\0';
    out->count = 0;
    if (behind) {
        append(out, text, (size_t)(behind - text) + 2);
        text = behind + 2;
    }
    while (*text) {
        size_t size = word_size(text);

        if (size > 0)
            take_word(out, text, size, of);
        else
            append(out, text, size = 1);
        text += size;
    }
}
