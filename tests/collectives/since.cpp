// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ccoll::since: all ranks end with the sender's bits, whatever has changed; ranks that hold something else
// are found before anything is sent; errors come to all ranks.
#include <complex>
#include <limits>

#include "errors.hpp"

#include <ccoll/codec/lossless.hpp>
#include <ccoll/fault.hpp>
#include <ccoll/since.hpp>

namespace since_cases {

using namespace ccoll::policies;
using namespace worlds;
using ccoll::since;
using floats = std::vector<float>;

namespace {

struct odd {  // 12 bytes
    std::int32_t a;
    std::uint16_t b[4];
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Any bits: NaN, infinities and -0 among them.
template <class T>
std::vector<T> any_bits(std::size_t n, unsigned seed)
{
    fields::generator random(seed);
    std::vector<T> all(n);
    auto* const raw = reinterpret_cast<unsigned char*>(all.data());
    for (std::size_t i = 0; i < n * sizeof(T); ++i) raw[i] = static_cast<unsigned char>(random.bits());
    return all;
}
template <class T>
std::vector<T> with_changes(std::vector<T> all, double share, unsigned seed)
{
    fields::generator random(seed);
    auto* const raw = reinterpret_cast<unsigned char*>(all.data());
    for (std::size_t i = 0; i < all.size(); ++i)
        if (random.unit() < 2 * share - 1) raw[i * sizeof(T) + random.below(sizeof(T))] ^= 0x11;
    return all;
}

bool is(const char* a, const char* b) { return std::string(a) == b; }

/// What has to be in a report of a call that sent changes, or all.
template <class T>
void look_at(findings& mine, const report& facts, std::size_t n, int p)
{
    mine.expect(facts.exact && facts.same_bits && facts.trouble.ok(), "exact");
    mine.expect(facts.agreed == (p > 1), "agreed");
    const bool sent_changes = is(facts.codec, "Changes");
    mine.expect(sent_changes == is(facts.reason, "all ranks hold the previous vector"), "the reason");
    // In a tree and in a chain ranks send all of it, or nothing.
    if (sent_changes && n > 0 && (is(facts.algorithm, "Binomial") || is(facts.algorithm, "Chain")))
        mine.expect(facts.raw_bytes % (n * sizeof(T)) == 0, "raw bytes");
}

template <class T, class... P>
void broadcasts()
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {0u, 1u, 100u, 4097u, 300007u})
            for (const double share : {0.0, 0.01, 0.3, 1.0}) {
                if (n == 300007 && (p == 5 || sizeof(T) > 8)) continue;
                none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                    const int root = static_cast<int>(n % static_cast<std::size_t>(p));
                    const bool is_root = comm.rank() == root;
                    const auto previous = any_bits<T>(n, 3), next = with_changes(previous, share, 7);
                    const std::vector<T> none;
                    // In place.
                    std::vector<T> weights = is_root ? next : previous;
                    const report facts =
                        ccoll::bcast<P...>(weights, since(is_root ? previous : none), root, comm);
                    mine.expect(same(weights, next), "in place");
                    look_at<T>(mine, facts, n, p);
                    mine.expect(p == 1 || n < 1000 || share == 1.0 || is(facts.codec, "Changes"), "changes");
                    mine.expect(
                        p == 1 || share != 0.01 || n < 1000 || facts.sent_bytes < facts.raw_bytes / 20 + 2000,
                        "few bytes");
                    // From a vector of its own, which stays; the memory of the result held something else.
                    weights = is_root ? next : any_bits<T>(n, 5);
                    std::vector<T> held = previous;
                    ccoll::bcast<P...>(weights, since(held), root, comm);
                    mine.expect(same(weights, next) && same(held, previous), "apart");
                    // The same memory named twice.
                    weights = is_root ? next : previous;
                    ccoll::bcast<P...>(weights, since(is_root ? previous : weights), root, comm);
                    mine.expect(same(weights, next), "the same memory");
                }));
            }
}

template <class T, class... P>
void gathers()
{
    for (const int p : {1, 2, 3, 5})
        for (const std::size_t n : {0u, 1u, 100u, 4097u, 90001u})
            for (const double share : {0.0, 0.01, 0.3, 1.0}) {
                if (n == 90001 && (p == 5 || sizeof(T) > 8)) continue;
                none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
                    const std::size_t all = n * static_cast<std::size_t>(p),
                                      own = n * static_cast<std::size_t>(comm.rank());
                    const auto previous = any_bits<T>(all, 3), next = with_changes(previous, share, 7);
                    const auto mixed = [&] {
                        std::vector<T> w = previous;
                        for (std::size_t i = 0; i < n; ++i) w[own + i] = next[own + i];
                        return w;
                    };
                    std::vector<T> weights = mixed();
                    const report facts = ccoll::allgather<P...>(weights, since(previous), comm);
                    mine.expect(same(weights, next), "the whole previous vector");
                    look_at<T>(mine, facts, n, p);
                    mine.expect(p == 1 || n < 1000 || share == 1.0 || is(facts.codec, "Changes"), "changes");
                    weights = mixed();
                    const std::span<const T> part(previous.data() + own, n);
                    ccoll::allgather<P...>(weights, since<Otherwise::Whole>(part), comm);
                    mine.expect(same(weights, next), "its part");
                }));
            }
}

/// Rank `other` holds something else.
template <class Else>
void differing(int p, int other, Else)
{
    none_wrong(run<findings>(p, [=](threads_comm& comm, findings& mine) {
        const auto previous = fields::random<float>(50000, 3);
        floats next = previous;
        next[777] += 1;
        const bool is_root = comm.rank() == 0;
        floats held = previous;
        if (comm.rank() == other) held[49999] = std::nextafter(held[49999], 10.0f);
        floats weights = is_root ? next : held;
        const floats before = weights;
        const auto call = [&] {
            return ccoll::bcast(weights, since<Else>(is_root ? held : weights), 0, comm);
        };
        if constexpr (std::is_same_v<Else, Otherwise::Whole>) {
            const report facts = call();
            mine.expect(same(weights, next), "the whole vector");
            mine.expect(is(facts.codec, "None") &&
                            is(facts.reason, "whole, because ranks hold different previous vectors"),
                        "the report");
        } else {
            try {
                call();
                mine.expect(false, "no error");
            } catch (const ccoll::error& e) {
                const ccoll::verdict v = e.what_happened();
                const int seen = other == 0 ? 1 : other;  // the first that holds something else than the root
                mine.expect(v.code == status::previous_differs && v.rank == seen && v.peer == 0, e.what());
                mine.expect(has(e.what(), "Otherwise::Whole"), "the remedy");
            }
            mine.expect(same(weights, before), "nothing has changed");
        }
    }));
}

}  // namespace

TEST_CASE("bcast since a vector gives the root's bits, for elements of all sizes", "[collectives][since]")
{
    broadcasts<ccoll::bfloat16>();
    broadcasts<float>();
    broadcasts<double>();
    broadcasts<std::int8_t>();
    broadcasts<odd>();
    broadcasts<std::complex<double>>();
}

TEST_CASE("allgather since a vector gives the bits of all ranks", "[collectives][since]")
{
    gathers<ccoll::bfloat16>();
    gathers<float>();
    gathers<odd>();
}

TEST_CASE("Calls since a vector take policies", "[collectives][since]")
{
    broadcasts<ccoll::bfloat16, Algo::Chain, Codec::Lossless>();
    broadcasts<float, Algo::ScatterAllgather, Check::Local, Timeout<60>>();
    broadcasts<float, Fault::Crc32c, Instrument::Breakdown>();
    gathers<ccoll::bfloat16, Algo::Ring, Codec::Lossless, Check::Collective>();
    gathers<float, Algo::Bruck, Fault::Crc32c>();
}

TEST_CASE("Long streams since a vector arrive in pieces", "[collectives][since]")
{
    // 3 % of 6 million have any new value: more than a megabyte.
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const auto previous = any_bits<std::uint16_t>(6000000, 3);
        std::vector<std::uint16_t> next = previous;
        fields::generator random(5);
        for (std::size_t k = 0; k < 1500000; ++k)
            next[random.below(next.size())] = static_cast<std::uint16_t>(random.bits());
        std::vector<std::uint16_t> weights = comm.rank() == 1 ? next : previous;
        const report facts = ccoll::bcast<Instrument::Breakdown>(
            weights, since(comm.rank() == 1 ? previous : weights), 1, comm);
        mine.expect(same(weights, next), "bits");
        mine.expect(is(facts.codec, "Changes") && is(facts.algorithm, "Chain"), "the report");
        mine.expect(facts.breakdown.encode > 0 && (comm.rank() == 1 || facts.breakdown.decode > 0),
                    "the breakdown");
    }));
}

TEST_CASE("Ranks that hold something else than the root are found, wherever they are", "[collectives][since]")
{
    for (const int p : {2, 3, 5})
        for (int other = 0; other < p; ++other) {
            differing(p, other, Otherwise::Error{});
            differing(p, other, Otherwise::Whole{});
        }
}

TEST_CASE("allgather since a vector finds ranks that hold something else, also in their own part",
          "[collectives][since]")
{
    for (const std::size_t wrong : {0u, 2999u, 3000u, 8999u})
        none_wrong(run<findings>(3, [=](threads_comm& comm, findings& mine) {
            const auto previous = fields::random<float>(9000, 3);
            floats held = previous;
            if (comm.rank() == 1) held[wrong] += 1;
            floats weights = held, next = previous;
            const auto own = static_cast<std::size_t>(3000 * comm.rank());
            for (std::size_t i = 7; i < next.size(); i += 500) next[i] *= 2;
            for (std::size_t i = own; i < own + 3000; ++i) weights[i] = next[i];
            const floats before = weights;
            try {
                ccoll::allgather(weights, since(held), comm);
                mine.expect(false, "no error");
            } catch (const ccoll::error& e) {
                mine.expect(e.what_happened().code == status::previous_differs && e.what_happened().rank == 1,
                            e.what());
            }
            mine.expect(same(weights, before), "nothing has changed");
            const report facts = ccoll::allgather(weights, since<Otherwise::Whole>(held), comm);
            mine.expect(same(weights, next) && is(facts.codec, "None"), "the whole vector");
        }));
}

TEST_CASE("Without a previous vector on the root all is sent, if the call says so", "[collectives][since]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const auto next = fields::random<float>(5000, 3);
        floats weights = comm.rank() == 2 ? next : floats(5000);
        const floats none;
        const report facts = ccoll::bcast(weights, since<Otherwise::Whole>(none), 2, comm);
        mine.expect(same(weights, next), "bits");
        mine.expect(is(facts.reason, "whole, because there is no previous vector"), "the reason");
        weights[static_cast<std::size_t>(comm.rank())] += 1;
        std::error_code code;
        const report failed = ccoll::bcast(weights, since(none), 2, comm, code);
        mine.expect(code == status::size_mismatch && failed.trouble.rank == 2, "an error code");
    }));
}

TEST_CASE("All of a vector is sent if most of it has changed", "[collectives][since]")
{
    none_wrong(run<findings>(3, [](threads_comm& comm, findings& mine) {
        const auto previous = any_bits<std::uint32_t>(50000, 3), next = any_bits<std::uint32_t>(50000, 4);
        std::vector<std::uint32_t> weights = comm.rank() == 0 ? next : previous;
        const report facts = ccoll::bcast<Codec::Lossless>(weights, since(previous), 0, comm);
        mine.expect(same(weights, next), "bits");
        mine.expect(is(facts.codec, "Lossless") &&
                        is(facts.reason, "whole, because more than half would have been sent"),
                    "the report");
    }));
}

TEST_CASE("Arguments of calls since a vector that do not fit are errors on all ranks",
          "[collectives][since][errors]")
{
    const auto on_all = [](status code, auto call) {
        for (const int p : {2, 3}) all_heard(listen(p, call), code);
    };
    static const floats whole(1000, 1.0f), longer(1001, 1.0f), short_one(3, 1.0f);
    on_all(status::count_differs, [](threads_comm& comm) {
        floats weights = comm.rank() == 1 ? longer : whole;
        ccoll::bcast(weights, since(comm.rank() == 1 ? longer : whole), 0, comm);
    });
    on_all(status::size_mismatch, [](threads_comm& comm) {
        floats weights = whole;
        ccoll::bcast(weights, since(comm.rank() == 1 ? short_one : whole), 0, comm);
    });
    on_all(status::size_mismatch, [](threads_comm& comm) {
        floats weights = longer;
        ccoll::bcast(weights, since(comm.rank() == 0 ? whole : longer), 0, comm);
    });
    on_all(status::size_mismatch, [](threads_comm& comm) {
        floats weights(7);
        ccoll::allgather(weights, since(weights), comm);
    });
    on_all(status::root_differs, [](threads_comm& comm) {
        floats weights = whole;
        ccoll::bcast(weights, since(whole), comm.rank() == 1 ? 1 : 0, comm);
    });
    for (const int bad : {-1, 3})
        on_all(status::bad_root, [=](threads_comm& comm) {
            floats weights = whole;
            ccoll::bcast(weights, since(whole), bad, comm);
        });
    on_all(status::overlap, [](threads_comm& comm) {
        floats memory(1500, 1.0f);
        const std::span<float> weights(memory.data(), 1000), before(memory.data() + 500, 1000);
        ccoll::bcast(weights, since(comm.rank() == 1 ? before : weights), 0, comm);
    });
    on_all(status::null_buffer, [](threads_comm& comm) {
        floats memory(1000, 1.0f);
        const std::span<float> weights(comm.rank() == 1 ? nullptr : memory.data(), 1000);
        ccoll::bcast(weights, since(whole), 0, comm);
    });
    on_all(status::plan_differs, [](threads_comm& comm) {
        floats weights = whole;
        if (comm.rank() == 1) ccoll::bcast<Algo::Chain>(weights, since(whole), 0, comm);
        else ccoll::bcast<Algo::Binomial>(weights, since(whole), 0, comm);
    });
    on_all(status::plan_differs, [](threads_comm& comm) {
        floats weights = whole;
        if (comm.rank() == 1) ccoll::bcast(weights, since<Otherwise::Whole>(whole), 0, comm);
        else ccoll::bcast(weights, since(whole), 0, comm);
    });
    on_all(status::plan_differs, [](threads_comm& comm) {
        std::vector<std::int32_t> numbers(1000);
        floats weights = whole;
        if (comm.rank() == 1) ccoll::bcast(numbers, since(numbers), 0, comm);
        else ccoll::bcast(weights, since(whole), 0, comm);
    });
    // One rank makes the call without `since`.
    on_all(status::plan_differs, [](threads_comm& comm) {
        floats weights = whole;
        if (comm.rank() == 1) ccoll::bcast<Algo::Binomial>(weights, 0, comm);
        else ccoll::bcast(weights, since(whole), 0, comm);
    });
}

TEST_CASE("A root that names its new vector as the previous one is found out", "[collectives][since]")
{
    for (const auto& each : listen(3, [](threads_comm& comm) {
             floats weights(5000, 1.0f);
             if (comm.rank() == 0) weights[5] = 2;
             ccoll::bcast(weights, since(weights), 0, comm);
         }))
        CHECK(each.told(status::previous_differs));
}

}  // namespace since_cases
