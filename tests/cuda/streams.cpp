// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// A stream behind the communicator: the call comes after what was begun on it before, and what is begun on it
// later finds the result.
#include "device_vector.hpp"

#include <ccoll/compile_dynamic.hpp>
#include <ccoll/transport/threads.hpp>

#include "support/fields.hpp"

#include <mutex>

namespace streams_cases {

using namespace ccoll::policies;
using emulated::device_vector;
using E = ErrorBound<1e-3>;
using floats = std::vector<float>;

namespace {

constexpr std::size_t n = 5000;

struct plans : ccoll::dynamic::menu<ccoll::cuda_space, float, Codec::SZp, RuntimeBound> {};

class user_stream {
public:
    explicit user_stream(unsigned flags = cudaStreamNonBlocking)
    {
        REQUIRE(cudaStreamCreateWithFlags(&s_, flags) == cudaSuccess);
    }
    user_stream(const user_stream&) = delete;
    user_stream& operator=(const user_stream&) = delete;
    ~user_stream() { cudaStreamDestroy(s_); }
    cudaStream_t get() const { return s_; }

private:
    cudaStream_t s_ = nullptr;
};

/// Values come late: a kernel writes them.
void write_later(cudaStream_t s, device_vector<float>& to, const floats& values)
{
    for (int i = 0; i < 20; ++i) emulator::later(s, [] {});
    emulator::later(s, [at = to.address(), values] { std::copy(values.begin(), values.end(), at); });
}

struct rank_of {
    ccoll::threads_comm& comm;
    floats x, expected;
    int me, p;

    explicit rank_of(ccoll::threads_comm& c) : comm(c), x(n), expected(n), me(c.rank()), p(c.size())
    {
        x = fields::smooth<float>(n, static_cast<unsigned>(me) + 1);
        ccoll::allreduce<Codec::SZp, E>(x, expected, comm);
    }
};

}  // namespace

TEST_CASE("A call comes after what its stream was to do before", "[cuda][streams]")
{
    std::mutex mutex;
    ccoll::run_ranks(3, [&](ccoll::threads_comm& comm) {
        rank_of r(comm);
        const user_stream s;
        device_vector<float> in(n), out(n);
        const auto check = [&](const char* what, auto call) {
            in.put(floats(n, 1e3f));
            out.put(floats(n, -1));
            write_later(s.get(), in, r.x);
            call();
            const std::lock_guard lock(mutex);
            INFO(what);
            CHECK(out.values() == r.expected);
        };
        for (int round = 0; round < 5; ++round) {
            check("blocking", [&] { ccoll::allreduce<Codec::SZp, E>(in, out, comm, s.get()); });
            check("nonblocking", [&] {
                ccoll::request call = ccoll::iallreduce<Codec::SZp, E>(in, out, comm, s.get());
                call.wait();
            });
            check("with a bound and an error code beside it", [&] {
                std::error_code code;
                ccoll::allreduce<Codec::SZp, RuntimeBound>(in, out, comm, 1e-3, s.get(), code);
                CHECK(!code);
            });
            check("described by values", [&] {
                ccoll::dynamic::call c{.which = ccoll::collective_id::allreduce,
                                       .send = in.address(),
                                       .recv = out.address(),
                                       .n = n,
                                       .how = {.codec = ccoll::dynamic::codec_id::SZp, .bound = 1e-3},
                                       .memory = ccoll::dynamic::memory_id::cuda,
                                       .stream = s.get()};
                ccoll::dynamic::begin<plans>(c, comm).wait();
            });
            check("one call after another", [&] {
                ccoll::reduce<Algo::Binomial, Codec::SZp, E>(in, out, 0, comm, s.get());
                ccoll::bcast<Codec::Lossless>(out, 0, comm, s.get());
            });
        }
        ccoll::persistent prepared = ccoll::allreduce_init<Codec::SZp, E>(in, out, comm, s.get());
        for (int round = 0; round < 3; ++round)
            check("prepared", [&] {
                prepared.start();
                prepared.wait();
            });
    });
}

TEST_CASE("A message between two ranks comes after what its stream was to do before", "[cuda][streams]")
{
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        const rank_of r(comm);
        const user_stream s;
        const floats theirs = fields::smooth<float>(n, static_cast<unsigned>(1 - r.me) + 1);
        device_vector<float> in(n, 7), out(n);
        write_later(s.get(), in, r.x);
        ccoll::sendrecv(in, 1 - r.me, out, 1 - r.me, 3, comm, s.get());
        const std::lock_guard lock(mutex);
        CHECK(out.values() == theirs);
    });
}

TEST_CASE("What a stream is given after a call finds the result, and a receive buffer is not written before",
          "[cuda][streams]")
{
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        const rank_of r(comm);
        const user_stream s;
        device_vector<float> in(r.x), out(n, 5), before(n), after(n);
        // Still reads what the call is going to overwrite.
        for (int i = 0; i < 20; ++i) emulator::later(s.get(), [] {});
        cudaMemcpyAsync(before.address(), out.address(), n * sizeof(float), cudaMemcpyDeviceToDevice,
                        s.get());
        ccoll::allreduce<Codec::SZp, E>(in, out, comm, s.get());
        cudaMemcpyAsync(after.address(), out.address(), n * sizeof(float), cudaMemcpyDeviceToDevice, s.get());
        cudaStreamSynchronize(s.get());
        const std::lock_guard lock(mutex);
        CHECK(before.values() == floats(n, 5));
        CHECK(after.values() == r.expected);
    });
}

TEST_CASE("Without a stream a call comes after what the default stream was to do", "[cuda][streams]")
{
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        const rank_of r(comm);
        device_vector<float> in(n, 9), out(n);
        write_later(nullptr, in, r.x);
        ccoll::allreduce<Codec::SZp, E>(in, out, comm);
        const std::lock_guard lock(mutex);
        CHECK(out.values() == r.expected);
    });
}

TEST_CASE("With a stream a call does not wait for the default stream", "[cuda][streams]")
{
    ccoll::run_ranks(1, [&](ccoll::threads_comm& comm) {
        const user_stream s;
        device_vector<float> in(n, 3), out(n);
        // The default stream cannot go on before the gate is open.
        auto& all = emulator::devices::all();
        const auto gate = std::make_shared<emulator::progress>();
        bool gone_on = false;
        all.add(all.of(nullptr), [&] { gone_on = true; }, {{gate, 1}});
        ccoll::request call = ccoll::iallreduce<Codec::None, Algo::Ring>(in, out, comm, s.get());
        bool ended = false;
        for (int turn = 0; turn < 10000 && !ended; ++turn) ended = call.test();
        CHECK(ended);
        CHECK_FALSE(gone_on);
        gate->done = 1;
        if (!ended) call.wait();
        CHECK(out.values() == floats(n, 3));
        cudaStreamSynchronize(nullptr);
        CHECK(gone_on);
    });
}

TEST_CASE(
    "A kernel begins early only on devices where its code can wait, of which a process may have several",
    "[cuda][streams]")
{
    auto& all = emulator::devices::all();
    const auto begins_early = [&](int device, cudaFuncAttributes code) {
        all.code[device] = code;
        const long before = emulator::early_launches, kernels = emulator::launches;
        ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
            static_cast<void>(cudaSetDevice(device));  // of this thread
            device_vector<double> in(n, 3), out(n);    // no other test here asks about these kernels
            ccoll::allreduce<Algo::Ring, Codec::SZp, E>(in, out, comm);
        });
        REQUIRE(emulator::launches > kernels);
        return emulator::early_launches > before;
    };
    CHECK_FALSE(begins_early(0, {80, 90}));  // PTX of an older architecture, compiled for this device
    CHECK(begins_early(1, {90, 90}));
    CHECK_FALSE(begins_early(0, {80, 90}));
    all.code[0] = {90, 90};
}

TEST_CASE("The emulator shows a call that is not ordered after other work: the tests above can fail",
          "[cuda][streams]")
{
    std::mutex mutex;
    int early = 0;
    ccoll::run_ranks(1, [&](ccoll::threads_comm& comm) {
        for (int round = 0; round < 20; ++round) {
            const user_stream s;
            device_vector<float> in(n, 9), out(n);
            write_later(s.get(), in, floats(n, 1));
            ccoll::allreduce<Codec::None, Algo::Ring>(in, out, comm);
            const std::lock_guard lock(mutex);
            early += out.values() != floats(n, 1);
        }
    });
    CHECK(early > 0);
}

TEST_CASE("Two calls on two streams of one thread", "[cuda][streams]")
{
    std::mutex mutex;
    ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
        const rank_of r(comm);
        const user_stream s, t;
        floats highest(n);
        ccoll::allreduce<Codec::None, Algo::Ring, Op::Max>(r.x, highest, comm);
        device_vector<float> in(n, 9), out(n), other_in(n, 8), other_out(n);
        write_later(s.get(), in, r.x);
        write_later(t.get(), other_in, r.x);
        ccoll::request first = ccoll::iallreduce<Codec::SZp, E>(in, out, comm, s.get());
        ccoll::request second =
            ccoll::iallreduce<Codec::None, Algo::Ring, Op::Max>(other_in, other_out, comm, t.get());
        if (r.me == 0) {
            second.wait();
            first.wait();
        } else {
            first.wait();
            second.wait();
        }
        const std::lock_guard lock(mutex);
        CHECK(out.values() == r.expected);
        CHECK(other_out.values() == highest);
    });
}

}  // namespace streams_cases
