/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/check.h"

#include <stdlib.h>

#include <rapahub/log.h>

void hub_check_failed(const char *file, int line, const char *what)
{
    rapahub_log(RAPAHUB_LOG_ERROR, "check", "%s:%d: does not hold: %s", file, line, what);
    abort();
}
