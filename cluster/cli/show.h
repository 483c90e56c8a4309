/* SPDX-License-Identifier: Apache-2.0 */
/* show: documents of a node, as the command line wants them: the document itself, or as tables. The
 * node decides which members there are; what ends in _ns or _bytes is a duration or a size.
 */
#ifndef CLUSTER_CLI_SHOW_H
#define CLUSTER_CLI_SHOW_H

#include <rapahub/value.h>

struct cli;

/* Prints the list of objects that the document has at `key`, one a row; as JSON the document. The
 * columns are the members of all rows; there are 8 of them, unless -o wide wants all. */
int cluster_show_list(const struct cli *cli, const char *key, struct rapahub_string text);

/* Prints a document that is an object: its members, one a line, then each list of objects in it as
 * a table. */
int cluster_show_object(const struct cli *cli, struct rapahub_string text);

#endif
