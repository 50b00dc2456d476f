/*
 * Shift the wall clock of a process: preload this library, and write an offset in seconds to the file that the
 * variable CLOCK_OFFSET_FILE names, as a 64-bit integer. A change takes effect immediately. The monotonic clock keeps
 * running, as it does when the clock of a machine is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void prepare(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);

    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (mapped != MAP_FAILED)
        offset = mapped;
    if (file >= 0)
        close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!real_clock_gettime)
        prepare();
    int result = real_clock_gettime(clock, now);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec read;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &read);
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return result;
}

time_t time(time_t *stored)
{
    struct timespec read;
    clock_gettime(CLOCK_REALTIME, &read);
    if (stored)
        *stored = read.tv_sec;
    return read.tv_sec;
}
