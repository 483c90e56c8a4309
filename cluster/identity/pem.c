/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/pem.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <string.h>

#include <rapahub/error.h>

#define RULE  "cluster.identity.pem"
#define BEGIN "-----BEGIN "
#define END   "-----END "

int cluster_pem_fail(int code, const char *rule, const char *what)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;

    ERR_clear_error();
    return rapahub_fail(code, rule, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
}

/* ---- a text is read ---- */

static void skip_white(struct rapahub_bytes *text)
{
    const char *at = text->data;

    while (text->size > 0 && memchr(" \t\r\n", *at, 4)) {
        at++;
        text->size--;
    }
    text->data = at;
}

/* Finds the end of the block that a text begins with. Its size; 0: the text begins with none. */
static size_t size_of_block(struct rapahub_bytes text)
{
    const char *end, *line;

    if (text.size < sizeof BEGIN - 1 || memcmp(text.data, BEGIN, sizeof BEGIN - 1) != 0)
        return 0;
    end = memmem(text.data, text.size, END, sizeof END - 1);
    if (!end)
        return 0;
    line = memchr(end, '\n', text.size - (size_t)(end - (const char *)text.data));
    return line ? (size_t)(line + 1 - (const char *)text.data) : text.size;
}

/* The text is one block. Gives its bytes, or says that they are not those of this label. */
static bool decode(struct rapahub_bytes text, const char *label, struct cluster_pem_der *out)
{
    BIO *bio = BIO_new_mem_buf(text.data, (int)text.size);
    char *name = NULL, *header = NULL;
    unsigned char *data = NULL;
    long size = 0;
    bool sound = bio && PEM_read_bio(bio, &name, &header, &data, &size) == 1 && size > 0 &&
                 strcmp(name, label) == 0 && header[0] == 0 && BIO_ctrl_pending(bio) == 0;

    BIO_free(bio);
    OPENSSL_free(name);
    OPENSSL_free(header);
    *out = (struct cluster_pem_der){data, size > 0 ? (size_t)size : 0};
    if (!sound)
        cluster_pem_release_der(out);
    return sound;
}

/* r[impl cluster.identity.pem] */
int cluster_pem_next(struct rapahub_bytes *text, const char *label, struct cluster_pem_der *out)
{
    char what[80];
    size_t size;

    *out = (struct cluster_pem_der){NULL, 0};
    if (text->size > CLUSTER_PEM_SIZE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "a text of %zu bytes, and a %s has at most %d",
                            text->size, label, CLUSTER_PEM_SIZE_MAX);
    skip_white(text);
    size = size_of_block(*text);
    if (size == 0 || !decode((struct rapahub_bytes){text->data, size}, label, out)) {
        snprintf(what, sizeof what, "not a %s in PEM", label);
        return cluster_pem_fail(RAPAHUB_EINVAL, RULE, what);
    }
    text->data = (const char *)text->data + size;
    text->size -= size;
    skip_white(text);
    return 0;
}

int cluster_pem_read(struct rapahub_bytes text, const char *label, struct cluster_pem_der *out)
{
    int r = cluster_pem_next(&text, label, out);

    if (r < 0 || text.size == 0)
        return r;
    cluster_pem_release_der(out);
    return rapahub_fail(RAPAHUB_EINVAL, RULE, "more than one %s, or a text after it", label);
}

void cluster_pem_release_der(struct cluster_pem_der *der)
{
    OPENSSL_clear_free(der->data, der->size);
    *der = (struct cluster_pem_der){NULL, 0};
}

/* ---- a text is written ---- */

static int write_to(BIO *bio, const char *label, const uint8_t *der, size_t size,
                    struct cluster_pem *out)
{
    const char *text = NULL;
    long written;

    if (PEM_write_bio(bio, label, "", der, (long)size) <= 0)
        return cluster_pem_fail(RAPAHUB_ENOMEM, "", "no memory for a text in PEM");
    written = BIO_get_mem_data(bio, &text);
    if (written <= 0 || written > CLUSTER_PEM_SIZE_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, RULE, "a %s of %ld bytes is too long", label,
                            written);
    memcpy(out->text, text, (size_t)written);
    out->text[written] = 0;
    out->size = (size_t)written;
    return 0;
}

int cluster_pem_write(const char *label, const uint8_t *der, size_t size, struct cluster_pem *out)
{
    BIO *bio = BIO_new(BIO_s_secmem()); /* its memory is wiped when it is freed */
    int r = bio ? write_to(bio, label, der, size, out)
                : cluster_pem_fail(RAPAHUB_ENOMEM, "", "no memory for a text in PEM");

    BIO_free(bio);
    return r;
}

void cluster_pem_wipe(struct cluster_pem *pem)
{
    OPENSSL_cleanse(pem, sizeof *pem);
}
