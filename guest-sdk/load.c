/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/load.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "guest-sdk/ops.h"
#include "guest-sdk/plain.h"
#include "hub/base/elf.h"

#define NAME_MAX_BYTES 63

static bool is_chimod_name(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    if (length == 0 || length > NAME_MAX_BYTES || !(isalpha((unsigned char)*name) || *name == '_'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    return true;
}

static int check(const struct guest_module *module)
{
    const struct rapahub_chimod *chimod = module->chimod;

    if (chimod->abi != RAPAHUB_CHIMOD_ABI)
        return rapahub_fail(RAPAHUB_EABI, "", "%s was built for abi %u; this is abi %d",
                            module->name, chimod->abi, RAPAHUB_CHIMOD_ABI);
    if (chimod->ops_size > sizeof(struct rapahub_container_ops))
        return rapahub_fail(RAPAHUB_EABI, "",
                            "%s has callbacks of %u bytes, this release knows %zu: it is older "
                            "than the module",
                            module->name, chimod->ops_size, sizeof(struct rapahub_container_ops));
    if (!is_chimod_name(chimod->name))
        return rapahub_fail(RAPAHUB_EABI, "",
                            "%s: its .name must be 1 to %d letters, digits, _ or -, no digit "
                            "first",
                            module->name, NAME_MAX_BYTES);
    if (chimod->state_size > GUEST_STATE_MAX)
        return rapahub_fail(RAPAHUB_EABI, "", "%s: its .state_size of %zu is above 1 GiB",
                            module->name, chimod->state_size);
    return 0;
}

static int prepare(struct guest_module *module)
{
    int r = check(module);

    if (r == 0)
        r = guest_ops_check(module->chimod);
    if (r < 0)
        return r;
    guest_ops_fill(&module->ops, module->chimod);
    return guest_methods_prepare(&module->methods, module->chimod->methods, module->name);
}

static int refuse_file(const char *name, const char *what)
{
    return rapahub_fail(RAPAHUB_ELOAD, "", "%s is %s", name, what);
}

/* Checks the ELF header first, because dlopen's own errors mislead: "invalid ELF header", or, for a
 * library built for another machine, a missing file. */
static int check_elf(int fd, const char *name)
{
    struct hub_elf image;
    unsigned faults;

    hub_elf_of_fd(fd, &image);
    faults = hub_elf_faults(&image);
    if (faults & HUB_ELF_NO_MAGIC)
        return refuse_file(name, "no ELF file");
    if (faults & HUB_ELF_SHORT)
        return refuse_file(name, "a truncated ELF file");
    if (faults & (HUB_ELF_CLASS | HUB_ELF_ORDER | HUB_ELF_MACHINE))
        return refuse_file(name, "built for another machine than " HUB_ELF_MACHINE_NAME);
    if (faults & HUB_ELF_TYPE)
        return refuse_file(name, "no shared object: link it with -shared");
    return 0;
}

/* Replaces the path of the descriptor in the text of dlerror by the name of the file, which people
 * know. */
static int refuse_load(const char *path, const char *name)
{
    const char *text = dlerror();
    size_t length = strlen(path);

    if (text && strncmp(text, path, length) == 0)
        text += length + (strncmp(text + length, ": ", 2) == 0 ? 2 : 0);
    return rapahub_fail(RAPAHUB_ELOAD, "", "%s: %s", name, text ? text : "cannot be loaded");
}

static int note_range(struct dl_phdr_info *info, size_t size, void *user)
{
    struct guest_module *module = user;

    (void)size;
    if (info->dlpi_addr != module->start)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            module->end = module->start + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

static void note_place(struct guest_module *module)
{
    struct link_map *map = NULL;

    if (dlinfo(module->handle, RTLD_DI_LINKMAP, &map) < 0 || !map)
        return;
    module->start = map->l_addr;
    dl_iterate_phdr(note_range, module);
}

int guest_load_open(struct guest_module *module, int fd, const char *name, const char *const *plain)
{
    char path[64];
    int r = check_elf(fd, name);

    if (r < 0)
        return r;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    module->name = name;
    module->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module->handle)
        return refuse_load(path, name);
    note_place(module);
    if (plain[0])
        return guest_plain_open(module, plain);
    module->chimod = dlsym(module->handle, RAPAHUB_CHIMOD_SYMBOL);
    if (!module->chimod)
        return rapahub_fail(RAPAHUB_ELOAD, "",
                            "%s has no symbol " RAPAHUB_CHIMOD_SYMBOL
                            ": it is a plain library, whose functions need their signatures "
                            "(--plain 'name(types) -> type')",
                            name);
    return prepare(module);
}

int guest_load_own(struct guest_module *module, const struct rapahub_chimod *chimod)
{
    module->name = chimod->name ? chimod->name : "?";
    module->chimod = chimod;
    return prepare(module);
}

/* The module stays in memory, because functions that it registered with the C library may still run
 * at exit. */
void guest_load_close(struct guest_module *module)
{
    guest_methods_release(&module->methods);
    guest_plain_release(&module->plain);
}
