// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks.hpp - the ranks of the example, as MPI processes or as threads of one process: rank and size, the
// progress of the work, and the plain allreduce that the compressed one is compared with. Everything else
// uses the communicator, which ccoll accepts in both cases.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using steady_time = std::chrono::steady_clock::time_point;

inline double seconds_since(steady_time start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Shows how many shots are done: as one line that grows on a terminal, or as a line per step if the output
/// goes to a file or a launcher.
class progress {
public:
    progress(int shots, steady_time start, bool one_line) : shots_(shots), start_(start), one_line_(one_line)
    {}

    void show(int done, int rank) const
    {
        constexpr int width = 32;
        constexpr int most_lines = 24;
        const int filled = done * width / shots_;
        if (!one_line_ && done != shots_ && done * most_lines / shots_ == (done - 1) * most_lines / shots_)
            return;
        fmt::print("{}  [{:#>{}}{:.>{}}] {:>3} of {} shots {:7.1f} s   last by rank {}{}",
                   one_line_ ? "\r" : "", "", filled, "", width - filled, done, shots_, seconds_since(start_),
                   rank, one_line_ && done < shots_ ? "" : "\n");
        std::fflush(stdout);
    }

private:
    int shots_;
    steady_time start_;
    bool one_line_;
};

/// Ranks that are threads.
class thread_ranks {
public:
    static constexpr const char* plain_name = "ccoll, Codec::None";

    /// What the threads share.
    struct board {
        board(int shots, steady_time start) : bar(shots, start, isatty(STDOUT_FILENO) != 0) {}
        progress bar;
        std::mutex mutex;
        int done = 0;
    };

    thread_ranks(const ccoll::threads_comm& comm, board& shared) : comm_(comm), board_(shared) {}

    const ccoll::threads_comm& comm() const { return comm_; }
    int rank() const { return comm_.rank(); }
    int size() const { return comm_.size(); }
    std::string transport() const { return "threads"; }
    bool one_machine() const { return true; }

    void shot_done()
    {
        const std::lock_guard lock(board_.mutex);
        board_.bar.show(++board_.done, rank());
    }
    /// To be called from time to time while a shot is being migrated.
    void look_around() {}
    /// Returns when all shots of all ranks are done. A rank that waits sleeps.
    void settle() { barrier(); }
    void barrier()
    {
        const std::vector<float> nothing{0.0F};
        std::vector<float> result(1);
        ccoll::allreduce(nothing, result, comm_);
    }
    template <class T>
    void plain_sum(const std::vector<T>& send, std::vector<T>& recv)
    {
        ccoll::allreduce(send, recv, comm_);
    }

private:
    ccoll::threads_comm comm_;
    board& board_;
};

#if !defined(CCOLL_NO_MPI)

/// Ranks that are processes. A rank that waits for slower ranks sleeps, because MPI's own waiting would take
/// processor time from them.
class mpi_ranks {
public:
    static constexpr const char* plain_name = "plain MPI_Allreduce";

    mpi_ranks(MPI_Comm comm, int shots, steady_time start)
        : comm_(comm), shots_(shots), bar_(shots, start, false)
    {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
    }

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    std::string transport() const
    {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        MPI_Get_library_version(version, &length);
        std::string text(version);
        text.resize(std::min(text.size(), text.find_first_of(",\n")));
        const std::size_t label = text.find("Version:\t");  // as MPICH writes it
        if (label != std::string::npos) text.erase(label, std::string_view("Version:\t").size());
        return text;
    }
    bool one_machine() const
    {
        MPI_Comm here = MPI_COMM_NULL;
        MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
        int neighbours = 0;
        MPI_Comm_size(here, &neighbours);
        MPI_Comm_free(&here);
        return neighbours == size_;
    }

    void shot_done()
    {
        if (rank_ != 0) {
            MPI_Send(nullptr, 0, MPI_BYTE, 0, shot_tag, comm_);
            return;
        }
        bar_.show(++done_, 0);
    }
    /// Rank 0 receives the messages about finished shots. On the other ranks this only lets MPI make progress
    /// with sending them.
    void look_around() { listen(); }
    void settle()
    {
        while (rank_ == 0 && done_ < shots_) {
            listen();
            nap();
        }
        MPI_Request everybody = MPI_REQUEST_NULL;
        MPI_Ibarrier(comm_, &everybody);
        int complete = 0;
        for (MPI_Test(&everybody, &complete, MPI_STATUS_IGNORE); complete == 0;
             MPI_Test(&everybody, &complete, MPI_STATUS_IGNORE))
            nap();
    }
    void barrier() { MPI_Barrier(comm_); }
    void plain_sum(const std::vector<float>& send, std::vector<float>& recv)
    {
        sum(send.data(), recv.data(), send.size(), MPI_FLOAT);
    }
    void plain_sum(const std::vector<double>& send, std::vector<double>& recv)
    {
        sum(send.data(), recv.data(), send.size(), MPI_DOUBLE);
    }

private:
    static constexpr int shot_tag = 1;

    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

    void listen()
    {
        for (;;) {
            int waiting = 0;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, shot_tag, comm_, &waiting, &status);
            if (waiting == 0) return;
            MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, shot_tag, comm_, MPI_STATUS_IGNORE);
            bar_.show(++done_, status.MPI_SOURCE);
        }
    }
    void sum(const void* send, void* recv, std::size_t n, MPI_Datatype type)
    {
        // The options keep n far below 2^31.
        MPI_Allreduce(send, recv, static_cast<int>(n), type, MPI_SUM, comm_);
    }

    MPI_Comm comm_;
    int shots_;
    progress bar_;
    int rank_ = 0;
    int size_ = 1;
    int done_ = 0;
};

#endif
