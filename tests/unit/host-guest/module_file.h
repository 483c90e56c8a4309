/* SPDX-License-Identifier: Apache-2.0 */
/* module_file: a file that a host takes for a module: a shared object for this machine with nothing
 * in it. */
#ifndef TESTS_UNIT_HOST_GUEST_MODULE_FILE_H
#define TESTS_UNIT_HOST_GUEST_MODULE_FILE_H

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/testing.h"

struct module_file {
    char folder[32], path[64];
};

static inline Elf64_Ehdr module_head(void)
{
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof head,
        .e_ehsize = sizeof head,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1};

#if defined(__x86_64__)
    head.e_machine = EM_X86_64;
#elif defined(__aarch64__)
    head.e_machine = EM_AARCH64;
#endif
    return head;
}

static inline void module_file_make(struct module_file *file, const char *name)
{
    const Elf64_Ehdr head = module_head();
    const Elf64_Phdr segment = {.p_type = PT_LOAD, .p_filesz = sizeof head + sizeof segment};
    int fd;

    snprintf(file->folder, sizeof file->folder, "/tmp/rapahub-record-XXXXXX");
    assert_non_null(mkdtemp(file->folder));
    snprintf(file->path, sizeof file->path, "%s/%s", file->folder, name);
    fd = open(file->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, &head, sizeof head), sizeof head);
    assert_int_equal(write(fd, &segment, sizeof segment), sizeof segment);
    close(fd);
}

static inline void module_file_remove(const struct module_file *file)
{
    unlink(file->path);
    rmdir(file->folder);
}

#endif
