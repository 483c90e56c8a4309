/* SPDX-License-Identifier: Apache-2.0 */
/* words: a chimod that counts the words of each line that comes to its role `in`, and publishes the
 * position of the line and the count by its role `out`. words.yaml gives it both. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/chimod.h>

static unsigned count_words(const char *line, size_t size)
{
    bool inside = false;
    unsigned words = 0;

    for (size_t i = 0; i < size; i++) {
        bool is_space = isspace((unsigned char)line[i]) != 0;

        words += !is_space && !inside;
        inside = !is_space;
    }
    return words;
}

/* A line that cannot be answered for now comes again, and so does one that the guest died over. */
static int words_message(void *self, const char *role, const struct rapahub_message *message)
{
    struct rapahub_producer *out;
    char answer[64];
    int size = snprintf(answer, sizeof answer, "%" PRIu64 " %u", message->position,
                        count_words(message->data, message->size));
    int r = rapahub_chimod_producer("out", &out);

    (void)self;
    (void)role;
    if (r == 0)
        r = rapahub_producer_push(out, answer, (size_t)size, 0);
    return r == RAPAHUB_EFULL ? RAPAHUB_EAGAIN : r;
}

static const struct rapahub_container_ops ops = {.message = words_message};

static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "words", .version = "1.0.0", .ops = &ops, .methods = methods);
