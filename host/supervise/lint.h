/* SPDX-License-Identifier: Apache-2.0 */
/* lint: fills in the options of supervision and checks them. Each refusal is -EINVAL with its rule,
 * and a text that names the child, the option and the remedy. Pure. */
#ifndef HOST_SUPERVISE_LINT_H
#define HOST_SUPERVISE_LINT_H

#include <rapahub/supervise.h>

#define HOST_LINT_STOP_MAX UINT64_C(3600000000000) /* an hour */

/* Fills in the defaults; `given` NULL means all of them. `name` is the child's, for the text.
 * `parent` has the complete options of its supervisor; NULL: there is none.
 * r[impl supervise.lint] */
int host_lint_child(const char *name, const struct rapahub_supervision *given,
                    const struct rapahub_supervisor_options *parent,
                    struct rapahub_supervision *out);

/* The same for a supervisor. Its options as a child, `supervision`, are checked by
 * host_lint_child. */
int host_lint_supervisor(const struct rapahub_supervisor_options *given,
                         struct rapahub_supervisor_options *out);

/* Returns the longest time from the goodbye to SIGKILL, in nanoseconds. */
uint64_t host_lint_stop_ns(const struct rapahub_supervision *how);

#endif
