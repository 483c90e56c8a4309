/* SPDX-License-Identifier: Apache-2.0 */
/* pool_module: the digest is that of the bytes that were looked at, which are read once. */
#include "cluster/cli/pool/pool_module.h"

#include <openssl/evp.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/target/elf_methods.h"
#include "host/config/module.h"

#define NO_VERSION "0" /* if a module says none */

static bool has_callback(const struct config_module *module, const char *name)
{
    const char *callback;

    for (unsigned i = 0; (callback = config_module_callback(i)); i++)
        if (strcmp(callback, name) == 0)
            return (module->callbacks & UINT32_C(1) << i) != 0;
    return false;
}

static int take(const char *path, const struct config_module *module,
                struct cluster_pool_module *out)
{
    const char *version = module->version[0] ? module->version : NO_VERSION;

    if (!module->is_chimod)
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' is no chimod: pools are made of these", path);
    if (!cluster_keys_is_name(rapahub_string_of(module->name)))
        return rapahub_fail(RAPAHUB_ELOAD, "",
                            "'%s' calls itself '%s', which is no name of a module", path,
                            module->name);
    if (!cluster_keys_is_version(rapahub_string_of(version)))
        return rapahub_fail(RAPAHUB_ELOAD, "", "'%s' has the version '%s', which is none", path,
                            version);
    memcpy(out->name, module->name, strlen(module->name) + 1);
    memcpy(out->version, version, strlen(version) + 1);
    out->saves = has_callback(module, "save");
    return 0;
}

static int read_image(const char *path, struct hub_elf *image, struct cluster_pool_module *out)
{
    struct config_module module;
    int r;

    config_module_describe(image, &module);
    r = take(path, &module, out);
    if (r == 0 && EVP_Digest(image->data, image->size, out->digest, NULL, EVP_sha256(), NULL) != 1)
        r = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the digest of '%s'", path);
    return r;
}

int cluster_pool_module_read(const char *path, struct cluster_pool_module *out)
{
    struct hub_elf image;
    int r = hub_elf_open(path, &image);

    if (r < 0)
        return r;
    r = read_image(path, &image, out);
    hub_elf_fini(&image);
    if (r < 0)
        return r;
    out->lists_methods = cli_elf_methods_read(path, &out->methods) == 0;
    return 0;
}

void cluster_pool_module_fini(struct cluster_pool_module *module)
{
    cli_texts_fini(&module->methods);
}

bool cluster_pool_module_is_path(const char *text)
{
    size_t size = strlen(text);

    return strchr(text, '/') || strstr(text, ".so.") ||
           (size > 3 && strcmp(text + size - 3, ".so") == 0);
}
