/* SPDX-License-Identifier: Apache-2.0 */
/* A file of any bytes, as `rapahub inspect` reads it: accepted, or refused with a diagnosis of its
 * own; everything shown is safe for a terminal, and each method is a signature. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/target/elf_methods.h"
#include "host/config/module.h"
#include "tests/fuzz/fuzz.h"

static void check_word(const char *word, size_t room)
{
    size_t size = strnlen(word, room);

    FUZZ_HOLDS(size < room);
    for (size_t i = 0; i < size; i++)
        FUZZ_HOLDS((unsigned char)word[i] >= 0x20 && (unsigned char)word[i] < 0x7f);
}

static void check_elf(const struct config_module *elf)
{
    FUZZ_HOLDS(elf->facts.need_count <= HUB_ELF_FACTS_NEEDS);
    check_word(elf->name, sizeof elf->name);
    check_word(elf->version, sizeof elf->version);
    for (unsigned i = 0; i < elf->facts.need_count; i++) {
        check_word(elf->facts.needs[i].library, sizeof elf->facts.needs[i].library);
        FUZZ_HOLDS(elf->facts.needs[i].version_count <= HUB_ELF_FACTS_VERSIONS);
        for (unsigned j = 0; j < elf->facts.needs[i].version_count; j++)
            check_word(elf->facts.needs[i].versions[j], sizeof elf->facts.needs[i].versions[j]);
    }
}

static void check_methods(const char *path)
{
    struct cli_texts methods = {0};
    int r = cli_elf_methods_read(path, &methods);

    FUZZ_HOLDS(r == 0 || (rapahub_last_error()->code == r && methods.count == 0));
    for (unsigned i = 0; i < methods.count; i++) {
        struct hub_signature *signature;

        FUZZ_HOLDS(hub_signature_parse(methods.texts[i], &signature) == 0);
        FUZZ_HOLDS(strcmp(signature->text, methods.texts[i]) == 0);
        hub_signature_release(&signature);
    }
    cli_texts_fini(&methods);
}

/* The host and a guest read the same file through its descriptor: they find what inspect finds. */
static void check_descriptor(int fd, int r, const struct config_module *elf)
{
    char build_id[HUB_ELF_FACTS_BUILD_ID];
    struct hub_elf image;
    unsigned faults;

    hub_elf_of_fd(fd, &image);
    faults = hub_elf_faults(&image);
    hub_elf_facts_build_id(&image, build_id);
    FUZZ_HOLDS(strspn(build_id, "0123456789abcdef") == strlen(build_id));
    FUZZ_HOLDS(r != 0 || (faults & ~(unsigned)(HUB_ELF_MALFORMED | HUB_ELF_CUT)) == 0);
    FUZZ_HOLDS(r != 0 || strcmp(build_id, elf->facts.build_id) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config_module elf;
    char path[64];
    int fd = memfd_create("elf", MFD_CLOEXEC), r;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    r = config_module_read(path, &elf);
    FUZZ_HOLDS(r == 0 || rapahub_last_error()->code == r);
    if (r == 0)
        check_elf(&elf);
    check_descriptor(fd, r, &elf);
    check_methods(path);
    close(fd);
    return 0;
}
