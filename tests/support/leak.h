/* SPDX-License-Identifier: Apache-2.0 */
/* leak: what a test left behind. Between leak_begin and leak_end everything that was opened must be
 * closed again: descriptors, children (zombies count), threads, mappings of segments, and files of
 * segments in /dev/shm.
 *
 *     struct leak *leak = leak_begin();
 *     ...
 *     leak_assert_none(leak);
 *
 * Only files of this process, of its living descendants and of adopted ones are looked at: another
 * test may run beside this one under the same user.
 */
#ifndef TESTS_SUPPORT_LEAK_H
#define TESTS_SUPPORT_LEAK_H

#include <stdlib.h>
#include <sys/types.h>

struct leak;

/* Never NULL: without memory the program ends. */
struct leak *leak_begin(void);

/* A process this test started: its files count even when it is dead. */
void leak_adopt(struct leak *leak, pid_t pid);

/* What is left at this moment, as leak_end; looks once and keeps `leak`. */
char *leak_left(const struct leak *leak);

/* Releases `leak`. NULL if nothing is left; else a text that the caller frees, one line for each
 * thing. The kernel closes some things late, so it looks again for at most 2 s. */
char *leak_end(struct leak *leak);

/* For a cmocka test, whose fail_msg it uses. */
#define leak_assert_none(leak)                           \
    do {                                                 \
        char *leak_left_ = leak_end(leak);               \
        if (leak_left_) {                                \
            print_error("left behind:\n%s", leak_left_); \
            free(leak_left_);                            \
            fail_msg("the test left something behind");  \
        }                                                \
    } while (0)

#endif
