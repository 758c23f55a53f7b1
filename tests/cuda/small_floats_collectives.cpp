// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// Collectives on device buffers of half, bfloat16 and a two-byte type of another library, beside the same
// calls on host buffers. The device is the emulator.
#include "beside_host.hpp"
#include "device_vector.hpp"

#include "support/fields.hpp"

#include <string>

namespace small_floats_collectives_cases {

/// As __nv_bfloat16 and others: two bytes without conversions or arithmetic of its own. The code for it is
/// that for bfloat16, so most cases need one of the two.
struct foreign_bfloat16 {
    std::uint16_t bits;
};

}  // namespace small_floats_collectives_cases

template <>
inline constexpr int ccoll::exponent_bits_of<small_floats_collectives_cases::foreign_bfloat16> = 8;

namespace small_floats_collectives_cases {

using namespace ccoll::policies;
using ccoll::bfloat16;
using ccoll::half;

namespace {

template <class T>
T number(float x)
{
    return std::bit_cast<T>(ccoll::float16<ccoll::exponent_bits_of<T>>(x));
}
template <class T>
std::vector<T> field_of(std::size_t n, unsigned seed, unsigned land)
{
    const auto smooth = fields::smooth<float>(n, seed), random = fields::random<float>(n, seed);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = i % 150 < land ? number<T>(i % 2 == 0 ? 60000.0f : -std::numeric_limits<float>::infinity())
                              : number<T>(40 * smooth[i] + random[i]);
    return x;
}
/// Of numbers whose sums over some ranks are too large for a float, and others.
template <class T>
std::vector<T> enormous(std::size_t n, int rank)
{
    constexpr float sizes[] = {3.3e38f, 2e38f, -2e38f, 1.5e38f, 1e20f, 3.0f, 1e-30f, 1e-38f, 3e-40f};
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = number<T>(sizes[i % 9] *
                         (1 - 0.01f * static_cast<float>((i / 9 + static_cast<std::size_t>(rank)) % 10)));
    return x;
}

template <class T>
class cases {
public:
    cases(ccoll::threads_comm& comm, std::string& wrong, unsigned land)
        : comm_(comm), calls_(wrong), me_(static_cast<unsigned>(comm.rank())),
          p_(static_cast<std::size_t>(comm.size())), land_(land)
    {}

    template <class... P>
    void movement(const std::string& name, std::size_t n)
    {
        compare(name + " allgather", n, n * p_,
                [&](auto&& x, auto&& y) { return ccoll::allgather<Algo::Ring, P...>(x, y, comm_); });
        compare(name + " alltoall", n * p_, n * p_,
                [&](auto&& x, auto&& y) { return ccoll::alltoall<P...>(x, y, comm_); });
        compare(name + " gather", n, n * p_,
                [&](auto&& x, auto&& y) { return ccoll::gather<P...>(x, y, 0, comm_); });
        compare(name + " sendrecv", n, n, [&](auto&& x, auto&& y) {
            const int p = static_cast<int>(p_), me = static_cast<int>(me_);
            return ccoll::sendrecv<P...>(x, (me + 1) % p, 1, y, (me + p - 1) % p, 1, comm_);
        });
    }
    template <class... P>
    void reductions(const std::string& name, std::size_t n)
    {
        compare(name + " allreduce, ring", n, n,
                [&](auto&& x, auto&& y) { return ccoll::allreduce<Algo::Ring, P...>(x, y, comm_); });
        compare(name + " allreduce, doubling", n, n, [&](auto&& x, auto&& y) {
            return ccoll::allreduce<Algo::RecursiveDoubling, P...>(x, y, comm_);
        });
        compare(name + " reduce_scatter", n * p_, n,
                [&](auto&& x, auto&& y) { return ccoll::reduce_scatter<P...>(x, y, comm_); });
        compare(name + " reduce", n, n,
                [&](auto&& x, auto&& y) { return ccoll::reduce<P...>(x, y, 1, comm_); });
    }

private:
    template <class Call>
    void compare(const std::string& name, std::size_t in_all, std::size_t out_all, Call call)
    {
        calls_.compare(name, field_of<T>(in_all, me_ + 1, land_), out_all, call);
    }

    ccoll::threads_comm& comm_;
    beside_host<T, emulated::device_vector> calls_;
    unsigned me_;
    std::size_t p_;
    unsigned land_;
};

template <class T, class Call>
void on_all_ranks(int p, unsigned land, Call call)
{
    CHECK(on_ranks(p, [&](ccoll::threads_comm& comm, std::string& wrong) {
              call(cases<T>(comm, wrong, land));
          }) == "");
}

}  // namespace

TEMPLATE_TEST_CASE("Device buffers of two-byte numbers: all codecs give the bits of host buffers",
                   "[cuda][half][collectives]", half, foreign_bfloat16)
{
    using E = ErrorBound<1e-1>;
    for (const int p : {2, 3})
        for (const unsigned land : {0u, 30u}) {
            INFO("ranks " << p << ", land " << land);
            on_all_ranks<TestType>(p, land, [](auto&& c) {
                c.template movement<Codec::SZp, E>("SZp", 9001);
                c.template movement<Codec::SZx, E>("SZx", 700);
                c.template movement<Codec::PipeSZx, E>("PipeSZx", 6001);
                c.template movement<Codec::Zfp, FixedRate<12>>("Zfp", 900);
                c.template movement<Codec::None>("None", 333);
                c.template reductions<Codec::SZp, E>("SZp", 9001);
                c.template reductions<Codec::SZp, E, Placement::DecodeReduceEncode>("SZp, decoded", 9001);
            });
        }
}

TEMPLATE_TEST_CASE(
    "Device buffers of two-byte numbers: operations, averages and relative bounds are those of host buffers",
    "[cuda][half][collectives]", half, foreign_bfloat16)
{
    using E = ErrorBound<1e-1>;
    for (const unsigned land : {0u, 30u})  // with land, sums of half that do not fit
        on_all_ranks<TestType>(3, land, [](auto&& c) {
            c.template reductions<Codec::SZp, E, Op::Average>("SZp average", 3001);
            c.template reductions<Codec::SZx, E, Op::Average>("SZx average", 3001);
        });
    on_all_ranks<TestType>(3, 0, [](auto&& c) {
        c.template reductions<Codec::SZx, E, Op::Min>("SZx min", 777);
        c.template reductions<Codec::SZx, E, Op::Max>("SZx max", 777);
        c.template reductions<Codec::None, Op::Prod>("None prod", 777);
        c.template reductions<Codec::None, Op::Average>("None average", 777);
        c.template reductions<Codec::SZp, RelativeBound<1e-2>>("SZp, relative", 3001);
        c.template movement<Codec::SZx, RelativeBound<1e-2>>("SZx, relative", 777);
    });
}

TEST_CASE(
    "Device buffers of bfloat16: averages are those of host buffers where sums are too large for a float",
    "[cuda][half][collectives]")
{
    const auto run = [](auto call) {
        CHECK(on_ranks(3, [&](ccoll::threads_comm& comm, std::string& wrong) {
                  const auto x = enormous<bfloat16>(3001, comm.rank());
                  beside_host<bfloat16, emulated::device_vector>(wrong).compare(
                      "", x, x.size(), [&](auto&& from, auto&& to) { return call(from, to, comm); });
              }) == "");
    };
    using loose = ErrorBound<1e36>;
    run([](auto& x, auto& y, auto& comm) { return ccoll::allreduce<Algo::Ring, Op::Average>(x, y, comm); });
    run([](auto& x, auto& y, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::SZx, loose, Op::Average>(x, y, comm);
    });
    run([](auto& x, auto& y, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::SZp, loose, Op::Average>(x, y, comm);
    });
    run([](auto& x, auto& y, auto& comm) {
        return ccoll::allreduce<Algo::Ring, Codec::SZp, ErrorBound<1.0>, Op::Average>(x, y, comm);
    });
}

TEMPLATE_TEST_CASE("Device buffers of two-byte numbers: messages that stay on the device give the same bits",
                   "[cuda][half][direct]", half, foreign_bfloat16)
{
    using E = ErrorBound<1e-1>;
    CHECK(on_ranks(3, [](ccoll::threads_comm& comm, std::string& wrong) {
              const auto x = field_of<TestType>(9001, static_cast<unsigned>(comm.rank()) + 1, 30);
              std::vector<TestType> y(x.size());
              const emulated::device_vector<TestType> in(x), out(y);
              const auto check = [&]<class... P>(bool direct, ccoll::Plan<P...>) {
                  ccoll::allreduce<P...>(x, y, comm);
                  const ccoll::report r =
                      ccoll::allreduce<P..., Transport::Direct>(in.span(), out.span(), comm);
                  if (r.direct != direct) wrong += direct ? "not direct; " : "direct; ";
                  if (!same_bits(out.values(), y)) wrong += "other bits; ";
              };
              check(true, ccoll::Plan<Algo::Ring, Codec::SZx, E>{});
              check(true, ccoll::Plan<Algo::Ring, Codec::None>{});
              check(false, ccoll::Plan<Algo::Ring, Codec::SZp, E>{});  // has no kernels for two bytes
          }) == "");
}

TEMPLATE_TEST_CASE("Device buffers of two-byte numbers are served by kernels where codecs have them",
                   "[cuda][half]", half, bfloat16, foreign_bfloat16)
{
    namespace device = ccoll::detail::device;
    const auto by_kernels = [](auto tag) {
        using Tag = decltype(tag);
        return ccoll::queued_codecs<Tag, TestType, ccoll::cuda_space, Exec::Serial>::frames.encode ==
               device::frames_with_kernels<Tag, TestType>::encode;
    };
    CHECK(by_kernels(Codec::SZx{}));
    CHECK(by_kernels(Codec::PipeSZx{}));
    CHECK(by_kernels(Codec::ZfpAtRate{}));
    CHECK(ccoll::detail::memory_space<ccoll::cuda_space, TestType>::template operation_of<Op::Sum> !=
          nullptr);
    CHECK(ccoll::detail::memory_space<ccoll::cuda_space, TestType>::template operation_of<Op::Max> !=
          nullptr);
}

TEST_CASE("codec_stream encodes and decodes two-byte numbers with the values of the host", "[cuda][half]")
{
    using T = foreign_bfloat16;
    using SZx = Codec::SZx;
    const std::size_t n = 20000;
    const auto x = field_of<T>(n, 1, 30);
    std::vector<std::byte> host(ccoll::max_encoded_bytes<SZx, T>(n));
    host.resize(ccoll::encode<SZx>(x, host, 1e-2).bytes);
    std::vector<T> expected(n), decoded(n);
    REQUIRE(ccoll::decode<SZx>(host, expected) == ccoll::status::ok);
    const emulated::device_vector<T> in(x), out(n);
    const emulated::device_vector<std::byte> of_host(host), frame(ccoll::max_encoded_bytes<SZx, T>(n));
    ccoll::codec_stream codecs;
    codecs.decode<SZx>(ccoll::device_span<const std::byte>(of_host.span()), out.span());
    REQUIRE(codecs.result().code == ccoll::status::ok);
    CHECK(same_bits(out.values(), expected));
    codecs.encode<SZx>(in.span(), frame.span(), 1e-2);
    REQUIRE(codecs.result().code == ccoll::status::ok);
    REQUIRE(ccoll::decode<SZx>(frame.values(), decoded) == ccoll::status::ok);
    CHECK(same_bits(decoded, expected));
}

}  // namespace small_floats_collectives_cases
