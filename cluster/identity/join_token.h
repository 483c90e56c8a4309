/* SPDX-License-Identifier: Apache-2.0 */
/* join_token: the word by which a node proves that it may join a cluster: "rh1.ID.SECRET", with 16
 * and 32 hexadecimal digits. The metastore has the SHA-256 of the secret, not the secret. Any
 * thread.
 */
#ifndef CLUSTER_IDENTITY_JOIN_TOKEN_H
#define CLUSTER_IDENTITY_JOIN_TOKEN_H

#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_JOIN_TOKEN_SECRET 16
#define CLUSTER_JOIN_TOKEN_DIGEST 32
#define CLUSTER_JOIN_TOKEN_TEXT   54 /* bytes of one, with the 0 */
#define CLUSTER_JOIN_TOKEN_TRIES  5  /* wrong secrets until a token is good for nothing */

struct cluster_join_token {
    uint64_t id; /* not 0 */
    uint8_t secret[CLUSTER_JOIN_TOKEN_SECRET];
};

/* The part of a token that is kept. */
struct cluster_join_token_state {
    uint8_t digest[CLUSTER_JOIN_TOKEN_DIGEST];
    uint64_t until_s; /* seconds since 1970 */
    uint32_t uses, tries;
};

enum cluster_join_token_verdict {
    CLUSTER_JOIN_TOKEN_GOOD,
    CLUSTER_JOIN_TOKEN_WRONG,  /* the secret is another one */
    CLUSTER_JOIN_TOKEN_OLD,    /* its time is over */
    CLUSTER_JOIN_TOKEN_USED,   /* no use is left */
    CLUSTER_JOIN_TOKEN_GUESSED /* too many wrong secrets were shown */
};

/* Makes a token of random numbers. RAPAHUB_ENOMEM: the system gives none. */
int cluster_join_token_make(struct cluster_join_token *out);
int cluster_join_token_digest(const struct cluster_join_token *token,
                              uint8_t to[CLUSTER_JOIN_TOKEN_DIGEST]);
void cluster_join_token_print(const struct cluster_join_token *token,
                              char to[CLUSTER_JOIN_TOKEN_TEXT]);

/* Reads a token that is shown. -EINVAL: it is none; its text is not repeated. */
int cluster_join_token_parse(struct rapahub_string text, struct cluster_join_token *out);

/* Says what a token that is shown is good for, and takes a use or a try off `state`. A wrong secret
 * is told to be wrong and nothing more, and the time that it takes does not tell how wrong it is.
 */
enum cluster_join_token_verdict cluster_join_token_judge(const struct cluster_join_token *shown,
                                                         uint64_t now_s,
                                                         struct cluster_join_token_state *state);

#endif
