/* SPDX-License-Identifier: Apache-2.0 */
/* blob: a chimod whose state is as many bytes as it was asked to have. */
#include <stdlib.h>

#include <rapahub/chimod.h>

struct blob {
    uint8_t *data;
    uint64_t size;
};

static int resize(struct blob *blob, uint64_t size)
{
    uint8_t *data = malloc(size + 1);

    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    free(blob->data);
    blob->data = data;
    blob->size = size;
    return 0;
}

static int fill(void *self, uint64_t size, uint64_t seed)
{
    struct blob *blob = self;
    int r = resize(blob, size);

    for (uint64_t i = 0; r == 0 && i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        blob->data[i] = (uint8_t)(seed >> 56);
    }
    return r;
}

/* FNV-1a of its bytes, and of their number. */
static int digest(void *self, uint64_t *out)
{
    const struct blob *blob = self;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ blob->size;

    for (uint64_t i = 0; i < blob->size; i++)
        hash = (hash ^ blob->data[i]) * UINT64_C(0x100000001b3);
    *out = hash;
    return 0;
}

static int blob_init(void *self, const struct rapahub_container_info *info)
{
    (void)info;
    return resize(self, 0);
}

static void blob_fini(void *self)
{
    free(((struct blob *)self)->data);
}

static int blob_save(void *self, struct rapahub_sink *to)
{
    const struct blob *blob = self;

    return rapahub_sink_write(to, blob->data, blob->size);
}

static int blob_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct blob *blob = self;
    uint64_t room = 4096, size = 0;
    ssize_t got = 1;
    uint8_t *data = malloc(room);

    while (version == 5 && data && got > 0) {
        if (size == room)
            data = realloc(data, room *= 2); /* a test process: what is lost ends with it */
        got = data ? rapahub_source_read(from, data + size, room - size) : RAPAHUB_ENOMEM;
        size += got > 0 ? (uint64_t)got : 0;
    }
    if (got != 0) {
        free(data);
        return rapahub_fail(RAPAHUB_EABI, "", "the state cannot be read");
    }
    free(blob->data);
    blob->data = data;
    blob->size = size;
    return 0;
}

static const struct rapahub_container_ops ops = {
    .init = blob_init, .fini = blob_fini, .save = blob_save, .load = blob_load};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(fill, fill, void, u64, u64),
    RAPAHUB_METHOD(digest, digest, u64, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "blob", .version = "1.0.0", .state_size = sizeof(struct blob),
               .state_version = 5, .ops = &ops, .methods = methods);
