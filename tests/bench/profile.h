/* SPDX-License-Identifier: Apache-2.0 */
/* profile: what callgrind wrote down, summed up. */
#ifndef TESTS_BENCH_PROFILE_H
#define TESTS_BENCH_PROFILE_H

/* Instructions. */
struct profile {
    double all;
    double waiting; /* inside hub_wait_for, and while the clocks were compared */
    double ffi;     /* inside libffi, the method it calls included */
    double method;  /* inside methods of bench_chimod.c */
    double direct;  /* calls of these without libffi */
};

/* Reads a file written with --compress-strings=no --compress-pos=no. 0, or -errno. */
int profile_read(const char *path, struct profile *out);

#endif
