/* SPDX-License-Identifier: Apache-2.0 */
/* fake_node PATH SESSION: a fake node as a process, until it is killed. It prints a line when it
 * serves. */
#include "tests/unit/cluster-client/fake_node.h"

static struct fake_node node;

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    node = (struct fake_node){
        .path = argv[1], .session = strtoull(argv[2], NULL, 10), .dies = true, .wake = -1};
    if (fake_open(&node) < 0) {
        fprintf(stderr, "%s\n", rapahub_last_error()->text);
        return 1;
    }
    puts("serves");
    fflush(stdout);
    fake_run(&node);
    return 0;
}
