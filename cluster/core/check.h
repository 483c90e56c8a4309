/* SPDX-License-Identifier: Apache-2.0 */
/* check: conditions that hold after each step. */
#ifndef CLUSTER_CORE_CHECK_H
#define CLUSTER_CORE_CHECK_H

#include "cluster/core/dispatch.h"

/* Returns NULL, or the condition that does not hold. It looks at everything, so a node asks once,
 * at its end. */
const char *cluster_check_core(const struct cluster_dispatch *core);

#endif
