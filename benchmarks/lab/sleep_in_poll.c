// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sleep_in_poll.c - preloaded into ranks that share a few cores: a rank that waits for the network sleeps instead of spinning.
//
// MPI waits by asking for events without a time limit, over and over. Once the processor has done nothing else for a while, the next question
// sleeps in the kernel for at most a millisecond. Data that arrives ends the sleep at once, so no latency is added. Questions between pieces
// of work, such as MPI_Test between the chunks of a codec or between steps of a computation, are never put to sleep: the work separates them.
// What counts is the time of the thread on a processor, because the time on the clock also passes while other ranks run.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

// The fastest codec takes 3 us for a chunk, and a question 1 or 2. All questions of one MPI_Test, or of one test() of several requests, take
// less than the patience. A rank that waits spins for so long before it sleeps.
static const long separated_ns = 5000;  // questions further apart than this have work between them
static const long patience_ns = 40000;
static const struct timespec most = {0, 1000000};

static int (*real_epoll_wait)(int, struct epoll_event*, int, int);
static int (*real_poll)(struct pollfd*, nfds_t, int);
static __thread long began_ns, last_ns;  // of questions in vain, without work between them

__attribute__((constructor)) static void find_functions(void)
{
    real_epoll_wait = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    real_poll = (int (*)(struct pollfd*, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    prctl(PR_SET_TIMERSLACK, 1000UL);
}

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int may_sleep(void)
{
    const long now = now_ns();
    if (now - last_ns > separated_ns) began_ns = now;
    last_ns = now;
    return now - began_ns > patience_ns;
}

/// A question is no work of the caller, so the next distance counts from its end.
static int answered(int ready)
{
    last_ns = now_ns();
    if (ready != 0) began_ns = last_ns;
    return ready;
}

int epoll_wait(int set, struct epoll_event* events, int capacity, int limit_ms)
{
    if (limit_ms != 0) return real_epoll_wait(set, events, capacity, limit_ms);
    if (!may_sleep()) return answered(real_epoll_wait(set, events, capacity, 0));
    const int ready = epoll_pwait2(set, events, capacity, &most, NULL);
    return answered(ready < 0 && errno == EINTR ? 0 : ready);
}

int poll(struct pollfd* files, nfds_t count, int limit_ms)
{
    if (limit_ms != 0) return real_poll(files, count, limit_ms);
    if (!may_sleep()) return answered(real_poll(files, count, 0));
    const int ready = ppoll(files, count, &most, NULL);
    return answered(ready < 0 && errno == EINTR ? 0 : ready);
}
