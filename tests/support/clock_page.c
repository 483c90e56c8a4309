/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/clock_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "hub/base/atomic.h"

#define SECOND UINT64_C(1000000000)

/* The page's time is `shown` plus what has passed since `from`, at the rate. One process at a time
 * changes it; `changes` is odd meanwhile. */
struct page {
    struct hub_a64 changes, from, shown, rate;
    struct hub_a64 wall; /* what is added to the wall clock, modulo 2^64 */
};

static struct page *page;
static char path[64];

static uint64_t true_time(clockid_t clock)
{
    struct timespec now = {0};

    syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t shown_time(void)
{
    uint64_t before, from, shown, rate, now = true_time(CLOCK_BOOTTIME);

    do {
        before = hub_observe64(&page->changes);
        from = hub_observe64(&page->from);
        shown = hub_observe64(&page->shown);
        rate = hub_observe64(&page->rate);
    } while (before % 2 != 0 || hub_observe64(&page->changes) != before);
    /* the time may have been read before the page was changed */
    return now <= from ? shown
                       : shown + (uint64_t)((__uint128_t)(now - from) * rate / CLOCK_PAGE_RATE);
}

/* Takes the place of the C library's, here and in every library of this process. */
__attribute__((visibility("default"))) int clock_page_read(
    clockid_t clock, struct timespec *now) __asm__("clock_gettime");

int clock_page_read(clockid_t clock, struct timespec *now)
{
    uint64_t ns;

    if (page && clock == CLOCK_BOOTTIME)
        ns = shown_time();
    else if (page && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ns = true_time(clock) + hub_observe64(&page->wall);
    else
        return (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec = (time_t)(ns / SECOND);
    now->tv_nsec = (long)(ns % SECOND);
    return 0;
}

/* The C library's older ways to read the wall clock, for libraries that use them. */
__attribute__((visibility("default"))) time_t clock_page_seconds(time_t *out) __asm__("time");
__attribute__((visibility("default"))) int clock_page_day(struct timeval *out,
                                                          void *zone) __asm__("gettimeofday");

time_t clock_page_seconds(time_t *out)
{
    struct timespec now;

    (void)clock_page_read(CLOCK_REALTIME_COARSE, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int clock_page_day(struct timeval *out, void *zone)
{
    struct timespec now;

    (void)zone;
    (void)clock_page_read(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

static void map(int fd, int protection)
{
    void *at = mmap(NULL, sizeof *page, protection, MAP_SHARED, fd, 0);

    page = at == MAP_FAILED ? NULL : at;
}

__attribute__((constructor)) static void join_page(void)
{
    const char *file = getenv(CLOCK_PAGE_FILE);
    FILE *stream = file ? fopen(file, "re") : NULL;

    if (!stream)
        return;
    map(fileno(stream), PROT_READ);
    fclose(stream);
}

static void set(uint64_t shown, uint64_t rate)
{
    hub_add64(&page->changes, 1);
    hub_publish64(&page->from, true_time(CLOCK_BOOTTIME));
    hub_publish64(&page->shown, shown);
    hub_publish64(&page->rate, rate);
    hub_add64(&page->changes, 1);
}

const char *clock_page_open(void)
{
    int fd;

    snprintf(path, sizeof path, "/dev/shm/clock-page-XXXXXX");
    fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, sizeof *page) < 0)
        abort();
    map(fd, PROT_READ | PROT_WRITE);
    close(fd);
    if (!page)
        abort();
    set(true_time(CLOCK_BOOTTIME), CLOCK_PAGE_RATE);
    return path;
}

void clock_page_leap(int64_t ns)
{
    set(shown_time() + (uint64_t)ns, hub_observe64(&page->rate));
}

void clock_page_set_wall(int64_t ns)
{
    hub_add64(&page->wall, (uint64_t)ns);
}

void clock_page_rate(uint32_t millionths)
{
    set(shown_time(), millionths);
}

void clock_page_close(void)
{
    munmap(page, sizeof *page);
    page = NULL;
    unlink(path);
}
