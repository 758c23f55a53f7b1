// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// group.cpp - see group.hpp.
#include "group.hpp"

#include <stdexcept>

#include <unistd.h>

namespace ccoll_torch {

namespace {

struct state {
    std::unique_ptr<ccoll::progress_thread> thread;
    int rank = 0, size = 1;
    bool ends_mpi = false;
    pid_t process = 0;  // a process that is forked has no such thread
};
state& the()
{
    static state one;
    return one;
}

bool mpi_has(int (*question)(int*))
{
    int answer = 0;
    question(&answer);
    return answer != 0;
}

}  // namespace

void runtime::start()
{
    if (the().thread != nullptr) return;
    if (mpi_has(MPI_Finalized))
        throw std::runtime_error("ccoll: MPI has ended, and cannot be started a second time");
    int level = 0;
    if (mpi_has(MPI_Initialized)) {
        MPI_Query_thread(&level);
    } else {
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
        the().ends_mpi = true;
    }
    if (level < MPI_THREAD_SERIALIZED)
        throw std::runtime_error(
            "ccoll: calls are made on a thread of their own, so MPI must be started with MPI_THREAD_MULTIPLE "
            "(or SERIALIZED, if nothing else in the program calls MPI); import ccoll_torch before what "
            "starts MPI");
    MPI_Comm_rank(MPI_COMM_WORLD, &the().rank);
    MPI_Comm_size(MPI_COMM_WORLD, &the().size);
    the().process = getpid();
    the().thread = std::make_unique<ccoll::progress_thread>();
}

bool runtime::started() { return the().thread != nullptr && the().process == getpid(); }

void runtime::stop()
{
    if (!started()) return;
    the().thread.reset();
    if (the().ends_mpi && !mpi_has(MPI_Finalized)) MPI_Finalize();
}

ccoll::progress_thread& runtime::thread()
{
    if (!started())
        throw std::runtime_error(
            "ccoll: this process is no rank: MPI has not been started in it, or has ended");
    return *the().thread;
}
int runtime::rank() { return the().rank; }
int runtime::size() { return the().size; }

const char* runtime::library()
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

std::string runtime::bcast(std::string text)
{
    return thread().run([text]() mutable {
        int length = static_cast<int>(text.size());
        MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
        text.resize(static_cast<std::size_t>(length));
        MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
        return text;
    });
}

void runtime::abort(int code)
{
    // Not on the thread, which may wait for a rank that does not come.
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

group::group(std::vector<int> ranks)
{
    runtime::thread().run([&] {
        if (ranks.empty()) {
            MPI_Comm_dup(MPI_COMM_WORLD, &handle_);
        } else {
            MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
            MPI_Comm_group(MPI_COMM_WORLD, &all);
            MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &handle_);
            MPI_Group_free(&some);
            MPI_Group_free(&all);
        }
        if (handle_ == MPI_COMM_NULL)
            throw std::runtime_error("ccoll: this rank is not in the group that it makes");
        MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
        MPI_Comm_rank(handle_, &rank_);
        MPI_Comm_size(handle_, &size_);
    });
    // ccoll duplicates a communicator in the first call on it, which waits for the other ranks, so this call
    // must be the first one.
    float mean = static_cast<float>(rank_);
    runtime::thread().run([&] {
        const test_function test = begin_allreduce({&mean, 1, number::f32}, operation::average, {}, handle_);
        ccoll::report facts;
        while (!test(facts)) {}
    });
    if (mean != static_cast<float>(size_ - 1) / 2)
        throw std::runtime_error("ccoll: the ranks of a group do not find each other");
}

void group::add(const ccoll::report& facts)
{
    const std::lock_guard lock(mutex_);
    facts_ += facts;
}
ccoll::report group::facts() const
{
    const std::lock_guard lock(mutex_);
    return facts_;
}
void group::reset()
{
    const std::lock_guard lock(mutex_);
    facts_ = {};
}

}  // namespace ccoll_torch
