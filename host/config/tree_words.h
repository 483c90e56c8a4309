/* SPDX-License-Identifier: Apache-2.0 */
/* tree_words: texts of host/supervise in the words of a tree file: keys and choices of tree_keys in
 * place of the members and constants of rapahub/supervise.h. */
#ifndef CONFIG_TREE_WORDS_H
#define CONFIG_TREE_WORDS_H

#define CONFIG_TREE_WORDS_MAX 8 /* keys of a text that are told */

struct config_tree_words {
    char text[800];
    const char *paths[CONFIG_TREE_WORDS_MAX]; /* the keys it names, in its order; static */
    unsigned count;
};

/* Translates a text. It begins with the name of a child and ": ", which stay as they are. The bits
 * in `of` are the kinds of maps that have the keys, as in tree_keys.h. */
void config_tree_words_take(const char *text, unsigned of, struct config_tree_words *out);

#endif
