/* SPDX-License-Identifier: Apache-2.0 */
/* replay: runs each file of the folders it is given through a fuzz target, so that the corpus is a
 * test where there is no fuzzer. A folder without a file is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX (1 << 20)

static int replay_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = malloc(INPUT_MAX), *input;
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rbe");
    if (!file || !data) {
        fprintf(stderr, "cannot read '%s'\n", path);
        return -1;
    }
    size = fread(data, 1, INPUT_MAX, file);
    fclose(file);
    /* Exactly as large as the file, so that a sanitizer notices reads past it. */
    input = realloc(data, size ? size : 1);
    LLVMFuzzerTestOneInput(input ? input : data, size);
    free(input ? input : data);
    return 0;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    int files = 0;

    if (!folder) {
        fprintf(stderr, "no folder '%s'\n", path);
        return -1;
    }
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            if (replay_file(path, entry->d_name) < 0) {
                closedir(folder);
                return -1;
            }
            files++;
        }
    closedir(folder);
    printf("%s: %d inputs\n", path, files);
    return files ? 0 : -1;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (replay_folder(argv[i]) < 0)
            return EXIT_FAILURE;
    return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
