/* SPDX-License-Identifier: Apache-2.0 */
/* A tree file of any bytes: it is taken, or refused with a diagnosis of its own, and what is quoted
 * of it is two lines that a terminal may see. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/config/tree.h"
#include "tests/fuzz/fuzz.h"

static void check_quote(const char *quote)
{
    unsigned lines = 0;

    for (; *quote; quote++) {
        lines += *quote == '\n';
        FUZZ_HOLDS(*quote == '\n' || ((unsigned char)*quote >= 0x20 && *quote != 0x7f));
    }
    FUZZ_HOLDS(lines <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config_tree tree;
    char path[64];
    int fd = memfd_create("tree", MFD_CLOEXEC), r;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rapahub_clear_error();
    r = config_tree_open(path, RAPAHUB_TRUST_STANDARD, &tree);
    FUZZ_HOLDS(r == 0 || rapahub_last_error()->code == r);
    FUZZ_HOLDS(r == 0 || r == RAPAHUB_ECONFIG || r == RAPAHUB_ENOMEM);
    check_quote(tree.yaml.quote);
    FUZZ_HOLDS(r < 0 || (tree.count == tree.guests + tree.supervisors && tree.supervisors > 0));
    config_tree_close(&tree);
    close(fd);
    return 0;
}
