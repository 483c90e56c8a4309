/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/join_token.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/pem.h"

#define RULE      "cluster.identity.token"
#define PREFIX    "rh1."
#define ID_DIGITS 16

int cluster_join_token_make(struct cluster_join_token *out)
{
    do {
        if (RAND_bytes((unsigned char *)&out->id, sizeof out->id) != 1 ||
            RAND_bytes(out->secret, sizeof out->secret) != 1)
            return cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "no random numbers for a token");
    } while (out->id == 0);
    return 0;
}

int cluster_join_token_digest(const struct cluster_join_token *token,
                              uint8_t to[CLUSTER_JOIN_TOKEN_DIGEST])
{
    if (EVP_Digest(token->secret, sizeof token->secret, to, NULL, EVP_sha256(), NULL) != 1)
        return cluster_pem_fail(RAPAHUB_ENOMEM, RULE, "no memory for a digest");
    return 0;
}

void cluster_join_token_print(const struct cluster_join_token *token,
                              char to[CLUSTER_JOIN_TOKEN_TEXT])
{
    int size = snprintf(to, CLUSTER_JOIN_TOKEN_TEXT, PREFIX "%016" PRIx64 ".", token->id);

    for (unsigned i = 0; i < sizeof token->secret; i++)
        size +=
            snprintf(to + size, CLUSTER_JOIN_TOKEN_TEXT - (size_t)size, "%02x", token->secret[i]);
}

/* ---- a token is read ---- */

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static bool read_bytes(const char *text, size_t size, uint8_t *to)
{
    for (size_t i = 0; i < size; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool read_token(const char *text, struct cluster_join_token *out)
{
    const char *id = text + sizeof PREFIX - 1, *secret = id + ID_DIGITS + 1;
    uint8_t number[ID_DIGITS / 2];

    if (memcmp(text, PREFIX, sizeof PREFIX - 1) != 0 || id[ID_DIGITS] != '.' ||
        !read_bytes(id, sizeof number, number) ||
        !read_bytes(secret, sizeof out->secret, out->secret))
        return false;
    out->id = 0;
    for (unsigned i = 0; i < sizeof number; i++)
        out->id = out->id << 8 | number[i];
    return out->id != 0;
}

/* r[impl cluster.identity.token] */
int cluster_join_token_parse(struct rapahub_string text, struct cluster_join_token *out)
{
    if (text.size != CLUSTER_JOIN_TOKEN_TEXT - 1 || !read_token(text.data, out))
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "it is no token: rapahub token create makes one, rh1.ID.SECRET");
    return 0;
}

enum cluster_join_token_verdict cluster_join_token_judge(const struct cluster_join_token *shown,
                                                         uint64_t now_s,
                                                         struct cluster_join_token_state *state)
{
    uint8_t digest[CLUSTER_JOIN_TOKEN_DIGEST];

    if (state->tries == 0)
        return CLUSTER_JOIN_TOKEN_GUESSED;
    if (cluster_join_token_digest(shown, digest) < 0 ||
        CRYPTO_memcmp(digest, state->digest, sizeof digest) != 0) {
        state->tries--;
        return CLUSTER_JOIN_TOKEN_WRONG;
    }
    if (now_s >= state->until_s)
        return CLUSTER_JOIN_TOKEN_OLD;
    if (state->uses == 0)
        return CLUSTER_JOIN_TOKEN_USED;
    state->uses--;
    return CLUSTER_JOIN_TOKEN_GOOD;
}
