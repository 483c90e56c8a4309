/* SPDX-License-Identifier: Apache-2.0 */
/* linting: options of supervision that are taken, and options that are refused with a text. */
#ifndef TESTS_UNIT_HOST_SUPERVISE_LINTING_H
#define TESTS_UNIT_HOST_SUPERVISE_LINTING_H

#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/lint.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS          HUB_MILLISECOND
#define SECOND      HUB_SECOND
#define HOUR        (3600 * HUB_SECOND)
#define DAY         (24 * HOUR)
#define COUNT(list) (sizeof(list) / sizeof *(list))

static inline void assert_taken(struct rapahub_supervision how)
{
    struct rapahub_supervision out;
    int r = host_lint_child("kv", &how, NULL, &out);

    if (r < 0)
        print_error("%s\n", rapahub_last_error()->text);
    assert_int_equal(r, 0);
}

static inline void assert_told(int r, const char *rule, const char *text)
{
    assert_int_equal(r, RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, rule);
    assert_string_equal(rapahub_last_error()->text, text);
}

/* The refusal leaves the result alone. */
static inline void assert_refused_below(const struct rapahub_supervisor_options *parent,
                                        struct rapahub_supervision how, const char *rule,
                                        const char *text)
{
    struct rapahub_supervision out = {.user = &out};

    assert_told(host_lint_child("kv", &how, parent, &out), rule, text);
    assert_ptr_equal(out.user, &out);
}

static inline void assert_refused(struct rapahub_supervision how, const char *rule,
                                  const char *text)
{
    assert_refused_below(NULL, how, rule, text);
}

#endif
