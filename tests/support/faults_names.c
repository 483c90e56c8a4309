/* SPDX-License-Identifier: Apache-2.0 */
/* faults_names: separate from faults.c, for programs in which nothing fails. */
#include "tests/support/faults.h"

const char *faults_names_of(enum faults_function function)
{
#define FAULTS_NAME(name, error) #name,
    static const char *const names[] = {FAULTS_EACH(FAULTS_NAME)};
#undef FAULTS_NAME

    return names[function];
}
