/* SPDX-License-Identifier: Apache-2.0 */
/* codec: compresses and decompresses with Zstandard: streams of any length, and pieces that fit
 * into a message. Input may be anything. A packed piece states its size, and one that a message
 * cannot carry is refused before a byte is written. A stream is processed as it comes, in bounded
 * memory. */
#include <stdlib.h>
#include <zstd.h>

#include <rapahub/chimod.h>

/* bytes of a message of the default size, less those around the piece */
#define OUTPUT_MAX 65472u
#define LEVEL_MAX  19
#define LEVEL      3
#define WINDOW_LOG 27          /* for streams that are unpacked: at most 128 MiB of memory */
#define BUFFER     (64 * 1024) /* bytes read and written at once */

struct codec {
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
    unsigned char *in, *out; /* BUFFER bytes each */
};

static void *output(size_t size)
{
    void *memory = rapahub_chimod_alloc(size > 0 ? size : 1);

    if (!memory)
        (void)rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu bytes", size);
    return memory;
}

static int check_level(int32_t level)
{
    if (level >= ZSTD_minCLevel() && level <= LEVEL_MAX)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "", "level %" PRId32 "; %d to %d are possible", level,
                        ZSTD_minCLevel(), LEVEL_MAX);
}

static int codec_pack(void *self, struct rapahub_bytes plain, int32_t level,
                      struct rapahub_bytes *packed)
{
    struct codec *codec = self;
    size_t size = ZSTD_compressBound(plain.size);
    void *to;

    int r = check_level(level);

    if (r < 0)
        return r;
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

/* Reads the size of the content of `packed`, which must be a single frame. */
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

static int codec_unpack(void *self, struct rapahub_bytes packed, struct rapahub_bytes *plain)
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

/* Returns the largest size that `size` bytes can have when packed. */
static int codec_bound(void *self, uint64_t size, uint64_t *bound)
{
    (void)self;
    if (size > OUTPUT_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "%" PRIu64 " bytes; a message carries %u", size,
                            OUTPUT_MAX);
    *bound = ZSTD_compressBound((size_t)size);
    return 0;
}

/* ---- streams ---- */

/* Writes the output of one step. */
static int put(struct codec *codec, const ZSTD_outBuffer *made, struct rapahub_sink *to,
               uint64_t *written)
{
    *written += made->pos;
    return made->pos == 0 ? 0 : rapahub_sink_write(to, codec->out, made->pos);
}

/* Packs all of `in` and, at the end of the stream, also the bytes that Zstandard still holds. */
static int pack_some(struct codec *codec, ZSTD_inBuffer *in, bool last, struct rapahub_sink *to,
                     uint64_t *written)
{
    size_t left;

    do {
        ZSTD_outBuffer out = {codec->out, BUFFER, 0};
        int r;

        left = ZSTD_compressStream2(codec->packer, &out, in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return rapahub_fail(RAPAHUB_EIO, "", "cannot compress: %s", ZSTD_getErrorName(left));
        r = put(codec, &out, to, written);
        if (r < 0)
            return r;
    } while (last ? left != 0 : in->pos < in->size);
    return 0;
}

static int codec_compress_at(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                             int32_t level, uint64_t *written)
{
    struct codec *codec = self;
    ssize_t n = 1;
    int r = check_level(level);

    *written = 0;
    (void)ZSTD_CCtx_reset(codec->packer, ZSTD_reset_session_and_parameters);
    (void)ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_compressionLevel, level);
    (void)ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_checksumFlag, 1);
    while (r == 0 && n > 0) {
        n = rapahub_source_read(from, codec->in, BUFFER);
        if (n < 0)
            r = (int)n;
        else
            r = pack_some(codec, &(ZSTD_inBuffer){codec->in, (size_t)n, 0}, n == 0, to, written);
    }
    return r;
}

static int codec_compress(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                          uint64_t *written)
{
    return codec_compress_at(self, from, to, LEVEL, written);
}

/* `hint` is 0 at the end of a frame. A stream may end only there. */
static int unpack_some(struct codec *codec, ZSTD_inBuffer *in, struct rapahub_sink *to,
                       uint64_t *written, size_t *hint)
{
    bool full = false;

    while (in->pos < in->size || full) {
        ZSTD_outBuffer out = {codec->out, BUFFER, 0};
        int r;

        *hint = ZSTD_decompressStream(codec->unpacker, &out, in);
        if (ZSTD_isError(*hint))
            return rapahub_fail(RAPAHUB_EINVAL, "", "cannot decompress: %s",
                                ZSTD_getErrorName(*hint));
        r = put(codec, &out, to, written);
        if (r < 0)
            return r;
        full = out.pos == out.size && *hint != 0; /* at the end of a frame everything is flushed */
    }
    return 0;
}

static int codec_decompress(void *self, struct rapahub_source *from, struct rapahub_sink *to,
                            uint64_t *written)
{
    struct codec *codec = self;
    size_t hint = 1;
    ssize_t n = 1;
    int r = 0;

    *written = 0;
    (void)ZSTD_DCtx_reset(codec->unpacker, ZSTD_reset_session_only);
    while (r == 0 && (n = rapahub_source_read(from, codec->in, BUFFER)) > 0)
        r = unpack_some(codec, &(ZSTD_inBuffer){codec->in, (size_t)n, 0}, to, written, &hint);
    if (r == 0 && n < 0)
        r = (int)n;
    if (r == 0 && hint != 0)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "the stream ends in the middle of a frame");
    return r;
}

/* ---- life ---- */

static void codec_fini(void *self)
{
    struct codec *codec = self;

    free(codec->in);
    free(codec->out);
    ZSTD_freeCCtx(codec->packer);
    ZSTD_freeDCtx(codec->unpacker);
    *codec = (struct codec){0};
}

static int codec_init(void *self, const struct rapahub_container_info *info)
{
    struct codec *codec = self;

    (void)info;
    codec->packer = ZSTD_createCCtx();
    codec->unpacker = ZSTD_createDCtx();
    codec->in = malloc(BUFFER);
    codec->out = malloc(BUFFER);
    if (codec->packer && codec->unpacker && codec->in && codec->out) {
        (void)ZSTD_DCtx_setParameter(codec->unpacker, ZSTD_d_windowLogMax, WINDOW_LOG);
        return 0;
    }
    codec_fini(self);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for Zstandard");
}

/* Between two calls there is no state to move. */
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
    RAPAHUB_METHOD(compress, codec_compress, u64, source, sink),
    RAPAHUB_METHOD(compress, codec_compress_at, u64, source, sink, i32),
    RAPAHUB_METHOD(decompress, codec_decompress, u64, source, sink),
    RAPAHUB_METHOD(pack, codec_pack, bytes, bytes, i32),
    RAPAHUB_METHOD(unpack, codec_unpack, bytes, bytes),
    RAPAHUB_METHOD(bound, codec_bound, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "codec", .version = "1.0.0", .state_size = sizeof(struct codec),
               .state_version = 1, .ops = &ops, .methods = methods);
