/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a signature: the canonical text is its own canonical text, and the layout of records
 * is that of libffi. */
#include <string.h>

#include "hub/wire/arena.h"
#include "hub/wire/c_type.h"
#include "hub/wire/signature.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct hub_signature *signature)
{
    struct hub_signature *again = NULL;
    void *blocks = NULL;
    ffi_type *type;

    FUZZ_HOLDS(hub_signature_parse(signature->text, &again) == 0);
    FUZZ_HOLDS(!strcmp(again->text, signature->text) && again->id == signature->id);
    for (size_t i = 0; signature->types[i]; i++)
        FUZZ_HOLDS(hub_c_type_of(&blocks, signature->types[i], &type) == 0);
    hub_arena_release(&blocks);
    hub_signature_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hub_signature *signature = NULL;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (hub_signature_parse(text, &signature) == 0)
        check(signature);
    hub_signature_release(&signature);
    free(text);
    return 0;
}
