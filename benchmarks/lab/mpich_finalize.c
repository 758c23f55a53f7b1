// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpich_finalize.c - preloaded into ranks of MPICH 4.0 over UCX and TCP, which otherwise hangs in MPI_Finalize now and then.
//
// A rank that closes a connection waits for an answer of the other rank. That one may already sit in a blocking read, in the barrier of
// the process manager, where it no longer looks at the network. Here the thread that owns the UCX worker drives it until the read has
// something to return. A read that does not block is left alone: UCX makes such reads itself, before it sleeps.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static __thread void* worker;

/// A function of UCX, also where MPICH was loaded by a module of Python and is not in the scope of the program.
static void* find(void* scope, const char* name)
{
    void* function = dlsym(scope, name);
    void* library = function == NULL ? dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return library == NULL ? function : dlsym(library, name);
}

int ucp_worker_create(void* context, const void* settings, void** created)
{
    int (*real)(void*, const void*, void**) = (int (*)(void*, const void*, void**))find(RTLD_NEXT, "ucp_worker_create");
    const int status = real(context, settings, created);
    if (status == 0) worker = *created;
    return status;
}

void ucp_worker_destroy(void* destroyed)
{
    void (*real)(void*) = (void (*)(void*))find(RTLD_NEXT, "ucp_worker_destroy");
    if (worker == destroyed) worker = NULL;
    real(destroyed);
}

ssize_t read(int file, void* data, size_t capacity)
{
    static ssize_t (*real_read)(int, void*, size_t);
    static unsigned (*progress)(void*);
    if (real_read == NULL) real_read = (ssize_t (*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
    if (worker != NULL && (fcntl(file, F_GETFL) & O_NONBLOCK) == 0) {
        if (progress == NULL) progress = (unsigned (*)(void*))find(RTLD_DEFAULT, "ucp_worker_progress");
        struct pollfd readable = {file, POLLIN, 0};
        while (progress != NULL && worker != NULL && poll(&readable, 1, 1) == 0) progress(worker);
    }
    return real_read(file, data, capacity);
}
