/* SPDX-License-Identifier: Apache-2.0 */
/* leak: finds resources that a test does not release. Everything opened between leak_begin and
 * leak_end must be closed again: descriptors, children (zombies count), threads, mappings of
 * segments, and files of segments in /dev/shm.
 *
 *     struct leak *leak = leak_begin();
 *     ...
 *     leak_assert_none(leak);
 *
 * Only files of this process, of its living descendants and of adopted processes count, because
 * another test may run at the same time under the same user.
 */
#ifndef TESTS_SUPPORT_LEAK_H
#define TESTS_SUPPORT_LEAK_H

#include <stdlib.h>
#include <sys/types.h>

struct leak;

/* Never NULL: without memory the program ends. */
struct leak *leak_begin(void);

/* Adds a process that this test started: its files count even after its death. */
void leak_adopt(struct leak *leak, pid_t pid);

/* Returns the leaks at this moment, like leak_end, but checks once and keeps `leak`. */
char *leak_left(const struct leak *leak);

/* Releases `leak`. Returns NULL if nothing is left, else a text with one line for each thing, which
 * the caller frees. The kernel closes some things late, so it retries for at most 2 s. */
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
