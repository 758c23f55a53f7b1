// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: thread sanitizer
// Point-to-point calls: what arrives, in which order, and what the receiver is told if the ends differ. After
// that, the next call must not be affected.
#include <algorithm>
#include <complex>
#include <numeric>
#include <optional>
#include <utility>

#include "errors.hpp"
#include "tapped.hpp"

#include <ccoll/p2p.hpp>

namespace p2p_cases {

using namespace ccoll::policies;
using namespace worlds;
using ccoll::nobody;
using ccoll::request;

namespace {

using E = ErrorBound<1e-3>;
using floats = std::vector<float>;

/// Checks that every element is within the bound and that values that are not finite are the same.
template <class T>
bool close(std::span<const T> found, const std::vector<T>& wanted, double bound)
{
    if (found.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!oracle::holds(found[i], oracle::moved(wanted[i]), bound)) return false;
    return true;
}
template <class T>
bool close(const std::vector<T>& found, const std::vector<T>& wanted, double bound)
{
    return close(std::span<const T>(found), wanted, bound);
}

/// The code of what `call` throws; ok if it returns.
template <class Call>
ccoll::verdict thrown_by(Call call)
{
    try {
        call();
    } catch (const ccoll::error& e) {
        return e.what_happened();
    }
    return {};
}

// Nothing, one, blocks of SZx, chunks of PipeSZx, one message and two, and a prime with many messages.
constexpr std::size_t lengths[] = {0, 1, 127, 128, 129, 5119, 5120, 5121, 16384, 16385, 20480, 20481, 100003};

template <class T, class... P, class... Extra>
void ping_pong(std::vector<std::size_t> of_length, Extra... extra)
{
    none_wrong(run<findings>(2, [=](threads_comm& comm, findings& mine) {
        constexpr bool lossy = ccoll::plan_of<P...>::codec::lossy;
        const int other = 1 - comm.rank();
        unsigned turn = 0;
        for (const std::size_t n : of_length) {
            const std::vector<T> there = ordinary<T>[turn % ordinary_count<T>].make(n, 3),
                                 back = fields::smooth<T>(n, 4);
            const std::string where = "n " + std::to_string(n) + " ";
            const int tag = static_cast<int>(turn++ * 7 % 4096);
            const std::vector<T>& sent = comm.rank() == 0 ? there : back;
            guarded<T> from(sent), to(n);
            const auto send = [&] {
                const report facts =
                    ccoll::send<P...>(std::span<const T>(from.span()), other, tag, comm, extra...);
                mine.expect(facts.raw_bytes == n * sizeof(T) && facts.sent_bytes >= 80, where + "bytes sent");
                mine.expect(facts.exact == !lossy && (facts.error_bound > 0) == lossy &&
                                facts.worst_case_error == facts.error_bound,
                            where + "report of send");
                mine.expect(oracle::same_bits(from.values(), sent) && from.intact(), where + "send buffer");
            };
            const auto recv = [&] {
                const report facts = ccoll::recv<P...>(to.span(), other, tag, comm, extra...);
                mine.expect(facts.raw_bytes == 0 && facts.sent_bytes == 0, where + "bytes received");
                mine.expect(facts.exact == !lossy && facts.worst_case_error == facts.error_bound,
                            where + "report of recv");
                mine.expect(facts.ran_by == ccoll::ran_by::point_to_point &&
                                std::string(facts.algorithm) == "PointToPoint" &&
                                std::string(facts.placement) == "Once",
                            where + "names");
                mine.expect(std::string(facts.codec) == ccoll::plan_of<P...>::codec::name, where + "codec");
                const std::vector<T>& wanted = comm.rank() == 0 ? back : there;
                mine.expect(close<T>(to.span(), wanted, facts.worst_case_error) && to.intact(),
                            where + "result");
                if (!lossy) mine.expect(oracle::same_bits(to.values(), wanted), where + "exact result");
            };
            if (comm.rank() == 0) {
                send();
                recv();
            } else {
                recv();
                send();
            }
        }
    }));
}
template <class T>
void ping_pong_of_all_codecs(const std::vector<std::size_t>& of_length)
{
    ping_pong<T, Codec::None>(of_length);
    ping_pong<T, Codec::SZx, E>(of_length);
    ping_pong<T, Codec::PipeSZx, E, Check::Local>(of_length);
    ping_pong<T, Codec::SZp, E, Instrument::Breakdown>(of_length);
    ping_pong<T, Codec::PipeSZx, RuntimeBound>(of_length, 1e-4);
    ping_pong<T, Codec::SZp, EndToEnd<E>, Timeout<60>>(of_length);
    ping_pong<T, Codec::SZx, RelativeBound<1e-4>>(of_length);
    ping_pong<T>(of_length);
}

}  // namespace

TEST_CASE("A ping-pong keeps every value within the bound, for every codec and length", "[p2p]")
{
    const std::vector<std::size_t> of_length(std::begin(lengths), std::end(lengths));
    ping_pong_of_all_codecs<float>(of_length);
    ping_pong_of_all_codecs<double>(of_length);
}

TEST_CASE("A ping-pong of many messages", "[p2p]")
{
    ping_pong<float, Codec::PipeSZx, E>({1000000});
    ping_pong<double, Codec::SZp, E>({1000000});
    ping_pong<double>({1000000});
}

TEST_CASE("Values that are not finite arrive unchanged", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        for (const std::size_t n : {std::size_t{1000}, std::size_t{90001}})
            for (const auto make : {&fields::non_finite<float>, &fields::wild<float>,
                                    &fields::denormal<float>, &fields::bit_patterns<float>}) {
                const floats sent = make(n, 5);
                floats got(n);
                const auto exchange = [&](auto policy, auto codec) {
                    using plan = ccoll::Plan<decltype(codec), decltype(policy)>;
                    if (comm.rank() == 0) ccoll::send<plan>(sent, 1, 1, comm);
                    else ccoll::recv<plan>(got, 0, 1, comm);
                    if (comm.rank() == 1) mine.expect(close(got, sent, 1e-3), decltype(codec)::name);
                };
                exchange(E{}, Codec::SZx{});
                exchange(E{}, Codec::PipeSZx{});
                exchange(E{}, Codec::SZp{});
            }
    }));
}

TEST_CASE("Other elements: integers and structs arrive unchanged, complex numbers part by part", "[p2p]")
{
    struct particle {
        float at[3];
        int kind;
    };
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        const int other = 1 - comm.rank();
        std::vector<int> numbers(30000), got(30000);
        std::iota(numbers.begin(), numbers.end(), comm.rank());
        ccoll::sendrecv(numbers, other, got, other, 0, comm);
        mine.expect(got[0] == other && got[29999] == 29999 + other, "int");

        std::vector<particle> swarm(20000, {{1, 2, 3}, comm.rank()}), theirs(20000);
        ccoll::sendrecv(swarm, other, theirs, other, 0, comm);
        mine.expect(theirs[19999].kind == other && theirs[19999].at[2] == 3, "struct");

        using number = std::complex<float>;
        std::vector<number> wave(30000), heard(30000);
        for (std::size_t i = 0; i < wave.size(); ++i)
            wave[i] = std::polar(1.0f, 0.001f * static_cast<float>(i));
        const report facts = ccoll::sendrecv<Codec::SZx, E>(wave, other, heard, other, 0, comm);
        double worst = 0;
        for (std::size_t i = 0; i < wave.size(); ++i)
            worst = std::max({worst, std::fabs(double{wave[i].real()} - double{heard[i].real()}),
                              std::fabs(double{wave[i].imag()} - double{heard[i].imag()})});
        mine.expect(worst <= 1e-3 && facts.ratio() > 1, "complex");
    }));
}

TEST_CASE("A relative bound refers to what the sender sends, and the receiver is told it", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        for (const std::size_t n : {std::size_t{100}, std::size_t{50000}}) {
            floats x = fields::smooth<float>(n, 1), y(n);
            for (float& v : x) v *= 1000;
            using plan = ccoll::Plan<Codec::SZp, RelativeBound<1e-3>>;
            const double range = fields::range(x);
            const report facts =
                comm.rank() == 0 ? ccoll::send<plan>(x, 1, 3, comm) : ccoll::recv<plan>(y, 0, 3, comm);
            mine.expect(facts.error_bound > 0.9e-3 * range && facts.error_bound <= 1e-3 * range, "bound");
            if (comm.rank() == 1) mine.expect(close(y, x, facts.worst_case_error), "result");
        }
    }));
}

TEST_CASE("A ring shift with sendrecv, also with one rank", "[p2p]")
{
    for (const int p : {1, 2, 3, 5, 8})
        none_wrong(run<findings>(p, [p](threads_comm& comm, findings& mine) {
            const int me = comm.rank(), right = (me + 1) % p, left = (me + p - 1) % p;
            for (const std::size_t n :
                 {std::size_t{0}, std::size_t{1}, std::size_t{5121}, std::size_t{150000}}) {
                const auto ours = fields::smooth<double>(n, static_cast<unsigned>(me)),
                           wanted = fields::smooth<double>(n, static_cast<unsigned>(left));
                std::vector<double> got(n);
                ccoll::sendrecv<Codec::PipeSZx, E>(ours, right, got, left, 1, comm);
                mine.expect(close(got, wanted, 1e-3), "ranges, n " + std::to_string(n));
                std::vector<double> again(n, -1);
                ccoll::sendrecv(ours.data(), n, right, again.data(), n, left, 1, comm);
                mine.expect(again == wanted, "pointers, n " + std::to_string(n));
                std::vector<double> both = ours;
                ccoll::sendrecv(both, right, both, left, 1, comm);
                mine.expect(both == wanted, "in place, n " + std::to_string(n));
                request later = ccoll::isendrecv<Codec::SZx, E>(ours, right, again, left, 2, comm);
                later.wait();
                mine.expect(close(again, wanted, 1e-3), "begun, n " + std::to_string(n));
            }
            // other lengths in each direction
            std::vector<double> out(static_cast<std::size_t>(1000 * me + 3), me),
                in(static_cast<std::size_t>(1000 * left + 3));
            ccoll::sendrecv<Codec::SZp, E>(out, right, in, left, 4095, comm);
            mine.expect(close(in, std::vector<double>(in.size(), left), 1e-3), "lengths");
        }));
}

TEST_CASE("Messages from a rank to itself", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        for (const std::size_t n : {std::size_t{10}, std::size_t{400000}}) {
            const floats x = fields::smooth<float>(n, 1);
            floats y(n), z(n);
            request out = ccoll::isend<Codec::SZx, E>(x, comm.rank(), 7, comm);
            ccoll::recv<Codec::SZx, E>(y, comm.rank(), 7, comm);
            out.wait();
            request in = ccoll::irecv<Codec::SZx, E>(z, comm.rank(), 7, comm);
            ccoll::send<Codec::SZx, E>(x, comm.rank(), 7, comm);
            in.wait();
            mine.expect(close(y, x, 1e-3) && y == z, "n " + std::to_string(n));
        }
    }));
}

TEST_CASE("nobody: nothing is done on that side", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats x(1000, 1), y(1000, -7);
        report facts = ccoll::send<Codec::SZx, E>(x, nobody, 0, comm);
        mine.expect(
            facts.sent_bytes == 0 && facts.raw_bytes == 0 && facts.exact && facts.worst_case_error == 0,
            "send");
        facts = ccoll::recv<Codec::SZx, E>(y, nobody, 0, comm);
        mine.expect(y == floats(1000, -7) && facts.exact, "recv");
        facts = ccoll::sendrecv<Codec::SZx, E>(x, nobody, x, nobody, 0, comm);
        mine.expect(x == floats(1000, 1) && facts.sent_bytes == 0, "sendrecv");
        request none = ccoll::irecv(y, nobody, 0, comm);
        mine.expect(none.test(), "irecv");
        none.wait();
        // nobody on one side only
        const int other = 1 - comm.rank();
        if (comm.rank() == 0) ccoll::sendrecv(x, other, y, nobody, 0, comm);
        else ccoll::sendrecv(x, nobody, y, other, 0, comm);
        mine.expect(y == (comm.rank() == 0 ? floats(1000, -7) : floats(1000, 1)), "one side");
    }));
}

namespace {

/// A rank's part of a field with a frame of ghost cells, row by row.
struct tile {
    std::size_t rows, columns;
    std::vector<float> all;

    tile(std::size_t r, std::size_t c) : rows(r), columns(c), all((r + 2) * (c + 2), -1) {}
    float& at(std::size_t i, std::size_t j) { return all[i * (columns + 2) + j]; }
    std::span<float> row(std::size_t i)
    {
        return std::span<float>(all).subspan(i * (columns + 2) + 1, columns);
    }
    floats column(std::size_t j)
    {
        floats v(rows);
        for (std::size_t i = 0; i < rows; ++i) v[i] = at(i + 1, j);
        return v;
    }
    void set_column(std::size_t j, const floats& v)
    {
        for (std::size_t i = 0; i < rows; ++i) at(i + 1, j) = v[i];
    }
};

float field_at(std::size_t i, std::size_t j, int round)
{
    return std::sin(0.01f * static_cast<float>(i) + 0.02f * static_cast<float>(j) +
                    static_cast<float>(round));
}

/// Himeno's halo exchange in two dimensions: four neighbours, and nobody beyond the edge.
template <bool Nonblocking>
void halo(int across, int down)
{
    none_wrong(run<findings>(across * down, [=](threads_comm& comm, findings& mine) {
        using plan = ccoll::Plan<Codec::SZx, ErrorBound<1e-4>>;
        const int x = comm.rank() % across, y = comm.rank() / across;
        const int west = x > 0 ? comm.rank() - 1 : nobody, east = x + 1 < across ? comm.rank() + 1 : nobody;
        const int north = y > 0 ? comm.rank() - across : nobody,
                  south = y + 1 < down ? comm.rank() + across : nobody;
        tile t(70, 3000);
        const auto row0 = static_cast<std::size_t>(y) * t.rows,
                   column0 = static_cast<std::size_t>(x) * t.columns;
        for (int round = 0; round < 3; ++round) {
            for (std::size_t i = 0; i < t.rows; ++i)
                for (std::size_t j = 0; j < t.columns; ++j)
                    t.at(i + 1, j + 1) = field_at(row0 + i, column0 + j, round);
            floats first = t.column(1), last = t.column(t.columns), from_west(t.rows, -1),
                   from_east(t.rows, -1);
            std::span<float> top = t.row(0), bottom = t.row(t.rows + 1);
            if constexpr (Nonblocking) {
                std::array<request, 8> all{ccoll::irecv<plan>(from_west, west, 0, comm),
                                           ccoll::irecv<plan>(from_east, east, 1, comm),
                                           ccoll::irecv<plan>(top, north, 2, comm),
                                           ccoll::irecv<plan>(bottom, south, 3, comm),
                                           ccoll::isend<plan>(last, east, 0, comm),
                                           ccoll::isend<plan>(first, west, 1, comm),
                                           ccoll::isend<plan>(t.row(t.rows), south, 2, comm),
                                           ccoll::isend<plan>(t.row(1), north, 3, comm)};
                ccoll::wait_all(all);
            } else {
                ccoll::sendrecv<plan>(last, east, from_west, west, 0, comm);
                ccoll::sendrecv<plan>(first, west, from_east, east, 0, comm);
                ccoll::sendrecv<plan>(t.row(t.rows), south, top, north, 0, comm);
                ccoll::sendrecv<plan>(t.row(1), north, bottom, south, 0, comm);
            }
            t.set_column(0, from_west);
            t.set_column(t.columns + 1, from_east);
            for (std::size_t i = 1; i <= t.rows; ++i) {
                const float w = west == nobody ? -1 : field_at(row0 + i - 1, column0 - 1, round),
                            e = east == nobody ? -1 : field_at(row0 + i - 1, column0 + t.columns, round);
                mine.expect(std::fabs(t.at(i, 0) - w) <= 1.0001e-4f &&
                                std::fabs(t.at(i, t.columns + 1) - e) <= 1.0001e-4f,
                            "west or east");
            }
            for (std::size_t j = 1; j <= t.columns; ++j) {
                const float n = north == nobody ? -1 : field_at(row0 - 1, column0 + j - 1, round),
                            s = south == nobody ? -1 : field_at(row0 + t.rows, column0 + j - 1, round);
                mine.expect(std::fabs(t.at(0, j) - n) <= 1.0001e-4f &&
                                std::fabs(t.at(t.rows + 1, j) - s) <= 1.0001e-4f,
                            "north or south");
            }
        }
    }));
}

}  // namespace

TEST_CASE("A halo exchange in two dimensions, with nobody beyond the edge", "[p2p]")
{
    halo<false>(3, 2);
    halo<true>(3, 2);
    halo<false>(1, 4);
    halo<true>(2, 2);
    halo<true>(1, 1);
}

TEST_CASE("Several tags in flight are completed in any order", "[p2p]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        fields::generator random(static_cast<unsigned>(comm.rank()) + 1);
        constexpr std::size_t lengths_in_flight[] = {10, 300, 20000, 200000, 0, 70000};
        for (int round = 0; round < 6; ++round) {
            std::vector<request> all;
            std::vector<floats> sent, got;
            sent.reserve(100);
            got.reserve(100);
            for (int peer = 0; peer < 3; ++peer)
                for (std::size_t k = 0; k < 6; ++k) {
                    const int tag = static_cast<int>(k) * 800;
                    sent.push_back(fields::smooth<float>(lengths_in_flight[k],
                                                         static_cast<unsigned>(comm.rank() * 100 + peer)));
                    got.emplace_back(lengths_in_flight[k]);
                    all.push_back(ccoll::irecv<Codec::PipeSZx, E>(got.back(), peer, tag, comm));
                    all.push_back(ccoll::isend<Codec::PipeSZx, E>(sent.back(), peer, tag, comm));
                }
            while (!all.empty()) {
                const std::size_t which = random.below(all.size());
                if (random.below(2) == 0) all[which].wait();
                else if (!all[which].test()) continue;
                else all[which].wait();
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
            }
            for (int peer = 0; peer < 3; ++peer)
                for (std::size_t k = 0; k < 6; ++k)
                    mine.expect(close(got[static_cast<std::size_t>(peer) * 6 + k],
                                      fields::smooth<float>(lengths_in_flight[k],
                                                            static_cast<unsigned>(peer * 100 + comm.rank())),
                                      1e-3),
                                "peer " + std::to_string(peer) + ", message " + std::to_string(k));
        }
    }));
}

TEST_CASE("Calls with one peer and one tag match in the order in which they were begun", "[p2p]")
{
    constexpr std::size_t in_order[] = {3, 200000, 0, 17000, 64, 64, 100000, 1};
    none_wrong(run<findings>(2, [&](threads_comm& comm, findings& mine) {
        for (const bool backwards : {false, true}) {
            std::vector<floats> data;
            std::vector<request> all;
            for (std::size_t k = 0; k < std::size(in_order); ++k)
                data.push_back(comm.rank() == 0 ? fields::smooth<float>(in_order[k], static_cast<unsigned>(k))
                                                : floats(in_order[k]));
            for (floats& each : data)
                all.push_back(comm.rank() == 0 ? ccoll::isend<Codec::SZp, E>(each, 1, 9, comm)
                                               : ccoll::irecv<Codec::SZp, E>(each, 0, 9, comm));
            if (backwards != (comm.rank() == 0)) std::reverse(all.begin(), all.end());
            for (request& each : all) each.wait();
            for (std::size_t k = 0; k < std::size(in_order); ++k)
                mine.expect(
                    close(data[k], fields::smooth<float>(in_order[k], static_cast<unsigned>(k)), 1e-3),
                    "message " + std::to_string(k));
            // A blocking call after pending ones: theirs leave first, and what it receives comes after what
            // they receive. Which of two sends is done first depends on the receiver.
            floats one(50000, 1), two(50000, 2), a(50000), b(50000);
            if (comm.rank() == 0) {
                request first = ccoll::isend(one, 1, 9, comm);
                ccoll::send(two, 1, 9, comm);
                first.wait();
            } else {
                request first = ccoll::irecv(a, 0, 9, comm);
                ccoll::recv(b, 0, 9, comm);
                mine.expect(first.test(), "the first call has received first");
                first.wait();
                mine.expect(a == one && b == two, "order");
            }
        }
    }));
}

TEST_CASE("Collectives in between, blocking and nonblocking, do not disturb messages", "[p2p]")
{
    none_wrong(run<findings>(4, [](threads_comm& comm, findings& mine) {
        const int p = comm.size(), me = comm.rank(), right = (me + 1) % p, left = (me + p - 1) % p;
        for (int round = 0; round < 5; ++round) {
            const floats x = fields::smooth<float>(150000, static_cast<unsigned>(me));
            floats y(x.size()), sum(40000, 1), all(400000, 1), more(x.size());
            request in = ccoll::irecv<Codec::SZx, E>(y, left, 0, comm);
            request begun = ccoll::iallreduce<Algo::Ring>(all, comm);
            request out = ccoll::isend<Codec::SZx, E>(x, right, 0, comm);
            ccoll::allreduce<Algo::RecursiveDoubling>(sum, comm);
            ccoll::bcast(sum, round % p, comm);
            ccoll::sendrecv<Codec::SZp, E>(x, left, more, right, 1, comm);
            if (me % 2 == 0) {
                out.wait();
                begun.wait();
                in.wait();
            } else {
                in.wait();
                out.wait();
                begun.wait();
            }
            mine.expect(close(y, fields::smooth<float>(x.size(), static_cast<unsigned>(left)), 1e-3),
                        "irecv");
            mine.expect(close(more, fields::smooth<float>(x.size(), static_cast<unsigned>(right)), 1e-3),
                        "sendrecv");
            mine.expect(sum == floats(sum.size(), 4) && all == floats(all.size(), 4), "collectives");
        }
    }));
}

TEST_CASE("If the ends differ, the receiver is told, the sender goes on, and the tag can be used again",
          "[p2p]")
{
    using other_bound = ErrorBound<1e-2>;
    const auto meet = [](auto send, auto recv, status expected, const std::string& what) {
        INFO(what);
        none_wrong(run<findings>(
            2,
            [=](threads_comm& comm, findings& mine) {
                for (int round = 0; round < 3; ++round) {
                    if (comm.rank() == 0) {
                        mine.expect(thrown_by([&] { send(comm); }).ok(), what + ": the sender is not told");
                    } else {
                        const ccoll::verdict v = thrown_by([&] { recv(comm); });
                        mine.expect(v.code == expected && v.rank == 1 && v.peer == 0,
                                    what + ": " + describe(v.code));
                    }
                    floats x(60000, 1.5f), y(60000);
                    if (comm.rank() == 0) ccoll::send<Codec::SZx, E>(x, 1, 5, comm);
                    else ccoll::recv<Codec::SZx, E>(y, 0, 5, comm);
                    if (comm.rank() == 1) mine.expect(y == x, what + ": the next call");
                }
            },
            promptly));
    };
    const auto sends = [](std::size_t n, auto element, auto... policies) {
        return [=](threads_comm& comm) {
            const std::vector<decltype(element)> x(n, element);
            ccoll::send<Codec::SZx, decltype(policies)...>(x, 1, 5, comm);
        };
    };
    const auto receives = [](std::size_t n, auto element, auto... policies) {
        return [=](threads_comm& comm) {
            std::vector<decltype(element)> x(n, element);
            ccoll::recv<Codec::SZx, decltype(policies)...>(x, 0, 5, comm);
        };
    };
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{10, 11},
                               {0, 1},
                               {1, 0},
                               {10, 1000000},
                               {1000000, 10},
                               {1000000, 500000},
                               {16384, 16385},
                               {16385, 16384}})
        meet(sends(n, 1.0f, E{}), receives(m, 1.0f, E{}), status::count_differs,
             "count " + std::to_string(n) + ", " + std::to_string(m));
    for (const std::size_t n : {std::size_t{100}, std::size_t{300000}}) {
        meet(sends(n, 1.0f, E{}), receives(n, 1.0f, other_bound{}), status::bound_differs, "bound");
        meet(sends(n, 1.0, E{}), receives(n, 1.0f, E{}), status::plan_differs, "element type");
        meet(sends(n, 1.0f, E{}), receives(n, 1.0f, RelativeBound<1e-3>{}), status::plan_differs,
             "kind of bound");
        meet([n](threads_comm& comm) { ccoll::send(std::vector<double>(n, 2), 1, 5, comm); },
             receives(n, 1.0f, E{}), status::plan_differs, "exact and twice as long");
        meet(
            sends(n, 1.0f, E{}),
            [n](threads_comm& comm) {
                floats x(n);
                ccoll::recv<Codec::PipeSZx, E>(x, 0, 5, comm);
            },
            status::plan_differs, "codec");
        meet(
            sends(n, 1.0f, E{}),
            [n](threads_comm& comm) {
                floats x(n);
                ccoll::recv<Codec::SZx, RuntimeBound>(x, 0, 5, comm, 1e-4);
            },
            status::bound_differs, "bound at run time");
    }
}

TEST_CASE("A bad argument is reported at once, and nothing is sent", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats x(1000, 1);
        const auto refused = [&](status code, const std::string& what, auto call) {
            const ccoll::verdict v = thrown_by(call);
            mine.expect(v.code == code && v.rank == comm.rank(), what + ": " + describe(v.code));
        };
        refused(status::bad_peer, "rank", [&] { ccoll::send(x, 2, 0, comm); });
        refused(status::bad_peer, "rank below nobody", [&] { ccoll::recv(x, -2, 0, comm); });
        refused(status::bad_tag, "tag", [&] { ccoll::send(x, 1, -1, comm); });
        refused(status::bad_tag, "largest tag", [&] { ccoll::recv(x, 1, ccoll::max_p2p_tag + 1, comm); });
        refused(status::null_buffer, "null",
                [&] { ccoll::send(static_cast<const float*>(nullptr), 3, 1, 0, comm); });
        refused(status::bad_count, "negative", [&] { ccoll::recv(x.data(), -1, 1, 0, comm); });
        refused(status::overlap, "overlap",
                [&] { ccoll::sendrecv(x.data(), 600, 1, x.data() + 400, 600, 1, 0, comm); });
        refused(status::bad_bound, "bound",
                [&] { ccoll::send<Codec::SZx, RuntimeBound>(x, 1, 0, comm, 0.0); });
        request later = ccoll::isend(x, 7, 0, comm);
        mine.expect(later.test(), "isend");
        refused(status::bad_peer, "isend", [&] { later.wait(); });
        std::error_code code;
        const report facts = ccoll::recv(x, 5, 0, comm, code);
        mine.expect(code == status::bad_peer && facts.trouble.code == status::bad_peer, "error code");
        std::string text;
        try {
            ccoll::sendrecv(x, 9, x, 0, 0, comm);
        } catch (const ccoll::error& e) {
            text = e.what();
        }
        mine.expect(has(text,
                        "ccoll::sendrecv: the other end of a message must be a rank of the communicator, or "
                        "ccoll::nobody; expected 0 to 1, found 9"),
                    text);
        // Nothing of that call has been sent.
        floats y(1000);
        if (comm.rank() == 0) ccoll::send(x, 1, 0, comm, code);
        else ccoll::recv(y, 0, 0, comm, code);
        mine.expect(!code && (comm.rank() == 0 || y == x), "afterwards");
    }));
}

TEST_CASE("Timeout names the peer, and the tag can be used again", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        using patient = ccoll::Plan<Codec::SZx, E, Timeout<0.05>>;
        floats x = fields::smooth<float>(400000, 1), y(400000);
        const int other = 1 - comm.rank();
        // No rank sends.
        ccoll::verdict v = thrown_by([&] { ccoll::recv<patient>(y, other, 2, comm); });
        mine.expect(v.code == status::timed_out && v.rank == comm.rank() && v.peer == other, "recv");
        v = thrown_by([&] { ccoll::irecv<patient>(y, other, 2, comm).wait(); });
        mine.expect(v.code == status::timed_out, "irecv");
        floats one(1, 1);
        ccoll::sendrecv(one, other, one, other, 3, comm);
        // No rank receives until the sender has given up. Then its receiver is told, and the tag can be used
        // again.
        if (comm.rank() == 0) {
            v = thrown_by([&] { ccoll::send<patient>(x, 1, 2, comm); });
            mine.expect(v.code == status::timed_out && v.peer == 1, "send");
            ccoll::send(one, 1, 3, comm);
        } else {
            ccoll::recv(one, 0, 3, comm);
            v = thrown_by([&] { ccoll::recv<Codec::SZx, E>(y, 0, 2, comm); });
            mine.expect(v.code == status::timed_out && v.rank == 0 && v.peer == 1,
                        std::string("receiver of what was given up: ") + describe(v.code));
        }
        ccoll::sendrecv<patient>(x, other, y, other, 2, comm);
        mine.expect(close(y, x, 1e-3), "afterwards");
        // A call that moves in time is not given up.
        for (int i = 0; i < 3; ++i) ccoll::sendrecv<patient>(x, other, y, other, 2, comm);
    }));
}

TEST_CASE("Requests that are dropped: what has been sent arrives, and the rest is reported or omitted",
          "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        floats x = fields::smooth<float>(1000000, 1), y(x.size()), little(100, 3), got(100), one(1, 1);
        for (int round = 0; round < 4; ++round) {
            // All of it has been sent.
            if (comm.rank() == 0) static_cast<void>(ccoll::isend(little, 1, 8, comm));
            else ccoll::recv(got, 0, 8, comm);
            if (comm.rank() == 1) mine.expect(got == little, "one message");
            // A part has been sent. The receiver is already waiting (and may be fast enough to get it all),
            // or comes later.
            const bool early = round % 2 == 0;
            if (comm.rank() == 0) {
                if (early) ccoll::recv(one, 1, 9, comm);
                static_cast<void>(ccoll::isend<Codec::SZx, E>(x, 1, 8, comm));
                if (!early) ccoll::send(one, 1, 9, comm);
            } else {
                std::optional<request> in;
                if (early) {
                    in = ccoll::irecv<Codec::SZx, E>(y, 0, 8, comm);
                    ccoll::send(one, 0, 9, comm);
                } else {
                    ccoll::recv(one, 0, 9, comm);
                }
                const ccoll::verdict v =
                    thrown_by([&] { in ? in->wait() : ccoll::recv<Codec::SZx, E>(y, 0, 8, comm); });
                mine.expect((early && v.ok()) || (v.code == status::abandoned && v.rank == 0),
                            std::string("a part: ") + describe(v.code));
            }
            // A call that waits for its turn sends nothing.
            if (comm.rank() == 0) {
                request first = ccoll::isend(x, 1, 8, comm);
                static_cast<void>(ccoll::isend(x, 1, 8, comm));
                // The first is received only from here on, so the second had to wait.
                ccoll::send(one, 1, 9, comm);
                first.wait();
            } else {
                ccoll::recv(one, 0, 9, comm);
                ccoll::recv(y, 0, 8, comm);
                mine.expect(y == x, "the first of two");
            }
            // A receiver that leaves early, before anything came and after some of it did.
            if (comm.rank() == 1) {
                static_cast<void>(ccoll::irecv(y, 0, 8, comm));
                ccoll::send(one, 0, 9, comm);
                y[0] = -7;
                request in = ccoll::irecv(y, 0, 8, comm);
                while (y[0] == -7) static_cast<void>(in.test());  // until the first slice is here
                in = request();
            } else {
                ccoll::recv(one, 1, 9, comm);
                request out = ccoll::isend(x, 1, 8, comm);
                ccoll::send(little, 1, 8, comm);
                out.wait();
            }
            if (comm.rank() == 1) {
                ccoll::recv(got, 0, 8, comm);
                mine.expect(got == little, "after a receiver that left");
            }
        }
    }));
}

TEST_CASE("A peer that has ended gives peer_lost", "[p2p]")
{
    none_wrong(run<findings>(
        3,
        [](threads_comm& comm, findings& mine) {
            if (comm.rank() == 2) return;
            floats x(500000, 1), y(500000);
            ccoll::verdict v = thrown_by([&] { ccoll::recv(y, 2, 0, comm); });
            mine.expect(v.code == status::peer_lost && v.peer == 2, "recv");
            v = thrown_by([&] { ccoll::send(x, 2, 0, comm); });
            mine.expect(v.code == status::peer_lost && v.peer == 2, "send");
            if (comm.rank() == 0) v = thrown_by([&] { ccoll::sendrecv(x, 1, y, 2, 0, comm); });
            else v = thrown_by([&] { ccoll::sendrecv(x, 2, y, 0, 0, comm); });
            mine.expect(v.code == status::peer_lost && v.peer == 2, "sendrecv");
        },
        promptly));
    // In the middle of a call: the test receives one message itself.
    none_wrong(run<findings>(
        2,
        [](threads_comm& comm, findings& mine) {
            floats x(2000000, 1);
            if (comm.rank() == 1) {
                std::vector<std::byte> room(ccoll::detail::p2p_room);
                auto first = comm.post_recv(0, ccoll::detail::first_p2p_tag, room);
                while (!comm.test(first)) {}
                mine.expect(first.result == status::ok && first.bytes > 80, "the first message");
                return;
            }
            const ccoll::verdict v = thrown_by([&] { ccoll::send(x, 1, 0, comm); });
            mine.expect(v.code == status::peer_lost && v.peer == 1, "send");
        },
        promptly));
    none_wrong(run<findings>(
        2,
        [](threads_comm& comm, findings& mine) {
            floats x(2000000, 1);
            if (comm.rank() == 1) {
                request out = ccoll::isend(x, 0, 0, comm);
                comm.idle();
                return;  // the request is dropped and the thread ends, so what it has sent is withdrawn
            }
            const ccoll::verdict v = thrown_by([&] { ccoll::recv(x, 1, 0, comm); });
            mine.expect(v.ok() || v.code == status::peer_lost || v.code == status::abandoned, "recv");
        },
        promptly));
}

TEST_CASE("A damaged stamp is detected, no rank hangs, and the next call works", "[p2p]")
{
    struct damage {
        std::size_t at;
        bool used = false;
    };
    for (const std::size_t n : {std::size_t{40}, std::size_t{40000}})  // one message and three
        for (std::size_t byte = 0; byte < 48 + 32; ++byte) {
            INFO("byte " << byte << ", n " << n);
            none_wrong(run<findings>(
                2,
                [=](threads_comm& comm, findings& mine) {
                    bool used = false;
                    tap watcher;
                    watcher.received = [&](passing& m) {
                        if (!used && m.rank == 1) m.data[byte] ^= std::byte{0x10};
                        used = true;
                    };
                    const tapped_comm link(comm, watcher);
                    floats x(n, 1.5f), y(n);
                    const auto give = [&](auto& c) { ccoll::send<Codec::SZx, E>(x, 1, 0, c); };
                    const auto get = [&](auto& c) { ccoll::recv<Codec::SZx, E>(y, 0, 0, c); };
                    if (comm.rank() == 0) {
                        request later = ccoll::isend<Codec::SZx, E>(x, 1, 0, link);
                        give(comm);
                        later.wait();
                    } else {
                        const ccoll::verdict v = thrown_by([&] { get(link); });
                        mine.expect(!v.ok(), std::string("told: ") + describe(v.code));
                        get(comm);
                        mine.expect(y == x, "afterwards");
                    }
                },
                promptly));
        }
}

TEST_CASE("Messages over a communicator that the user has written", "[p2p]")
{
    none_wrong(run<findings>(2, [](threads_comm& comm, findings& mine) {
        ccoll::attach(comm);
        const tap watcher;
        tapped_comm link(comm, watcher);
        floats x(100000, 2), y(100000);
        ccoll::sendrecv<Codec::SZp, E>(x, 1 - comm.rank(), y, 1 - comm.rank(), 0, link);
        mine.expect(close(y, x, 1e-3), "result");
    }));
}

}  // namespace p2p_cases
