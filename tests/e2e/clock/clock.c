/* A host's clock that is wrong, for one process: preloaded, it adds to the time of day as many seconds as stand in the file
 * that LEASEHOLD_CLOCK names, at each call, so that a test steps the clock of a process that runs. What lasts is measured by
 * other clocks (CLOCK_MONOTONIC), which no setting of the time changes: they are the kernel's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
    const char *path = getenv("LEASEHOLD_CLOCK");
    FILE *file = path ? fopen(path, "re") : NULL;
    long seconds = 0;
    if (file && fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    if (file) fclose(file);
    return seconds;
}

static int is_time_of_day(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *out) {
    long answer = syscall(SYS_clock_gettime, clock, out);
    if (!answer && is_time_of_day(clock)) out->tv_sec += ahead();
    return (int)answer;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    long answer = syscall(SYS_gettimeofday, out, zone);
    if (!answer) out->tv_sec += ahead();
    return (int)answer;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
