/* SPDX-License-Identifier: Apache-2.0 */
/* lint: options of supervision as they hold, and what is wrong with them: each refusal is -EINVAL
 * with its rule, and a text that names the child, the option, and what to do. Pure. */
#ifndef HOST_SUPERVISE_LINT_H
#define HOST_SUPERVISE_LINT_H

#include <rapahub/supervise.h>

#define HOST_LINT_STOP_MAX UINT64_C(3600000000000) /* one hour */

/* Fills in the defaults; `given` NULL: all of them. `name` is the child's, for the text; `parent`
 * its supervisor's options, as they hold; NULL: it has none. r[impl supervise.lint] */
int host_lint_child(const char *name, const struct rapahub_supervision *given,
                    const struct rapahub_supervisor_options *parent,
                    struct rapahub_supervision *out);

/* The same of a supervisor; what it is as a child, `supervision`, is looked at by the above. */
int host_lint_supervisor(const struct rapahub_supervisor_options *given,
                         struct rapahub_supervisor_options *out);

/* From the goodbye to SIGKILL. */
uint64_t host_lint_stop_ns(const struct rapahub_supervision *how);

#endif
