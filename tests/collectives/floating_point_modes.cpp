// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// A program may set another rounding mode, or have denormals taken as 0, and seldom does so on all ranks: a
// library that was built with -ffast-math does it where it is loaded. Results, bounds and bits are those of
// the usual mode all the same, and the mode stays as it was.
#include <cfenv>
#include <limits>
#include <memory>

#include <ccoll/exec.hpp>

#include "worlds.hpp"

namespace floating_point_modes_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

enum class mode { usual, up, down, flush };

/// Sets a mode as a program would.
class in_mode {
public:
    explicit in_mode(mode m)
    {
        if (m == mode::up) std::fesetround(FE_UPWARD);
        if (m == mode::down) std::fesetround(FE_DOWNWARD);
        if (m == mode::flush) flush_ = std::make_unique<flushing>();
    }
    ~in_mode() { std::fesetround(FE_TONEAREST); }
    in_mode(const in_mode&) = delete;
    in_mode& operator=(const in_mode&) = delete;

private:
    using flushing = ccoll::detail::exact_environment<ccoll::detail::denormals::flush>;
    std::unique_ptr<flushing> flush_;
};

/// The mode of this thread, from what it computes.
mode found_mode()
{
    volatile double least = std::numeric_limits<double>::min();
    volatile double one = 1;
    volatile double tiny = 0x1p-60;
    volatile const double half_of_least = least / 2;
    volatile const double above = one + tiny;
    volatile const double below = one - tiny;
    if (half_of_least == 0) return mode::flush;
    return above > 1 ? mode::up : below < 1 ? mode::down : mode::usual;
}

/// Normal numbers, whose sums have to be rounded, and then denormal ones.
template <class T>
std::vector<T> values(std::size_t n, int rank)
{
    using real = std::conditional_t<std::is_floating_point_v<T>, T, float>;
    const auto tiny = static_cast<real>(sizeof(T) == 4 ? 1e-43 : sizeof(T) == 2 ? 1e-7 : 1e-320);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto v = static_cast<real>(static_cast<real>(0.1) * static_cast<real>(i % 1000 + 1)) *
                       (1 + static_cast<real>(1e-5) * static_cast<real>(rank));
        x[i] = static_cast<T>(i < n / 2 ? v : v * tiny);
    }
    return x;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b)
{
    bool same = a.size() == b.size();
    constexpr std::size_t bytes =
        // No padding.
        std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64 ? 10 : sizeof(T);
    for (std::size_t i = 0; same && i < a.size(); ++i) same = std::memcmp(&a[i], &b[i], bytes) == 0;
    return same;
}

/// What p ranks get from `call(x, comm)`, which reduces x in place, if one of them is in mode `m`.
template <class T, class Call>
std::vector<std::vector<T>> results(int p, std::size_t n, mode m, Call call)
{
    struct seen : findings {
        std::vector<T> x;
    };
    auto all = run<seen>(p, [=](threads_comm& comm, seen& mine) {
        mine.x = values<T>(n, comm.rank());
        const mode wanted = comm.rank() == p - 1 ? m : mode::usual;
        const in_mode here(wanted);
        call(mine.x, comm);
        mine.expect(found_mode() == wanted, "the call has changed the mode");
    });
    std::vector<std::vector<T>> got;
    for (seen& each : all) {
        CHECK(each.wrong == "");
        got.push_back(std::move(each.x));
    }
    return got;
}
template <class T, class Call>
void no_other_bits(const char* what, std::size_t n, Call call)
{
    for (const int p : {2, 3, 4}) {
        const auto expected = results<T>(p, n, mode::usual, call);
        for (const mode m : {mode::up, mode::down, mode::flush}) {
            INFO(what << ", " << p << " ranks, mode " << static_cast<int>(m));
            const auto got = results<T>(p, n, m, call);
            for (std::size_t r = 0; r < got.size(); ++r) CHECK(same_bits(got[r], expected[r]));
        }
    }
}
template <class T, class... P>
void no_other_bits_of(const char* what, std::size_t n = 3001)
{
    no_other_bits<T>(what, n, [](std::vector<T>& x, threads_comm& comm) { ccoll::allreduce<P...>(x, comm); });
}

using E = ErrorBound<1e-2>;

}  // namespace

TEST_CASE("Exact reductions do not depend on the floating-point mode of a rank", "[modes]")
{
    no_other_bits_of<float, Algo::RecursiveDoubling>("doubling");
    no_other_bits_of<double, Algo::RecursiveDoubling>("doubling, double");
    no_other_bits_of<float, Algo::Ring, Op::Average>("average");
    no_other_bits_of<float, Algo::Rabenseifner, Op::Max>("maximum");
    no_other_bits_of<double, Algo::RecursiveDoubling, Op::Prod>("product");
    no_other_bits_of<ccoll::half, Algo::RecursiveDoubling>("half");
    no_other_bits_of<long double, Algo::RecursiveDoubling>("long double", 501);
}

TEST_CASE("Lossy reductions do not depend on the floating-point mode of a rank", "[modes]")
{
    no_other_bits_of<float, Algo::RecursiveDoubling, Codec::SZx, E>("SZx");
    no_other_bits_of<float, Algo::Ring, Codec::SZx, E, Op::Max>("SZx, maximum");
    no_other_bits_of<float, Algo::Ring, Codec::SZp, E, Op::Average>("SZp, average");
    no_other_bits_of<double, Algo::RecursiveDoubling, Codec::SZp, E, Placement::DecodeReduceEncode>(
        "SZp, decoded");
    no_other_bits_of<float, Algo::RecursiveDoubling, Codec::Lossless>("Lossless");
}

TEST_CASE("Bounds that are computed are equal on all ranks, whatever their floating-point modes", "[modes]")
{
    no_other_bits_of<float, Algo::RecursiveDoubling, Codec::SZx, EndToEnd<ErrorBound<1e-3>>>("end to end");
    no_other_bits_of<float, Algo::Ring, Codec::SZp, RelativeBound<1e-3>>("relative");
    no_other_bits_of<float, Algo::Ring, Codec::SZx, EndToEnd<RelativeBound<1e-3>>, Op::Average>(
        "relative, end to end");
}

TEST_CASE("A denormal bound is a bound, also where denormals are taken as 0", "[modes]")
{
    const double eb = 1e-310;
    std::vector<double> y(1000);
    std::vector<std::byte> room(ccoll::max_encoded_bytes<Codec::SZx, double>(y.size()));
    const auto x = values<double>(y.size(), 0);
    {
        const in_mode here(mode::flush);
        CHECK(ccoll::encode<Codec::SZx>(x, room, eb).code == status::ok);
        CHECK(ccoll::decode<Codec::SZx>(room, y) == status::ok);
    }
    CHECK(same_bits(x, y));
    no_other_bits<float>("as an argument", 100, [](std::vector<float>& v, threads_comm& comm) {
        ccoll::allreduce<Algo::Ring, Codec::SZx, RuntimeBound>(v, comm, 1e-40f);
    });
}

TEST_CASE("Requests and persistent calls compute in the usual mode, whoever waits", "[modes]")
{
    no_other_bits<float>("a request", 3001, [](std::vector<float>& x, threads_comm& comm) {
        ccoll::request begun = ccoll::iallreduce<Algo::RecursiveDoubling, Op::Average>(x, comm);
        while (!begun.test()) {}
        begun.wait();
    });
    no_other_bits<float>("a persistent call", 3001, [](std::vector<float>& x, threads_comm& comm) {
        ccoll::persistent prepared =
            ccoll::allreduce_init<Algo::RecursiveDoubling, Codec::SZx, EndToEnd<E>>(x, comm);
        prepared.start();
        prepared.wait();
    });
}

namespace {

/// A pool whose threads have another mode.
struct rounding_up {
    static std::size_t width() { return 2; }
    template <class Job>
    void operator()(std::size_t parts, const Job& job) const
    {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < parts; ++i)
            threads.emplace_back([&job, i] {
                const in_mode here(mode::up);
                job(i);
            });
        for (std::thread& each : threads) each.join();
    }
};

}  // namespace

TEST_CASE("The threads of an executor compute in the usual mode", "[modes]")
{
    const std::size_t n = 300000;  // long enough for several lanes
    const auto plain = [](std::vector<float>& x, threads_comm& comm) {
        ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, E, Op::Average>(x, comm);
    };
    const auto pooled = [](std::vector<float>& x, threads_comm& comm) {
        ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, E, Op::Average, Exec::On<rounding_up>>(x, comm);
    };
    const auto expected = results<float>(3, n, mode::usual, plain),
               got = results<float>(3, n, mode::usual, pooled);
    for (std::size_t r = 0; r < got.size(); ++r) CHECK(same_bits(got[r], expected[r]));
}

namespace {

/// Says in which mode operations of users run: by a sum that is wrong in any other one.
struct in_usual_mode : ccoll::op_tag<false> {
    static constexpr const char* name = "in_usual_mode";
    static constexpr auto growth = ccoll::error_growth::selects;
    template <class T>
    static T apply(T a, T b) noexcept
    {
        return found_mode() == mode::usual ? a + b : T(-1);
    }
};

}  // namespace

TEST_CASE("An operation of a user runs in the usual mode, and an exception leaves the mode as it was",
          "[modes]")
{
    for (const mode m : {mode::up, mode::flush}) {
        const in_mode here(m);
        const auto all = run<findings>(2, [m](threads_comm& comm, findings& mine) {
            const in_mode there(m);
            std::vector<float> x(10, 1), y(9);
            ccoll::allreduce<Algo::Ring, in_usual_mode>(x, comm);
            mine.expect(x[3] == 2, "the operation ran in another mode");
            try {
                ccoll::allreduce<Algo::Ring>(x, y, comm);
                mine.expect(false, "no exception");
            } catch (const ccoll::error&) {}
            mine.expect(found_mode() == m, "another mode after the exception");
        });
        none_wrong(all);
    }
}

}  // namespace floating_point_modes_cases
