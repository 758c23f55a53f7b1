// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sleep_in_poll.c - preloaded into ranks that share a few cores: a rank that waits for the network sleeps instead of spinning.
//
// MPI waits by asking for events without a time limit, over and over. After a few such questions in vain and in quick succession, the
// next one sleeps in the kernel for at most a millisecond. Data that arrives ends the sleep at once, so no latency is added. Questions
// between pieces of work, such as MPI_Test between the chunks of a codec, are never put to sleep: the work separates them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

enum { patience = 4 };                        // questions in vain before the first sleep
static const long separated_ns = 20000;       // questions further apart than this have work between them
static const struct timespec most = {0, 1000000};

static int (*real_epoll_wait)(int, struct epoll_event*, int, int);
static int (*real_poll)(struct pollfd*, nfds_t, int);
static __thread long in_vain, last_ns;

__attribute__((constructor)) static void find_functions(void)
{
    real_epoll_wait = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    real_poll = (int (*)(struct pollfd*, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    prctl(PR_SET_TIMERSLACK, 1000UL);
}

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int may_sleep(void)
{
    const long now = now_ns();
    if (now - last_ns > separated_ns) in_vain = 0;
    last_ns = now;
    return ++in_vain > patience;
}

/// A sleep is no work of the caller, so the next distance counts from its end.
static int answered(int ready, int slept)
{
    if (ready != 0) in_vain = 0;
    if (slept) last_ns = now_ns();
    return ready;
}

int epoll_wait(int set, struct epoll_event* events, int capacity, int limit_ms)
{
    if (limit_ms != 0) return real_epoll_wait(set, events, capacity, limit_ms);
    if (!may_sleep()) return answered(real_epoll_wait(set, events, capacity, 0), 0);
    const int ready = epoll_pwait2(set, events, capacity, &most, NULL);
    return answered(ready < 0 && errno == EINTR ? 0 : ready, 1);
}

int poll(struct pollfd* files, nfds_t count, int limit_ms)
{
    if (limit_ms != 0) return real_poll(files, count, limit_ms);
    if (!may_sleep()) return answered(real_poll(files, count, 0), 0);
    const int ready = ppoll(files, count, &most, NULL);
    return answered(ready < 0 && errno == EINTR ? 0 : ready, 1);
}
