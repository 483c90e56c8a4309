/* SPDX-License-Identifier: Apache-2.0 */
/* pool_module: what the reader of a pool file must know of a module: of one in a file, read without
 * running anything of it, or of one that a node has.
 */
#ifndef CLUSTER_CLI_POOL_MODULE_H
#define CLUSTER_CLI_POOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/keys.h"
#include "cluster/wire/pool_spec.h"
#include "host/cli/text/texts.h"

/* Must be zeroed before the first use. */
struct cluster_pool_module {
    char name[CLUSTER_KEYS_NAME_MAX + 1], version[CLUSTER_KEYS_VERSION_MAX + 1];
    uint8_t digest[CLUSTER_POOL_SPEC_DIGEST]; /* SHA-256 of the file */
    bool saves;                               /* it has the callback save */
    bool saves_unknown;                       /* the node that has it does not tell */
    bool lists_methods;
    struct cli_texts methods; /* their signatures, where it lists them */
};

/* Reads a file. RAPAHUB_ELOAD: it is no module that this machine can load, no chimod, or one whose
 * name or version cannot be those of a module of a node; -errno: it cannot be read; RAPAHUB_ENOMEM.
 */
int cluster_pool_module_read(const char *path, struct cluster_pool_module *out);
void cluster_pool_module_fini(struct cluster_pool_module *module);

/* Says whether a text is a path and not a name: it has a slash, or ends as files of modules do. */
bool cluster_pool_module_is_path(const char *text);

#endif
