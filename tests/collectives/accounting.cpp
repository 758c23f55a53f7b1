// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: not sanitized
// What really goes over the transport: as many bytes as the report says, in messages of bounded length.
#include <array>
#include <atomic>

#include "worlds.hpp"

#include "tapped.hpp"

namespace accounting_cases {

using namespace ccoll::policies;
using namespace worlds;

namespace {

struct traffic {
    std::array<std::atomic<std::size_t>, 16> data_bytes{}, data_messages{}, control_bytes{}, longest{};

    tap watcher()
    {
        tap t;
        t.sent = [this](passing& m) {
            const auto me = static_cast<std::size_t>(m.rank);
            if (m.question()) return;
            if (m.control()) {
                control_bytes[me] += m.bytes;
                return;
            }
            data_bytes[me] += m.bytes;
            ++data_messages[me];
            if (m.bytes > longest[me]) longest[me] = m.bytes;  // one thread per rank
        };
        return t;
    }
};

/// Runs a call on watched ranks.
template <class Call>
std::vector<report> watched(int p, traffic& seen, Call call)
{
    const auto watcher = std::make_shared<tap>(seen.watcher());
    return run<report>(p,
                       [=](threads_comm& comm, report& mine) { mine = call(tapped_comm(comm, *watcher)); });
}

void says_what_was_sent(const std::vector<report>& all, const traffic& seen)
{
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r);
        CHECK(all[r].sent_bytes == seen.data_bytes[r]);  // without control messages (log2(p) per agreement)
    }
}

}  // namespace

TEST_CASE("sent_bytes is what the transport saw", "[report][transport]")
{
    for (const int p : {1, 2, 3, 5, 8}) {
        INFO("p " << p);
        const auto n = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{5000});
        traffic ring, doubling, tree, gathered;
        says_what_was_sent(watched(p, ring,
                                   [n](const tapped_comm& comm) {
                                       auto v = fields::smooth<float>(n);
                                       return ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(v, comm);
                                   }),
                           ring);
        says_what_was_sent(watched(p, doubling,
                                   [n](const tapped_comm& comm) {
                                       auto v = fields::smooth<float>(n);
                                       return ccoll::allreduce<Algo::RecursiveDoubling>(v, comm);
                                   }),
                           doubling);
        says_what_was_sent(watched(p, tree,
                                   [n](const tapped_comm& comm) {
                                       auto v = fields::smooth<float>(n);
                                       return ccoll::bcast<Codec::SZx, ErrorBound<1e-3>>(v, 0, comm);
                                   }),
                           tree);
        says_what_was_sent(watched(p, gathered,
                                   [n](const tapped_comm& comm) {
                                       const auto v = fields::smooth<float>(n);
                                       std::vector<float> all(n * static_cast<std::size_t>(comm.size()));
                                       return ccoll::gather<Codec::SZx, ErrorBound<1e-3>>(
                                           v, all, comm.size() - 1, comm);
                                   }),
                           gathered);
        for (std::size_t r = 0; r < static_cast<std::size_t>(p); ++r) {
            CHECK(ring.control_bytes[r] + doubling.control_bytes[r] == 0);  // small: no agreement
            CHECK((tree.control_bytes[r] > 0) == (p > 1));                  // a root: always an agreement
        }
    }
}

TEST_CASE("A large vector goes in many bounded messages", "[slices][transport]")
{
    constexpr int p = 3;
    constexpr std::size_t n = 3000000, slice = ccoll::detail::usual_slice_elements, block = n / p;
    traffic exact, lossy, local, doubling;
    const auto whole_chunks = [](std::size_t elements, std::size_t chunk) {
        return (elements + chunk - 1) / chunk * chunk;
    };
    std::vector<report> all = watched(p, exact, [](const tapped_comm& comm) {
        std::vector<float> v(n, 1.0f);
        const report r = ccoll::allreduce<Algo::Ring>(v, comm);
        if (v[0] != 3 || v[n - 1] != 3) throw std::runtime_error("wrong sum");
        return r;
    });
    says_what_was_sent(all, exact);
    const std::size_t most = whole_chunks(slice, 8192), messages = 2 * (p - 1) * ((block + most - 1) / most);
    CHECK(messages > 8 * 2 * (p - 1));
    for (std::size_t r = 0; r < p; ++r) {
        CHECK(exact.data_messages[r] == messages);
        CHECK(exact.longest[r] <=
              sizeof(ccoll::call_stamp) + ccoll::max_encoded_bytes<Codec::None, float>(most));
        CHECK(exact.control_bytes[r] > 0);
        CHECK(exact.control_bytes[r] % sizeof(ccoll::control_message) == 0);
    }
    all = watched(p, lossy, [](const tapped_comm& comm) {
        auto v = fields::random<float>(n, static_cast<unsigned>(comm.rank()));
        // All chunks are raw: the longest messages.
        return ccoll::allreduce<Algo::Ring, Codec::PipeSZx, ErrorBound<1e-12>>(v, comm);
    });
    says_what_was_sent(all, lossy);
    for (std::size_t r = 0; r < p; ++r)
        CHECK(lossy.longest[r] <= sizeof(ccoll::call_stamp) + ccoll::max_encoded_bytes<Codec::PipeSZx, float>(
                                                                  whole_chunks(slice, 5120)));
    all = watched(p, local, [](const tapped_comm& comm) {
        auto v = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()));
        return ccoll::bcast<Algo::Binomial, Codec::SZx, ErrorBound<1e-3>, Check::Local>(v, 1, comm);
    });
    says_what_was_sent(all, local);
    for (std::size_t r = 0; r < p; ++r) {
        CHECK(local.control_bytes[r] == 0);
        CHECK(!all[r].agreed);
        CHECK(local.longest[r] <= sizeof(ccoll::call_stamp) +
                                      ccoll::max_encoded_bytes<Codec::SZx, float>(whole_chunks(slice, 8192)));
    }
    CHECK(local.data_messages[1] >= 2 * (n / most));
    all = watched(p, doubling, [](const tapped_comm& comm) {
        auto v = fields::smooth<float>(n, static_cast<unsigned>(comm.rank()));
        return ccoll::allreduce<Algo::RecursiveDoubling, Codec::SZx, ErrorBound<1e-3>>(v, comm);
    });
    says_what_was_sent(all, doubling);
}

TEST_CASE("Messages of several blocks are no longer than those of one", "[slices][transport]")
{
    constexpr int p = 5;
    traffic seen;
    const auto all = watched(p, seen, [](const tapped_comm& comm) {
        const auto v = fields::random<float>(400000, static_cast<unsigned>(comm.rank()));
        std::vector<float> everything(2000000);
        return ccoll::gather<Codec::SZx, ErrorBound<1e-12>>(v, everything, 1, comm);
    });
    says_what_was_sent(all, seen);
    // A tree over 5 ranks carries up to 4 blocks.
    const std::size_t widest = 4, each = ccoll::detail::usual_slice_elements / widest;
    for (std::size_t r = 0; r < p; ++r)
        CHECK(seen.longest[r] <=
              sizeof(ccoll::call_stamp) + widest * ccoll::max_encoded_bytes<Codec::SZx, float>(each));
}

TEST_CASE(
    "An allreduce makes no agreement below a megabyte, one from there on, and two with Check::Collective",
    "[agree][transport]")
{
    const auto control_of = []<class... P>(std::size_t n) {
        traffic seen;
        watched(4, seen, [n](const tapped_comm& comm) {
            std::vector<float> v(n, 1);
            return ccoll::allreduce<Algo::Ring, P...>(v, comm);
        });
        return seen.control_bytes[2].load();
    };
    CHECK(control_of.operator()<>(262143) == 0);
    CHECK(control_of.operator()<>(262144) == 2 * sizeof(ccoll::control_message));
    CHECK(control_of.operator()<Check::Local>(262144) == 0);
    CHECK(control_of.operator()<Check::Collective>(1) == 4 * sizeof(ccoll::control_message));
    CHECK(control_of.operator()<Check::Collective>(262144) == 4 * sizeof(ccoll::control_message));
    CHECK((control_of.operator()<Codec::SZx, RelativeBound<1e-3>>(1) == 2 * sizeof(ccoll::control_message)));
}

}  // namespace accounting_cases
