// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives on device buffers with SZx, PipeSZx and ZFP at a rate, whose kernels run in them, beside the same calls on host buffers; and
// codec_stream with these codecs.
#include "emulator/runtime.hpp"

#include <ccoll/cuda.cuh>
#include <ccoll/transport/threads.hpp>

#include "../catch.hpp"
#include "../fields.hpp"

#include <cstring>
#include <mutex>
#include <string>
#include <vector>

using namespace ccoll::policies;

namespace {

/// n elements on the device.
template <class T>
class on_device {
public:
    explicit on_device(const std::vector<T>& from) : n_(from.size())
    {
        void* at = nullptr;
        REQUIRE(cudaMalloc(&at, n_ * sizeof(T) + 1) == cudaSuccess);
        at_ = static_cast<T*>(at);
        if (n_ > 0) std::memcpy(static_cast<void*>(at_), from.data(), n_ * sizeof(T));
    }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device() { cudaFree(at_); }
    ccoll::device_span<T> span() const { return {at_, n_}; }
    std::vector<T> values() const { return {at_, at_ + n_}; }

private:
    T* at_ = nullptr;
    std::size_t n_;
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls with host buffers and with device buffers. What differs is said in `wrong`.
template <class T>
class beside_host {
public:
    beside_host(ccoll::threads_comm& comm, std::string& wrong) : comm_(comm), wrong_(wrong), me_(comm.rank()), p_(comm.size()) {}

    template <class... P>
    void all(const std::string& name, std::size_t n)
    {
        const auto ranks = static_cast<std::size_t>(p_);
        compare(name + " allgather", n, n * ranks,
                [&](auto&& in, auto&& out) { return ccoll::allgather<Algo::Ring, P...>(in, out, comm_); });
        compare(name + " alltoall", n * ranks, n * ranks,
                [&](auto&& in, auto&& out) { return ccoll::alltoall<Algo::Pairwise, P...>(in, out, comm_); });
        compare(name + " allreduce Ring", n, n, [&](auto&& in, auto&& out) { return ccoll::allreduce<Algo::Ring, P...>(in, out, comm_); });
        compare(name + " allreduce PerHop, Max", n, n, [&](auto&& in, auto&& out) {
            return ccoll::allreduce<Algo::RecursiveDoubling, Placement::PerHop, Op::Max, P...>(in, out, comm_);
        });
        std::vector<T> x = input(n);
        const on_device<T> both(x);
        const ccoll::report expected = ccoll::bcast<Algo::Binomial, P...>(x, p_ / 2, comm_),
                            found = ccoll::bcast<Algo::Binomial, P...>(both.span(), p_ / 2, comm_);
        check(name + " bcast", expected, found, x, both.values());
    }

private:
    std::vector<T> input(std::size_t n) const { return fields::smooth<T>(n, static_cast<unsigned>(me_) + 1); }
    template <class Call>
    void compare(const std::string& what, std::size_t sent, std::size_t received, Call call)
    {
        const std::vector<T> x = input(sent);
        std::vector<T> y(received, T(7));
        const on_device<T> in(x), out(y);
        const ccoll::report expected = call(x, y), found = call(ccoll::device_span<const T>(in.span()), out.span());
        check(what, expected, found, y, out.values());
        if (in.values() != x) wrong_ += what + ": changed its input; ";
    }
    void check(const std::string& what, const ccoll::report& expected, const ccoll::report& found, const std::vector<T>& y,
               const std::vector<T>& of_device)
    {
        if (!same(y, of_device)) wrong_ += what + ": other bits; ";
        if (found.sent_bytes != expected.sent_bytes || found.placement != expected.placement || found.codec != expected.codec)
            wrong_ += what + ": other bytes or another placement; ";
        if (found.worst_case_error != expected.worst_case_error || found.exact != expected.exact ||
            found.fallback_blocks != expected.fallback_blocks || found.special_values != expected.special_values)
            wrong_ += what + ": another promise; ";
    }

    ccoll::threads_comm& comm_;
    std::string& wrong_;
    int me_, p_;
};

template <class T, class... P>
void beside_host_on(int p, const std::string& name, std::size_t n)
{
    std::mutex mutex;
    std::string wrong;
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        std::string mine;
        beside_host<T>(comm, mine).template all<P...>(name, n);
        const std::lock_guard lock(mutex);
        wrong += mine;
    });
    INFO(name << " on " << p << " ranks, " << n << " elements");
    CHECK(wrong == "");
}

/// A frame of a codec_stream, and what it decodes to.
template <class Codec, class T>
void stream_beside_host(ccoll::codec_stream& codecs, const std::vector<T>& x, double eb)
{
    std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec, T>(x.size()));
    const on_device<T> in(x), out(std::vector<T>(x.size()));
    const on_device<std::byte> frame(host);
    host.resize(ccoll::encode<Codec>(x, host, eb).bytes);
    codecs.encode<Codec>(in.span(), frame.span(), eb);
    const ccoll::encode_result r = codecs.result();
    CHECK(r.code == ccoll::status::ok);
    REQUIRE(r.bytes == host.size());
    CHECK(std::memcmp(frame.span().device_data(), host.data(), host.size()) == 0);
    std::vector<T> expected(x.size());
    REQUIRE(ccoll::decode<Codec>(host, expected) == ccoll::status::ok);
    codecs.decode<Codec>(frame.span(), out.span());
    CHECK(codecs.result().code == ccoll::status::ok);
    CHECK(same(out.values(), expected));
    codecs.encode<Codec>(in.span(), ccoll::device_span<std::byte>(frame.span().device_data(), 40), eb);
    CHECK(codecs.result().code == ccoll::status::out_of_space);
}

}  // namespace

TEMPLATE_TEST_CASE("Device buffers with SZx, PipeSZx and ZFP at a rate: the bits and bytes of host buffers, by kernels",
                   "[cuda][collectives][szx][zfp]", float, double)
{
    for (const int p : {2, 3})
        for (const std::size_t n : {std::size_t{12000}, std::size_t{37}}) {
            beside_host_on<TestType, Codec::SZx, ErrorBound<1e-3>>(p, "SZx", n);
            beside_host_on<TestType, Codec::PipeSZx, EndToEnd<ErrorBound<1e-3>>>(p, "PipeSZx end to end", n);
            beside_host_on<TestType, Codec::Zfp, FixedRate<8>>(p, "Zfp at 8 bits", n);
        }
}

TEST_CASE("Device buffers: SZx and ZFP at a rate do not go through the host", "[cuda][collectives][szx][zfp]")
{
    const auto kernels_of = [](auto call) {
        const long before = emulator::launches;
        ccoll::run_ranks(2, [&](ccoll::threads_comm& comm) {
            const on_device<float> in(fields::smooth<float>(1000)), out(std::vector<float>(2000));
            call(ccoll::device_span<const float>(in.span()), out.span(), comm);
        });
        return emulator::launches - before;
    };
    using E = ErrorBound<1e-3>;
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::SZx, E>(in, out, comm); }) >= 4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::PipeSZx, E>(in, out, comm); }) >= 4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::Zfp, FixedRate<16>>(in, out, comm); }) >= 4);
    CHECK(kernels_of([](auto in, auto out, auto& comm) { ccoll::allgather<Codec::Zfp, E>(in, out, comm); }) == 0);
}

TEMPLATE_TEST_CASE("codec_stream with SZx, PipeSZx and ZFP at a rate: the host's bytes, one call behind another", "[cuda][szx][zfp]", float,
                   double)
{
    ccoll::codec_stream codecs;
    const auto x = fields::non_finite<TestType>(20000), y = fields::smooth<TestType>(100);
    for (const auto& each : {y, x, y}) {
        stream_beside_host<Codec::SZx>(codecs, each, 1e-3);
        stream_beside_host<Codec::PipeSZx>(codecs, each, 1e-3);
        stream_beside_host<Codec::ZfpAtRate>(codecs, each, 12.5);
    }
}
