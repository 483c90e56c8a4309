/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_words.h"

#include <stdio.h>
#include <string.h>

#include "host/config/suggest.h"
#include "host/config/units.h"

int cluster_pool_words_choose(const struct cluster_pool_draft *draft, const char *key,
                              struct fy_node *value, const char *const *words, unsigned *out)
{
    const char *text = config_yaml_text(value);
    struct config_suggest suggest = {text, NULL, CONFIG_SUGGEST_FAR};
    char all[128] = "";
    size_t at = 0;

    for (*out = 0; words[*out]; ++*out) {
        if (strcmp(words[*out], text) == 0)
            return 0;
        config_suggest_consider(&suggest, words[*out]);
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", at ? ", " : "", words[*out]);
    }
    *out = 0;
    return CLUSTER_POOL_FAIL(draft, value, "%s: '%.100s' is none of %s%s%s%s", key, text, all,
                             suggest.nearest ? "; did you mean '" : "",
                             suggest.nearest ? suggest.nearest : "", suggest.nearest ? "'?" : "");
}

int cluster_pool_words_count(const struct cluster_pool_draft *draft, const char *key,
                             struct fy_node *value, uint32_t most, uint32_t *out)
{
    uint64_t number;

    if (config_units_count(config_yaml_text(value), &number) == 0 && number <= most) {
        *out = (uint32_t)number;
        return 0;
    }
    return CLUSTER_POOL_FAIL(draft, value, "%s: '%.100s' is no number from 1 to %u", key,
                             config_yaml_text(value), most);
}
