/* SPDX-License-Identifier: Apache-2.0 */
/* oracle: a metastore in memory that is too simple to be wrong: a list of all rows ever written,
 * searched from its beginning. Back ends are compared with it. It is one itself, "oracle:", so the
 * suite of conformance shows that it keeps the same rules. It ends with the process. */
#ifndef TESTS_METASTORE_ORACLE_H
#define TESTS_METASTORE_ORACLE_H

#include "cluster/metastore/metastore.h"

extern const struct cluster_metastore_end oracle_end;

/* Forgets the rows of all earlier ones: the next that is opened with `create` begins empty. */
void oracle_reset(void);

#endif
