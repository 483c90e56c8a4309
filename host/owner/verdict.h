/* SPDX-License-Identifier: Apache-2.0 */
/* verdict: a failure stored for later or for another thread: code, rule and text together. */
#ifndef HOST_OWNER_VERDICT_H
#define HOST_OWNER_VERDICT_H

struct host_verdict {
    int code; /* 0: no failure */
    int application;
    const char *rule; /* a constant */
    char text[1024];
};

/* Stores the calling thread's diagnosis, which must belong to `code`. */
void host_verdict_take(struct host_verdict *verdict, int code);

/* Writes it as the calling thread's diagnosis and returns its code; 0 changes nothing. */
int host_verdict_give(const struct host_verdict *verdict);

#endif
