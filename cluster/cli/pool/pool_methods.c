/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_methods.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/target/methods.h"
#include "hub/base/own.h"

#define FAIL CLUSTER_POOL_FAIL

/* A list of methods that is being read: of the key repeat, or outside. */
struct taking {
    struct cluster_pool_draft *draft;
    const struct cluster_pool_module *module;
    const char *key;
    bool repeat;
};

static int add(const struct taking *taking, struct fy_node *item, uint64_t id)
{
    struct cluster_pool_draft *draft = taking->draft;
    struct cluster_list *list = &draft->spec.methods;
    uint32_t i = 0;

    while (i < list->count && draft->methods[i].id != id)
        i++;
    if (i == CLUSTER_POOL_SPEC_METHODS_MAX)
        return FAIL(draft, item, "%s: more than %u methods; name fewer", taking->key,
                    CLUSTER_POOL_SPEC_METHODS_MAX);
    if (i == list->count) {
        draft->methods[i] = (struct cluster_pool_method){.id = id};
        list->of = draft->methods;
        list->count++;
    }
    *(taking->repeat ? &draft->methods[i].repeat : &draft->methods[i].outside) = true;
    return 0;
}

static int refuse(const struct taking *taking, struct fy_node *item)
{
    char text[512];

    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    return FAIL(taking->draft, item, "%s: %s", taking->key, text);
}

static int take_signature(const struct taking *taking, struct fy_node *item, const char *text)
{
    OWN(hub_signature) struct hub_signature *signature = NULL;

    return hub_signature_parse(text, &signature) < 0 ? refuse(taking, item)
                                                     : add(taking, item, signature->id);
}

/* All methods of a name. */
static int take_name(const struct taking *taking, struct fy_node *item, const char *name)
{
    const struct cli_texts *methods = &taking->module->methods;
    size_t size = strlen(name);
    int r = 0;

    for (unsigned i = 0; r == 0 && i < methods->count; i++)
        if (strncmp(methods->texts[i], name, size) == 0 && methods->texts[i][size] == '(')
            r = take_signature(taking, item, methods->texts[i]);
    return r;
}

static int take_method(const struct taking *taking, struct fy_node *item)
{
    const struct cluster_pool_module *module = taking->module;
    const struct cli_methods_wanted wanted = {config_yaml_text(item), -1};
    OWN(hub_signature) struct hub_signature *found = NULL;
    bool is_whole = strchr(wanted.text, '(') != NULL;

    if (config_yaml_kind(item) != CONFIG_YAML_TEXT || !wanted.text[0])
        return FAIL(taking->draft, item, "%s: not the name of a method", taking->key);
    if (!module->lists_methods && !is_whole)
        return FAIL(taking->draft, item,
                    "%s: the methods of %s are known when it is loaded; write the whole signature "
                    "of '%.100s'",
                    taking->key, module->name, wanted.text);
    if (module->lists_methods &&
        cli_methods_find(&module->methods, module->name, &wanted, &found) < 0)
        return refuse(taking, item);
    return is_whole ? take_signature(taking, item, wanted.text)
                    : take_name(taking, item, wanted.text);
}

/* A single method stands for a list of one. */
static int take_list(const struct taking *taking, struct fy_node *value)
{
    struct fy_node *item;
    void *at = NULL;
    int r = 0;

    if (config_yaml_kind(value) != CONFIG_YAML_LIST)
        return take_method(taking, value);
    while (r == 0 && (item = config_yaml_item(value, &at)))
        r = take_method(taking, item);
    return r;
}

int cluster_pool_methods_take(struct cluster_pool_draft *draft,
                              const struct cluster_pool_module *module)
{
    struct fy_node *repeat = draft->said[CLUSTER_POOL_REPEAT];
    struct fy_node *outside = draft->said[CLUSTER_POOL_OUTSIDE];
    int r = 0;

    if (repeat && strcmp(config_yaml_text(repeat), "all") == 0)
        draft->spec.repeat_all = true;
    else if (repeat)
        r = take_list(&(struct taking){draft, module, "repeat", true}, repeat);
    if (r == 0 && outside)
        r = take_list(&(struct taking){draft, module, "outside", false}, outside);
    return r;
}
