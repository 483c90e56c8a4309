/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/plain.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest-sdk/ops.h"
#include "hub/wire/signature.h"

struct guest_plain {
    struct rapahub_chimod chimod;
    char name[64];
    struct hub_signature *signatures[GUEST_METHODS_MAX];
    struct rapahub_method methods[GUEST_METHODS_MAX + 1];
};

/* Derives a chimod's name from its file's: "libz.so.1" is "libz". */
static void name_of(const char *file, char name[64])
{
    const char *base = strrchr(file, '/');
    size_t length = 0;

    base = base ? base + 1 : file;
    for (; length < 63 && (isalnum((unsigned char)base[length]) || base[length] == '_'); length++)
        name[length] = base[length];
    name[length] = '\0';
    if (length == 0 || isdigit((unsigned char)name[0]))
        snprintf(name, 64, "plain");
}

static int add(struct guest_module *module, uint32_t index, const char *text)
{
    struct guest_plain *plain = module->plain;
    void *symbol;
    int r = hub_signature_parse(text, &plain->signatures[index]);

    if (r < 0)
        return r;
    symbol = dlsym(module->handle, plain->signatures[index]->name);
    if (!symbol)
        return rapahub_fail(RAPAHUB_ELOAD, "", "%s has no symbol '%s'", module->name,
                            plain->signatures[index]->name);
    plain->methods[index] = (struct rapahub_method){.name = plain->signatures[index]->name,
                                                    .types = plain->signatures[index]->types,
                                                    .kind = RAPAHUB_METHOD_PLAIN};
    /* POSIX defines this conversion */
    memcpy(&plain->methods[index].function, &symbol, sizeof symbol);
    return 0;
}

int guest_plain_open(struct guest_module *module, const char *const *signatures)
{
    int r = 0;

    module->plain = calloc(1, sizeof *module->plain);
    if (!module->plain)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the signatures of %s", module->name);
    name_of(module->name, module->plain->name);
    for (uint32_t i = 0; r == 0 && signatures[i]; i++)
        r = i < GUEST_METHODS_MAX
                ? add(module, i, signatures[i])
                : rapahub_fail(RAPAHUB_EINVAL, "", "more than %d signatures", GUEST_METHODS_MAX);
    if (r < 0)
        return r;
    module->plain->chimod = (struct rapahub_chimod){.abi = RAPAHUB_CHIMOD_ABI,
                                                    .name = module->plain->name,
                                                    .version = "",
                                                    .methods = module->plain->methods};
    module->chimod = &module->plain->chimod;
    guest_ops_fill(&module->ops, module->chimod);
    return guest_methods_prepare(&module->methods, module->chimod->methods, module->name);
}

void guest_plain_release(struct guest_plain **plain)
{
    if (!*plain)
        return;
    for (uint32_t i = 0; i < GUEST_METHODS_MAX; i++)
        hub_signature_release(&(*plain)->signatures[i]);
    free(*plain);
    *plain = NULL;
}
