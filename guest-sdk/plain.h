/* SPDX-License-Identifier: Apache-2.0 */
/* plain: methods of a library that is no chimod. Their signatures are given at the start, and their
 * functions are found by name. Serving thread. */
#ifndef GUEST_SDK_PLAIN_H
#define GUEST_SDK_PLAIN_H

#include "guest-sdk/load.h"

/* Makes module->chimod from the signatures, ended by NULL. -EINVAL for a text that is no signature,
 * RAPAHUB_ELOAD if the library has no such symbol. */
int guest_plain_open(struct guest_module *module, const char *const *signatures);
void guest_plain_release(struct guest_plain **plain);

#endif
