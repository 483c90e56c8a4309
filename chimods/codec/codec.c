/* SPDX-License-Identifier: Apache-2.0 */
/* codec: compresses and decompresses pieces with Zstandard. What comes in may be anything: a frame
 * says how much it holds before a byte is written, and more than a message carries is refused. */
#include <zstd.h>

#include <rapahub/chimod.h>

/* A message of the default size, less what stands around the bytes. */
#define OUTPUT_MAX 65472u
#define LEVEL_MAX  19

struct codec {
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
};

static void *output(size_t size)
{
    void *memory = rapahub_chimod_alloc(size > 0 ? size : 1);

    if (!memory)
        (void)rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu bytes", size);
    return memory;
}

static int codec_compress(void *self, struct rapahub_bytes plain, int32_t level,
                          struct rapahub_bytes *packed)
{
    struct codec *codec = self;
    size_t size = ZSTD_compressBound(plain.size);
    void *to;

    if (level < ZSTD_minCLevel() || level > LEVEL_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "level %" PRId32 "; %d to %d are possible", level,
                            ZSTD_minCLevel(), LEVEL_MAX);
    to = output(size);
    if (!to)
        return RAPAHUB_ENOMEM;
    size = ZSTD_compressCCtx(codec->packer, to, size, plain.data, plain.size, level);
    if (ZSTD_isError(size))
        return rapahub_fail(RAPAHUB_EIO, "", "cannot compress: %s", ZSTD_getErrorName(size));
    if (size > OUTPUT_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "%zu bytes do not get smaller; send at most %u",
                            plain.size, OUTPUT_MAX - 512);
    *packed = (struct rapahub_bytes){to, size};
    return 0;
}

/* How many bytes the one frame holds that `packed` must be. */
static int plain_size(struct rapahub_bytes packed, size_t *size)
{
    unsigned long long says = ZSTD_getFrameContentSize(packed.data, packed.size);
    size_t frame = ZSTD_findFrameCompressedSize(packed.data, packed.size);

    if (says == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame))
        return rapahub_fail(RAPAHUB_EINVAL, "", "%zu bytes that are no Zstandard frame",
                            packed.size);
    if (frame != packed.size)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%zu bytes behind the frame", packed.size - frame);
    if (says == ZSTD_CONTENTSIZE_UNKNOWN)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a frame that does not say how much it holds");
    if (says > OUTPUT_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a frame of %llu bytes; at most %u are possible",
                            says, OUTPUT_MAX);
    *size = (size_t)says;
    return 0;
}

static int codec_decompress(void *self, struct rapahub_bytes packed, struct rapahub_bytes *plain)
{
    struct codec *codec = self;
    size_t got, size = 0;
    void *to;
    int r = plain_size(packed, &size);

    if (r < 0)
        return r;
    to = output(size);
    if (!to)
        return RAPAHUB_ENOMEM;
    got = ZSTD_decompressDCtx(codec->unpacker, to, size, packed.data, packed.size);
    if (ZSTD_isError(got) || got != size)
        return rapahub_fail(RAPAHUB_EINVAL, "", "cannot decompress: %s",
                            ZSTD_isError(got) ? ZSTD_getErrorName(got) : "shorter than it says");
    *plain = (struct rapahub_bytes){to, size};
    return 0;
}

/* The most bytes that `size` of them become. */
static int codec_bound(void *self, uint64_t size, uint64_t *bound)
{
    (void)self;
    if (size > OUTPUT_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "%" PRIu64 " bytes; a message carries %u", size,
                            OUTPUT_MAX);
    *bound = ZSTD_compressBound((size_t)size);
    return 0;
}

static void codec_fini(void *self)
{
    struct codec *codec = self;

    ZSTD_freeCCtx(codec->packer);
    ZSTD_freeDCtx(codec->unpacker);
    *codec = (struct codec){NULL, NULL};
}

static int codec_init(void *self, const struct rapahub_container_info *info)
{
    struct codec *codec = self;

    (void)info;
    codec->packer = ZSTD_createCCtx();
    codec->unpacker = ZSTD_createDCtx();
    if (codec->packer && codec->unpacker)
        return 0;
    codec_fini(self);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for Zstandard");
}

/* Between two calls there is nothing to move. */
static int codec_save(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return 0;
}

static int codec_load(void *self, struct rapahub_source *from, uint32_t version)
{
    (void)self;
    (void)from;
    (void)version;
    return 0;
}

static const struct rapahub_container_ops ops = {
    .init = codec_init, .save = codec_save, .load = codec_load, .fini = codec_fini};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(compress, codec_compress, bytes, bytes, i32),
    RAPAHUB_METHOD(decompress, codec_decompress, bytes, bytes),
    RAPAHUB_METHOD(bound, codec_bound, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "codec", .version = "1.0.0", .state_size = sizeof(struct codec),
               .state_version = 1, .ops = &ops, .methods = methods);
