// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Collectives on device buffers, beside the same calls on host buffers: the same bits and the same bytes
// sent. The device is the emulator, whose streams do their work late.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <string>
#include <vector>

namespace collectives_cases {

using namespace ccoll::policies;
using emulated::device_vector;

namespace {

template <class T>
class cases {
public:
    explicit cases(ccoll::threads_comm& comm, std::string& wrong)
        : comm_(comm), calls_(wrong), me_(comm.rank()), p_(comm.size())
    {}

    template <class... P>
    void all_reduce(const char* what, std::size_t n)
    {
        compare(std::string(what) + " allreduce", n, n,
                [&](auto&& in, auto&& out) { return ccoll::allreduce<P...>(in, out, comm_); });
        in_place(std::string(what) + " allreduce in place", n,
                 [&](auto&& both) { return ccoll::allreduce<P...>(both, comm_); });
    }
    template <class... P>
    void reduce_scatter(const char* what, std::size_t n)
    {
        compare(std::string(what) + " reduce_scatter", n * ranks(), n,
                [&](auto&& in, auto&& out) { return ccoll::reduce_scatter<P...>(in, out, comm_); });
    }
    template <class... P>
    void movement(const char* what, std::size_t n)
    {
        const std::string name = what;
        compare(name + " allgather", n, n * ranks(),
                [&](auto&& in, auto&& out) { return ccoll::allgather<Algo::Ring, P...>(in, out, comm_); });
        compare(name + " alltoall", n * ranks(), n * ranks(),
                [&](auto&& in, auto&& out) { return ccoll::alltoall<Algo::Bruck, P...>(in, out, comm_); });
        in_place(name + " alltoall in place", n * ranks(),
                 [&](auto&& both) { return ccoll::alltoall<Algo::Pairwise, P...>(both, comm_); });
        in_place(name + " bcast", n,
                 [&](auto&& both) { return ccoll::bcast<Algo::Binomial, P...>(both, p_ / 2, comm_); });
        compare(name + " scatter", me_ == 0 ? n * ranks() : 0, n, [&](auto&& in, auto&& out) {
            return ccoll::scatter<Algo::Binomial, P...>(in, out, 0, comm_);
        });
        compare(name + " gather", n, me_ == 0 ? n * ranks() : 0,
                [&](auto&& in, auto&& out) { return ccoll::gather<Algo::Linear, P...>(in, out, 0, comm_); });
        compare(name + " sendrecv", n, n, [&](auto&& in, auto&& out) {
            return ccoll::sendrecv<P...>(in, (me_ + 1) % p_, out, (me_ + p_ - 1) % p_, 3, comm_);
        });
    }
    template <class... P>
    void reduce(const char* what, std::size_t n)
    {
        compare(std::string(what) + " reduce", n, n,
                [&](auto&& in, auto&& out) { return ccoll::reduce<P...>(in, out, p_ - 1, comm_); });
    }
    template <class... P>
    void nonblocking(std::size_t n)
    {
        compare("two at once", n, n, [&](auto&& in, auto&& out) {
            ccoll::request first = ccoll::iallreduce<P...>(in, out, comm_);
            return first.wait();
        });
    }
    /// One value that cannot be added on one rank: all reduce exactly.
    bool spike = false;

private:
    std::size_t ranks() const { return static_cast<std::size_t>(p_); }
    std::vector<T> input(std::size_t n) const
    {
        std::vector<double> x = fields::smooth<double>(n, static_cast<unsigned>(me_) + 1);
        std::vector<T> y(n);
        for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(std::is_integral_v<T> ? x[i] * 1000 : x[i]);
        if (spike && n > 0 && me_ == p_ / 2) y[n / 2] = static_cast<T>(3e20);
        return y;
    }
    template <class Call>
    void compare(const std::string& what, std::size_t sent, std::size_t received, Call call)
    {
        calls_.compare(what, input(sent), received, call);
    }
    template <class Call>
    void in_place(const std::string& what, std::size_t n, Call call)
    {
        calls_.in_place(what, input(n), call);
    }

    ccoll::threads_comm& comm_;
    beside_host<T, device_vector> calls_;
    int me_, p_;
};

using E = ErrorBound<1e-3>;

}  // namespace

TEST_CASE("Device buffers: reductions give the bits of host buffers", "[cuda][collectives]")
{
    const long before = emulator::launches;
    for (const int p : {1, 2, 3, 4})
        for (const std::size_t n : {std::size_t{40000}, std::size_t{37}, std::size_t{0}}) {
            INFO("p " << p << ", n " << n);
            const std::string differs = on_ranks(p, [n](ccoll::threads_comm& comm, std::string& wrong) {
                cases<float> c(comm, wrong);
                c.all_reduce<Algo::Ring, Codec::SZp, E>("Ring Homomorphic", n);
                c.all_reduce<Algo::Ring, Codec::SZp, E, Placement::DecodeReduceEncode>(
                    "Ring DecodeReduceEncode", n);
                c.all_reduce<Algo::RecursiveDoubling, Codec::SZp, E>("RecursiveDoubling Homomorphic", n);
                c.all_reduce<Algo::Rabenseifner, Codec::SZp, E, Op::Average>("Rabenseifner Average", n);
                c.all_reduce<Algo::Ring, Codec::SZp, E, Op::Max>("Ring Max", n);
                c.all_reduce<Algo::Ring, Codec::PipeSZx, E>("Ring PipeSZx, through the host", n);
                c.all_reduce<Algo::Ring, Codec::None, Op::Min>("Ring None", n);
                c.all_reduce<Codec::SZp, RelativeBound<1e-3>>("RelativeBound", n);
                c.reduce_scatter<Algo::Ring, Codec::SZp, E>("Homomorphic", n);
                c.reduce<Algo::Binomial, Codec::SZp, E>("Binomial", n);
                c.nonblocking<Codec::SZp, E>(n);
                c.spike = true;
                c.all_reduce<Algo::Ring, Codec::SZp, E>("what no quantum holds", n);
            });
            CHECK(differs == "");
        }
    CHECK(emulator::launches > before);
}

TEST_CASE("Device buffers: data movement gives the bits of host buffers", "[cuda][collectives]")
{
    for (const int p : {2, 3})
        for (const std::size_t n : {std::size_t{20000}, std::size_t{37}}) {
            INFO("p " << p << ", n " << n);
            const std::string differs = on_ranks(p, [n](ccoll::threads_comm& comm, std::string& wrong) {
                cases<float>(comm, wrong).movement<Codec::SZp, E>("SZp", n);
                cases<double>(comm, wrong).all_reduce<Codec::SZp, E>("double", n);
                cases<std::int32_t>(comm, wrong)
                    .all_reduce<Codec::Lossless, Algo::Ring>("integers, through the host", n);
            });
            CHECK(differs == "");
        }
}

TEST_CASE("Reports are compared by what their names say, not by where the names stand", "[cuda][collectives]")
{
    const std::string once = "Once", again = once, other = "PerHop";
    ccoll::report a, b;
    a.placement = once.c_str();
    b.placement = again.c_str();
    CHECK(difference(a, b) == "");
    b.placement = other.c_str();
    CHECK(difference(a, b) != "");
    b = a;
    b.sent_bytes = 1;
    CHECK(difference(a, b) != "");
    b = a;
    b.special_values = 1;
    CHECK(difference(a, b) != "");

    // With slices of another length, messages are fewer.
    a.raw_bytes = 2 * 5120 * sizeof(float);
    a.sent_bytes = 10000;
    b = a;
    b.sent_bytes -= 2 * 112;
    CHECK(difference(a, b) != "");
    CHECK(difference(a, b, sizeof(float)) == "");
    --b.sent_bytes;
    CHECK(difference(a, b, sizeof(float)) != "");
    b.sent_bytes = a.sent_bytes + 1;
    CHECK(difference(a, b, sizeof(float)) != "");
}

TEST_CASE("Device buffers: memory that is not there is an error with CUDA's text, and the next call works",
          "[cuda][collectives]")
{
    std::string said;
    ccoll::run_ranks(1, [&](ccoll::threads_comm&) {
        const std::vector<float> x = fields::smooth<float>(30000);
        const device_vector<float> in(x);
        const device_vector<std::byte> frame(
            std::vector<std::byte>(ccoll::max_encoded_bytes<Codec::SZp, float>(x.size())));
        ccoll::codec_stream codecs;
        emulator::faults.allocations = 0;
        try {
            codecs.encode<Codec::SZp>(in.span(), frame.span(), 1e-3);
        } catch (const ccoll::error& e) {
            said = e.what();
        }
        codecs.encode<Codec::SZp>(in.span(), frame.span(), 1e-3);
        const ccoll::encode_result r = codecs.result();
        CHECK(r.code == ccoll::status::ok);
        std::vector<std::byte> host(ccoll::max_encoded_bytes<Codec::SZp, float>(x.size()));
        host.resize(ccoll::encode<Codec::SZp>(x, host, 1e-3).bytes);
        const device_vector<float> out(std::vector<float>(x.size()));
        codecs.decode<Codec::SZp>(frame.span(), out.span());
        CHECK(codecs.result().code == ccoll::status::ok);
        std::vector<float> expected(x.size());
        REQUIRE(ccoll::decode<Codec::SZp>(host, expected) == ccoll::status::ok);
        CHECK(out.values() == expected);
        codecs.encode<Codec::SZp>(in.span(), ccoll::device_span<std::byte>(frame.span().device_data(), 100),
                                  1e-3);
        CHECK(codecs.result().code == ccoll::status::out_of_space);
        codecs.encode<Codec::SZp>(in.span(), frame.span(), -1);
        CHECK(codecs.result().code == ccoll::status::bad_bound);
    });
    CHECK(said.find("codec_stream") != std::string::npos);
    CHECK(said.find("out of memory") != std::string::npos);
}

}  // namespace collectives_cases
