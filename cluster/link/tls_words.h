/* SPDX-License-Identifier: Apache-2.0 */
/* tls_words: what OpenSSL has found, in words for people. For one thread.
 */
#ifndef CLUSTER_LINK_TLS_WORDS_H
#define CLUSTER_LINK_TLS_WORDS_H

#include <stdbool.h>

/* Writes the diagnosis of a step that has failed, from the reasons that OpenSSL keeps for this
 * thread and what it found of the other side's certificate. `done`: the handshake had ended.
 * RAPAHUB_EACCES: one side has refused the certificate of the other; RAPAHUB_EPROTOCOL: the other
 * side does not speak TLS 1.3; -ENOMEM. */
int cluster_tls_words_fail(long verified, bool done);

#endif
