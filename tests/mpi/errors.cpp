// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that disagree, over MPI: every rank gets an error in time, and the communicator works afterwards.
// ranks: 2 3 8
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.hpp"

#include "support/oracle.hpp"

#include <ccoll/ccoll.hpp>

using namespace ccoll::policies;
using ccoll::status;

namespace {

using floats = std::vector<float>;
using E = ErrorBound<1e-3>;
constexpr double promptly = 5;
int ranks = 1;

/// Makes a good call after the bad one, and checks how long both took.
void goes_on(double begin)
{
    floats one(300, 1);
    std::error_code code;
    ccoll::allreduce<Algo::Ring>(one, MPI_COMM_WORLD, code);
    EXPECT(!code);
    EXPECT(one[0] == static_cast<float>(ranks) && one[299] == one[0]);
    EXPECT(MPI_Wtime() - begin < promptly);
}

/// `call(comm)` throws the error `code` on every rank.
template <class Call>
std::string all_throw(const char* what, status code, Call call)
{
    const double begin = MPI_Wtime();
    std::string text;
    try {
        call(MPI_COMM_WORLD);
        check::expect(false, (std::string(what) + ": must throw").c_str());
    } catch (const ccoll::error& e) {
        text = e.what();
        check::expect(e.what_happened().code == code, (std::string(what) + ": " + text).c_str());
    }
    goes_on(begin);
    return text;
}

bool same_sentence(const std::string& text)
{
    const std::uint64_t mine = oracle::hash(std::vector<char>(text.begin(), text.end()));
    std::uint64_t low = 0, high = 0;
    MPI_Allreduce(&mine, &low, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &high, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return low == high;
}

/// Ranks that no data reach may not notice. Those that do get the same kind of error, and no rank hangs.
template <class Call>
void some_throw(const char* what, status code, Call call)
{
    const double begin = MPI_Wtime();
    int told = 0, most = 0;
    try {
        call(MPI_COMM_WORLD);
    } catch (const ccoll::error& e) {
        told = 1;
        check::expect(e.what_happened().code == code, (std::string(what) + ": " + e.what()).c_str());
    }
    goes_on(begin);
    MPI_Allreduce(&told, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check::expect(most == 1, (std::string(what) + ": some rank must throw").c_str());
}

}  // namespace

/// Rank 0 drops it, perhaps while it is in MPI's own call, which cannot end before the others go on. These
/// hear of it, unless they have everything from rank 0 already.
void all_hear_of_a_dropped_request()
{
    const floats x(100, 1);
    floats sum(x.size());
    auto call = ccoll::iallreduce<Check::Collective>(x, sum, MPI_COMM_WORLD);
    if (check::rank == 0) {
        for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < 0.02;) call.test();
        call = {};
        return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::error_code code;
    const ccoll::report r = call.wait(code);
    EXPECT(!code || (code == status::abandoned && r.trouble.rank == 0));
}

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int me = check::rank;
    struct pair {
        std::size_t mine, others;
    };
    for (const int odd : {0, ranks - 1})
        for (const pair n : {pair{100, 101}, {5000, 100}, {100, 600000}, {600000, 100}, {600000, 600001}}) {
            const std::size_t count = me == odd ? n.mine : n.others;
            all_throw("allreduce of different counts", status::count_differs, [=](MPI_Comm comm) {
                floats v(count);
                ccoll::allreduce<Codec::PipeSZx, E>(v, comm);
            });
            all_throw("recursive doubling of different counts", status::count_differs, [=](MPI_Comm comm) {
                floats v(count);
                ccoll::allreduce<Algo::RecursiveDoubling>(v, comm);
            });
            some_throw("bcast of different counts", status::count_differs, [=](MPI_Comm comm) {
                floats v(count);
                ccoll::bcast<Codec::SZx, E>(v, 0, comm);
            });
            some_throw("gather of different counts", status::count_differs, [=](MPI_Comm comm) {
                floats v(count), all(count * static_cast<std::size_t>(ranks));
                ccoll::gather<Codec::SZx, E>(v, all, 0, comm);
            });
            all_throw("allreduce of different counts, Check::Local", status::count_differs,
                      [=](MPI_Comm comm) {
                          floats v(count), sum(count);
                          ccoll::allreduce<Codec::SZp, E, Check::Local>(v, sum, comm);
                      });
            all_throw("allgather of different counts, Check::Local", status::count_differs,
                      [=](MPI_Comm comm) {
                          floats v(count), all(count * static_cast<std::size_t>(ranks));
                          ccoll::allgather<Algo::Ring, Check::Local>(v, all, comm);
                      });
            if (n.mine == 100) {
                const std::string text =
                    all_throw("bcast with Check::Collective", status::count_differs, [=](MPI_Comm comm) {
                        floats v(me == odd ? 7 : 8);
                        ccoll::bcast<Check::Collective>(v, 0, comm);  // an agreement before MPI's own call
                    });
                EXPECT(same_sentence(text));
            }
        }
    all_throw("different codecs", status::plan_differs, [=](MPI_Comm comm) {
        floats v(1000);
        if (me == 0) ccoll::allreduce<Codec::SZx, E>(v, comm);
        else ccoll::allreduce<Codec::PipeSZx, E>(v, comm);
    });
    all_throw("different algorithms", status::plan_differs, [=](MPI_Comm comm) {
        floats v(1000);
        if (me == 0) ccoll::allreduce<Algo::RecursiveDoubling>(v, comm);
        else ccoll::allreduce<Algo::Ring>(v, comm);
    });
    all_throw("different bounds", status::bound_differs, [=](MPI_Comm comm) {
        floats v(1000);
        ccoll::allreduce<Codec::SZx, RuntimeBound>(v, comm, me == ranks - 1 ? 1e-3 : 1e-4);
    });
    all_throw("a bad bound on one rank", status::bad_bound, [=](MPI_Comm comm) {
        floats v(1000);
        ccoll::allreduce<Codec::SZx, RuntimeBound>(v, comm, me == ranks - 1 ? -1.0 : 1e-4);
    });
    all_throw("buffers that do not fit on one rank", status::size_mismatch, [=](MPI_Comm comm) {
        floats v(1000), w(me == 0 ? 999 : 1000);
        ccoll::allreduce<Algo::Ring>(v, w, comm);
    });
    EXPECT(same_sentence(all_throw("different roots", status::root_differs, [=](MPI_Comm comm) {
        floats v(1000);
        ccoll::bcast<Codec::SZx, E, Check::Collective>(v, me == 0 ? 1 : 0, comm);
    })));
    EXPECT(same_sentence(all_throw("a root that does not exist", status::bad_root, [=](MPI_Comm comm) {
        floats v(1000);
        ccoll::bcast<Check::Collective>(v, me == ranks - 1 ? ranks : 0, comm);
    })));

    // Where handles are integers, root and communicator can be mixed up.
    if constexpr (std::is_integral_v<MPI_Comm>) {
        std::string text;
        floats x(10), y(10);
        try {
            ccoll::reduce(x, y, MPI_COMM_WORLD, 0);
        } catch (const ccoll::error& e) {
            text = e.what();
        }
        EXPECT(text.find("the order is buffers, counts, root, communicator") != std::string::npos);
    }

    // Good calls between bad ones.
    const double begin = MPI_Wtime();
    for (int i = 0; i < 50; ++i) {
        std::error_code code;
        floats bad(me == i % ranks ? 40 : 41), good(40, 1);
        const auto facts = ccoll::allreduce<Algo::Ring>(bad, MPI_COMM_WORLD, code);
        EXPECT(code == status::count_differs && facts.trouble.code == status::count_differs);
        ccoll::allreduce<Codec::SZx, E>(good, MPI_COMM_WORLD, code);
        EXPECT(!code && good[39] - static_cast<float>(ranks) < 0.01f &&
               static_cast<float>(ranks) - good[39] < 0.01f);
    }
    EXPECT(MPI_Wtime() - begin < promptly);
    all_hear_of_a_dropped_request();
    return check::finish();
}
