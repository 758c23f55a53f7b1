// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2 3 5
// ccoll::since over MPI: short and long vectors, all or changes, errors on all ranks.
#include <cstdint>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/fault.hpp>
#include <ccoll/since.hpp>
#include <ccoll/transport/mpi.hpp>

using namespace ccoll::policies;

namespace {

using words = std::vector<std::uint16_t>;

bool is(const char* a, const char* b) { return std::string(a) == b; }

words some(std::size_t n, std::uint32_t seed)
{
    words all(n);
    for (auto& w : all) w = static_cast<std::uint16_t>((seed = seed * 1664525u + 1013904223u) >> 16);
    return all;
}
/// Each k-th word is another one.
words changed(words all, std::size_t k)
{
    for (std::size_t i = k / 2; i < all.size(); i += k) all[i] = static_cast<std::uint16_t>(all[i] * 3 + 1);
    return all;
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    int p = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int root = p - 1;
    const auto ranks = static_cast<std::size_t>(p);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{2000003}})
        for (const std::size_t every : {std::size_t{100}, std::size_t{5}}) {
            const words previous = some(n, 3), next = changed(previous, every), none;
            const bool is_root = check::rank == root;
            words weights = is_root ? next : previous;
            const auto facts = ccoll::bcast(weights, ccoll::since(is_root ? previous : none), root, comm);
            EXPECT(weights == next);
            EXPECT(p == 1 || n < 5000 || is(facts.codec, "Changes"));
            weights = is_root ? next : words(n);
            ccoll::bcast<Algo::Chain, Fault::Crc32c>(weights, ccoll::since(previous), root, comm);
            EXPECT(weights == next);
            // All ranks but the root have nothing yet.
            weights = is_root ? next : words(n);
            const auto first =
                ccoll::bcast(weights, ccoll::since<Otherwise::Whole>(is_root ? previous : none), root, comm);
            EXPECT(weights == next);
            EXPECT(p == 1 || n < 5000 || first.ran_by == ccoll::ran_by::mpi);

            const words all_before = some(n * ranks, 5), all_after = changed(all_before, every);
            words gathered = all_before;
            const std::size_t own = n * static_cast<std::size_t>(check::rank);
            for (std::size_t i = own; i < own + n; ++i) gathered[i] = all_after[i];
            const auto parts = ccoll::allgather(gathered, ccoll::since(all_before), comm);
            EXPECT(gathered == all_after);
            EXPECT(p == 1 || n < 5000 || is(parts.codec, "Changes"));
        }
    if (p > 1) {
        const words previous = some(5000, 3);
        words weights = previous;
        if (check::rank == 0) weights[17] ^= 1;
        if (check::rank == 1) weights[4999] ^= 1;
        std::error_code code;
        const auto failed =
            ccoll::bcast(weights, ccoll::since(check::rank == 0 ? previous : weights), 0, comm, code);
        EXPECT(code == ccoll::status::previous_differs && failed.trouble.rank == 1);
        try {
            ccoll::bcast(weights, ccoll::since(previous), check::rank == 1 ? 1 : 0, comm);
            EXPECT(!"an error");
        } catch (const ccoll::error& e) {
            EXPECT(e.what_happened().code == ccoll::status::root_differs);
        }
    }
    return check::finish();
}
