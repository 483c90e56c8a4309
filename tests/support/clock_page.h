/* SPDX-License-Identifier: Apache-2.0 */
/* clock_page: a boot clock and a wall clock that a test sets. A program that links it reads
 * CLOCK_BOOTTIME through a page of shared memory with an offset and a rate, and CLOCK_REALTIME with
 * an offset, and so does each process that is started with the module clock_page.so in LD_PRELOAD
 * and the page's file in CLOCK_PAGE. The product's objects are those of every other test. Other
 * clocks are untouched: the kernel waits by them. */
#ifndef TESTS_SUPPORT_CLOCK_PAGE_H
#define TESTS_SUPPORT_CLOCK_PAGE_H

#include <stdint.h>

#define CLOCK_PAGE_FILE "CLOCK_PAGE" /* environment variable: the file */
#define CLOCK_PAGE_RATE 1000000      /* the rate of true time: millionths */

/* Makes a page in a new file, which clock_page_close removes, and uses it in this
 * process from now on. Returns the path. The page shows the true time. */
const char *clock_page_open(void);

/* Lets the boot clock leap forward, as after a suspend, or backward. */
void clock_page_leap(int64_t ns);

/* Lets the wall clock show so much more than it does, as if somebody had set it. */
void clock_page_set_wall(int64_t ns);

/* Lets the boot clock go on at this rate from its present time. */
void clock_page_rate(uint32_t millionths);

/* Closes the page: this process sees the true time again. */
void clock_page_close(void);

#endif
