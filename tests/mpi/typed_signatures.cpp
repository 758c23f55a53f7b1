// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 3
// Ranks may describe the same elements by different types of MPI. All of them must then be in the same call,
// and it must give what MPI gives.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

#include <ccoll/codec.hpp>
#include <ccoll/typed.hpp>

using namespace ccoll::policies;
namespace typed = ccoll::typed;

namespace {

using lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
int me = 0, p = 1;

/// A way to describe floats. An item holds `each` of them, and takes `room` floats in memory.
struct described {
    const char* name;
    MPI_Datatype type;
    std::size_t each, room;
    bool freed = true;
};

MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/// Every item has four floats, or one.
std::vector<described> descriptions()
{
    MPI_Datatype t = MPI_DATATYPE_NULL, u = MPI_DATATYPE_NULL;
    std::vector<described> all;
    const auto add = [&](const char* name, std::size_t each, std::size_t room) {
        all.push_back({name, committed(t), each, room});
    };
    all.push_back({"MPI_FLOAT", MPI_FLOAT, 1, 1, false});
    all.push_back({"MPI_REAL4", MPI_REAL4, 1, 1, false});
    MPI_Type_dup(MPI_FLOAT, &t);
    add("dup", 1, 1);
    MPI_Type_contiguous(4, MPI_FLOAT, &t);
    add("contiguous", 4, 4);
    MPI_Type_contiguous(2, MPI_FLOAT, &u);
    MPI_Type_contiguous(2, u, &t);
    MPI_Type_free(&u);
    add("contiguous of contiguous", 4, 4);
    MPI_Type_vector(2, 2, 2, MPI_FLOAT, &t);
    add("vector without gaps", 4, 4);
    MPI_Type_vector(4, 1, 2, MPI_FLOAT, &t);
    add("vector", 4, 7);
    MPI_Type_vector(4, 1, 2, MPI_FLOAT, &u);
    MPI_Type_create_resized(u, 0, 9 * sizeof(float), &t);
    MPI_Type_free(&u);
    add("resized vector", 4, 9);
    MPI_Type_create_resized(MPI_FLOAT, 0, 2 * sizeof(float), &t);
    add("resized float", 1, 2);
    const int lengths[] = {1, 3}, backwards[] = {3, 0}, ends[] = {0, 2};
    MPI_Type_indexed(2, lengths, backwards, MPI_FLOAT, &t);
    add("indexed, out of order", 4, 4);
    MPI_Type_indexed(2, lengths, backwards, MPI_FLOAT, &u);
    MPI_Type_dup(u, &t);
    MPI_Type_free(&u);
    add("dup of indexed, out of order", 4, 4);
    MPI_Type_indexed(2, lengths, ends, MPI_FLOAT, &t);
    add("indexed", 4, 5);
    const MPI_Aint places[] = {0, 4 * sizeof(float), 2};
    const MPI_Datatype parts[] = {MPI_FLOAT, all[3].type, MPI_INT};
    const int numbers[] = {0, 1, 0};
    MPI_Type_create_struct(3, numbers, places, parts, &t);
    add("struct with empty parts of others", 4, 8);
    const MPI_Datatype floats[] = {MPI_FLOAT, all[2].type};
    MPI_Type_create_struct(2, lengths, places, floats, &t);
    add("struct of floats", 4, 7);
    const int sizes[] = {2, 4}, inner[] = {2, 2}, starts[] = {0, 1};
    MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_FLOAT, &t);
    add("subarray", 4, 8);
    MPI_Type_create_f90_real(6, 30, &u);
    all.push_back({"create_f90_real", u, 1, 1, false});
    return all;
}

/// Floats that MPI itself has put where the type says.
std::vector<float> laid_out(const std::vector<float>& in, const described& as)
{
    std::vector<float> out(in.size() / as.each * as.room, -5.0f);
    MPI_Sendrecv(in.data(), static_cast<int>(in.size()), MPI_FLOAT, 0, 0, out.data(),
                 static_cast<int>(in.size() / as.each), as.type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return out;
}
std::vector<float> wave(std::size_t n, int seed)
{
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i)
        v[i] = std::sin(0.01f * static_cast<float>(i)) + static_cast<float>(seed);
    return v;
}

/// What is between the elements must stay, so whole memories are compared.
bool close(const std::vector<float>& a, const std::vector<float>& b)
{
    bool all = a.size() == b.size();
    for (std::size_t i = 0; i < a.size() && all; ++i) all = std::fabs(a[i] - b[i]) <= 1.001e-3f;
    return all;
}

/// Rank r describes n floats by `of(r)`. Blocking, nonblocking and persistent calls.
template <class Of>
void movement(std::size_t n, Of of)
{
    const described mine = of(me);
    const std::string name = std::string(mine.name) + ", " + std::to_string(n) + " floats: ";
    const std::size_t items = n / mine.each, all = n * static_cast<std::size_t>(p);
    const auto expect = [&](bool holds, const char* what) { check::expect(holds, (name + what).c_str()); };
    const MPI_Comm world = MPI_COMM_WORLD;
    std::vector<float> whole;  // of all ranks
    for (int r = 0; r < p; ++r)
        for (const float x : wave(n, r)) whole.push_back(x);
    const auto own = laid_out(wave(n, me), mine), many = laid_out(wave(all, me), mine),
               gathered = laid_out(whole, mine);

    for (const int root : {0, p - 1}) {
        const auto original = laid_out(wave(n, root), mine);
        auto x = own, y = own, z = own;
        const auto facts = typed::bcast<lossy>(x.data(), items, mine.type, root, world);
        typed::ibcast<lossy>(y.data(), items, mine.type, root, world).wait();
        auto call = typed::bcast_init<lossy>(z.data(), items, mine.type, root, world);
        for (int i = 0; i < 2; ++i) {
            z = own;
            call.start();
            call.wait();
            expect(close(z, original), "bcast_init");
        }
        expect(close(x, original) && close(y, original), "bcast");
        expect(facts.ran_by != ccoll::ran_by::mpi && std::strcmp(facts.codec, "SZp") == 0,
               "bcast is not compressed");

        std::vector<float> to(gathered.size(), -5.0f);
        typed::gather<lossy>(own.data(), me == root ? to.data() : nullptr, items, mine.type, root, world);
        expect(me != root || close(to, gathered), "gather");
        to = gathered;
        typed::igather<lossy>(me == root ? MPI_IN_PLACE : static_cast<const void*>(own.data()), to.data(),
                              items, mine.type, root, world)
            .wait();
        expect(me != root || close(to, gathered), "gather in place");

        std::vector<float> part(own.size(), -5.0f);
        typed::scatter<lossy>(me == root ? gathered.data() : nullptr, part.data(), items, mine.type, root,
                              world);
        expect(close(part, own), "scatter");
        part = own;
        typed::scatter<lossy>(gathered.data(), me == root ? MPI_IN_PLACE : part.data(), items, mine.type,
                              root, world);
        expect(close(part, own), "scatter in place");
    }
    std::vector<float> to(gathered.size(), -5.0f);
    typed::allgather<lossy>(own.data(), to.data(), items, mine.type, world);
    expect(close(to, gathered), "allgather");
    to = gathered;
    typed::allgather<lossy>(MPI_IN_PLACE, to.data(), items, mine.type, world);
    expect(close(to, gathered), "allgather in place");

    std::vector<float> exchanged;
    for (int r = 0; r < p; ++r) {
        const auto theirs = wave(all, r);
        exchanged.insert(exchanged.end(), theirs.begin() + me * static_cast<std::ptrdiff_t>(n),
                         theirs.begin() + (me + 1) * static_cast<std::ptrdiff_t>(n));
    }
    const auto wanted = laid_out(exchanged, mine);
    to.assign(to.size(), -5.0f);
    typed::alltoall<lossy>(many.data(), to.data(), items, mine.type, world);
    expect(close(to, wanted), "alltoall");
    to = many;
    typed::ialltoall<lossy>(MPI_IN_PLACE, to.data(), items, mine.type, world).wait();
    expect(close(to, wanted), "alltoall in place");
}

/// Elements of several kinds, or of kinds that no codec knows, go to MPI on all ranks. No elements match all
/// types.
void what_is_left()
{
    MPI_Datatype mixed = MPI_DATATYPE_NULL, bytes = MPI_DATATYPE_NULL;
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 4};
    const MPI_Datatype parts[] = {MPI_FLOAT, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, parts, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Type_contiguous(3, MPI_CHAR, &bytes);
    MPI_Type_commit(&bytes);
    std::vector<float> x(3000, static_cast<float>(me));
    const ccoll::report done =
        typed::bcast<lossy>(x.data(), 1500, me == 0 ? MPI_FLOAT_INT : mixed, 0, MPI_COMM_WORLD);
    EXPECT(done.ran_by == ccoll::ran_by::mpi && done.codec == std::string("None") && x[0] == 0);
    // No codec may see the integers as floats, whichever kind is the last one.
    for (const bool floats_last : {false, true}) {
        const MPI_Datatype kinds[] = {floats_last ? MPI_INT : MPI_FLOAT, floats_last ? MPI_FLOAT : MPI_INT};
        MPI_Datatype pair = MPI_DATATYPE_NULL;
        MPI_Type_create_struct(2, lengths, places, kinds, &pair);
        MPI_Type_commit(&pair);
        // As a float: 3.6, between two multiples of the bound.
        std::vector<int> bits(3000, me == 0 ? 1'080'000'001 : 0);
        const auto mixed_up = typed::bcast<lossy>(bits.data(), 1500, pair, 0, MPI_COMM_WORLD);
        EXPECT(mixed_up.ran_by == ccoll::ran_by::mpi && bits == std::vector<int>(3000, 1'080'000'001));
        MPI_Type_free(&pair);
    }
    x.assign(x.size(), static_cast<float>(me));
    const auto as_bytes =
        typed::bcast<lossy>(x.data(), me == 0 ? 12000 : 4000, me == 0 ? MPI_CHAR : bytes, 0, MPI_COMM_WORLD);
    EXPECT(as_bytes.ran_by == ccoll::ran_by::mpi && x[2999] == 0);
    typed::bcast<lossy>(x.data(), 0, me == 0 ? MPI_CHAR : MPI_FLOAT, 0, MPI_COMM_WORLD);
    typed::allgather<lossy>(x.data(), x.data(), 0, me == 0 ? mixed : MPI_DOUBLE, MPI_COMM_WORLD);

    // A request outlives its type, as in MPI.
    MPI_Datatype gap = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &gap);
    MPI_Type_commit(&gap);
    std::vector<float> y(9000, static_cast<float>(me));
    auto call = typed::ibcast<lossy>(y.data(), 3000, gap, p - 1, MPI_COMM_WORLD);
    MPI_Type_free(&gap);
    call.wait();
    EXPECT(std::fabs(y[2] - static_cast<float>(p - 1)) <= 1e-3f && y[1] == static_cast<float>(me));
    MPI_Type_free(&mixed);
    MPI_Type_free(&bytes);
}

/// The types of Fortran, and complex numbers, are compressed as the floats that they are.
template <class T>
void sum_of(const char* name, MPI_Datatype type, std::size_t parts)
{
    if (type == MPI_DATATYPE_NULL) return;  // MPI was built without it
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    if (bytes != static_cast<int>(parts * sizeof(T))) return;
    const std::size_t n = 50000;
    std::vector<T> in(n * parts), want(in.size()), got(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<T>(std::sin(0.001 * static_cast<double>(i)) + me);
    MPI_Allreduce(in.data(), want.data(), static_cast<int>(in.size()),
                  sizeof(T) == 4 ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const auto facts = typed::allreduce<lossy>(in.data(), got.data(), n, type, MPI_SUM, MPI_COMM_WORLD);
    check::expect(std::strcmp(facts.codec, "SZp") == 0 && facts.ran_by != ccoll::ran_by::mpi,
                  (std::string(name) + " is not compressed").c_str());
    bool all = true;
    for (std::size_t i = 0; i < got.size(); ++i)
        all = all && std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <=
                         facts.worst_case_error + 1e-5;
    check::expect(all, name);
}

/// Only sums treat the parts of a complex number alike.
void complex_products()
{
    const float one[2] = {0, 1};
    float all[2] = {0, 0}, want[2] = {1, 0};
    for (int r = 0; r < p; ++r) {
        const float x = want[0];
        want[0] = -want[1];
        want[1] = x;  // times i
    }
    typed::allreduce<Codec::Lossless>(one, all, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    EXPECT(all[0] == want[0] && all[1] == want[1]);
}

}  // namespace

int main(int argc, char** argv)
{
    check::init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &p);

    const auto all = descriptions();
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const std::size_t n : {std::size_t{4}, std::size_t{40000}}) {
            movement(n, [&](int rank) { return all[rank == 0 ? i : 0]; });
            movement(n, [&](int rank) { return all[(i + static_cast<std::size_t>(rank)) % all.size()]; });
        }
    }
    movement(300000, [&](int rank) { return all[rank == 0 ? 3 : 6]; });
    what_is_left();
    for (described each : all)
        if (each.freed) MPI_Type_free(&each.type);

    sum_of<float>("MPI_REAL", MPI_REAL, 1);
    sum_of<float>("MPI_REAL4", MPI_REAL4, 1);
    sum_of<double>("MPI_REAL8", MPI_REAL8, 1);
    sum_of<double>("MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, 1);
    sum_of<float>("MPI_C_COMPLEX", MPI_C_COMPLEX, 2);
    sum_of<float>("MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 2);
    sum_of<double>("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 2);
    sum_of<float>("MPI_CXX_FLOAT_COMPLEX", MPI_CXX_FLOAT_COMPLEX, 2);
    sum_of<double>("MPI_CXX_DOUBLE_COMPLEX", MPI_CXX_DOUBLE_COMPLEX, 2);
    sum_of<float>("MPI_COMPLEX", MPI_COMPLEX, 2);
    sum_of<float>("MPI_COMPLEX8", MPI_COMPLEX8, 2);
    sum_of<double>("MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, 2);
    sum_of<double>("MPI_COMPLEX16", MPI_COMPLEX16, 2);
    MPI_Datatype f90 = MPI_DATATYPE_NULL;
    MPI_Type_create_f90_real(15, 300, &f90);
    sum_of<double>("MPI_Type_create_f90_real", f90, 1);
    MPI_Type_create_f90_complex(6, 30, &f90);
    sum_of<float>("MPI_Type_create_f90_complex", f90, 2);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &f90);
    sum_of<float>("MPI_Type_match_size", f90, 1);
    complex_products();
    return check::finish();
}
