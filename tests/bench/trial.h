/* SPDX-License-Identifier: Apache-2.0 */
/* trial: one measurement of one thing, some 40 ms long: warm-up, then untimed batches, whose median
 * is the cost of an operation, then operations timed one by one, for exact percentiles. */
#ifndef TESTS_BENCH_TRIAL_H
#define TESTS_BENCH_TRIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TRIAL_WHY_SIZE 160

struct trial {
    double batch_ns; /* time of one operation */
    double p50_ns, p90_ns, p99_ns, p999_ns;
    double value;  /* a result that is no time: a rate, a bandwidth, a count */
    double second; /* another one of the same trial */
    double faults; /* page faults per operation, where operations are counted */
    uint64_t n;    /* operations timed */
    uint64_t preempted;
    double load;              /* load of the machine, the last minute */
    bool fifo;                /* ran with real-time priority */
    char why[TRIAL_WHY_SIZE]; /* it could not be measured */
};

struct trial_plan {
    int (*once)(void *user); /* the operation; less than 0 ends the trial */
    void *user;
    double ms;
    bool fifo;    /* try real-time priority for this thread and `peer`; at most 100 ms */
    pid_t peer;   /* 0: none */
    uint32_t per; /* operations that `once` does; 0 is 1 */
};

/* 0, or what `once` returned. */
int trial_run(const struct trial_plan *plan, struct trial *out);

/* From now on a trial is 1,000 operations to warm up and `count` more, without reading a clock: for
 * other counts than time. 0: as before. */
void trial_exactly(uint64_t count);

/* Returns the word that is stored before each of the `count` and after the last, for readers of a
 * trace. */
const volatile uint64_t *trial_mark(void);

/* A system call that does nothing, for who counts those between the two. */
#define TRIAL_BEGIN "what counts begins"
#define TRIAL_END   "what counts has ended"
void trial_tell(const char *what);

/* Cycles of a counter that all CPUs share, and what they are in time. trial_init first. */
void trial_init(void);
uint64_t trial_cycles(void);
double trial_ns(uint64_t cycles);

/* Monotonic nanoseconds. */
uint64_t trial_now(void);

/* The quantile of `count` values, which it sorts. */
double trial_quantile(double *values, uint32_t count, double q);

#endif
