/* SPDX-License-Identifier: Apache-2.0 */
/* guest_options: the options of a guest that stands in no tree, from maps of keys of
 * rapahub-tree(5) in another file; and as pairs of a key and a word or a number, for those who read
 * no YAML. Each option has one such form, however it was written.
 */
#ifndef CONFIG_GUEST_OPTIONS_H
#define CONFIG_GUEST_OPTIONS_H

#include "host/config/tree.h"

#define CONFIG_GUEST_OPTIONS_WORD 63 /* bytes of a word */

/* The form of a value, by the type of its key in rapahub-tree(5):
 *
 *     a duration        ns; `none`, `forever`
 *     a size, a count   the number; restarts also `none`
 *     a signal          its number
 *     ends with status  for each a pair: 0x100 + status, or 0x200 + signal
 *     a number, a word, a text, true and false: the word
 *     a list of words   a pair for each, in their order
 *     5/60s             two pairs, of the keys KEY.max and KEY.period
 */
struct config_guest_option {
    const char *key;  /* "backoff.max" */
    const char *word; /* "": it is a number */
    uint64_t number;
};

struct config_guest_options {
    struct config_yaml *yaml;
    struct config_tree_node *to;
    /* Told each option that a map has, which is good until it returns; a result other than 0 ends
     * the reading. */
    int (*visit)(void *user, const struct config_guest_option *option);
    void *user;
};

/* Reads a map whose keys continue `before` ("" or "limits."), and tells its options in the file's
 * order. RAPAHUB_ECONFIG names the place; a key that needs siblings is refused, and so is a word
 * that is too long; else the result of the visit that ended it. */
int config_guest_options_read(const struct config_guest_options *options, const char *before,
                              struct fy_node *map);

#endif
