// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calls.cpp - see calls.hpp: from values at run time to plans.
#include "calls.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include <ccoll/compile_dynamic.hpp>
#include <ccoll/error_feedback.hpp>
#include <ccoll/typed.hpp>

namespace ccoll_torch {

using namespace ccoll::policies;
using ccoll::collective_id;

const char* name_of(number type)
{
    constexpr const char* names[] = {"float32", "float64", "float16", "bfloat16", "int8",
                                     "uint8",   "int16",   "int32",   "int64"};
    return names[static_cast<int>(type)];
}
std::size_t bytes_of(number type)
{
    constexpr std::size_t bytes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8};
    return bytes[static_cast<int>(type)];
}

namespace {

namespace dynamic = ccoll::dynamic;

/// Calls within a bound. Check::Collective: all ranks throw the same or none does.
struct bounded_plans : dynamic::menu<float, double, ccoll::half, ccoll::bfloat16, Op::Sum, Op::Average,
                                     Op::Min, Op::Max, Codec::SZp, RuntimeBound, FixedBits<2>, FixedBits<3>,
                                     FixedBits<4>, FixedBits<5>, FixedBits<6>, FixedBits<7>, FixedBits<8>,
                                     FixedBits<10>, FixedBits<12>, FixedBits<16>, Check::Collective> {};
/// Exact calls of the engine.
struct exact_plans : dynamic::menu<float, double, ccoll::half, ccoll::bfloat16, Op::Sum, Op::Average, Op::Min,
                                   Op::Max, Op::Prod, Algo::Auto, Algo::Ring, Algo::Binomial> {};

dynamic::plan plan_of(const std::variant<double, bits>& wanted)
{
    if (const double* bound = std::get_if<double>(&wanted))
        return {.codec = dynamic::codec_id::SZp, .bound = *bound};
    return {.codec = dynamic::codec_id::SZp,
            .kind = dynamic::bound_id::FixedBits,
            .bound = static_cast<double>(std::get<bits>(wanted).count)};
}
dynamic::element_id id_of(number type)
{
    switch (type) {
    case number::f32: return dynamic::element_id::f32;
    case number::f64: return dynamic::element_id::f64;
    case number::f16: return dynamic::element_id::f16;
    default: return dynamic::element_id::bf16;
    }
}
dynamic::operation_id id_of(operation what)
{
    switch (what) {
    case operation::average: return dynamic::operation_id::Average;
    case operation::min: return dynamic::operation_id::Min;
    case operation::max: return dynamic::operation_id::Max;
    case operation::product: return dynamic::operation_id::Prod;
    default: return dynamic::operation_id::Sum;
    }
}

test_function test_of(ccoll::request call)
{
    return [held = std::make_shared<ccoll::request>(std::move(call))](ccoll::report& facts) {
        if (!held->test()) return false;
        facts = held->wait();
        return true;
    };
}

template <class Run>
auto with_float(number type, Run run)
{
    switch (type) {
    case number::f32: return run(std::type_identity<float>{});
    case number::f64: return run(std::type_identity<double>{});
    case number::f16: return run(std::type_identity<ccoll::half>{});
    default: return run(std::type_identity<ccoll::bfloat16>{});
    }
}

/// @param c  a call on floats
test_function begin_bounded(dynamic::call c, number type, const precision& wanted, MPI_Comm comm)
{
    c.type = id_of(type);
    c.how = plan_of(*wanted);
    return test_of(dynamic::begin<bounded_plans>(c, comm));
}

MPI_Op mpi_operation(operation what)
{
    switch (what) {
    case operation::min: return MPI_MIN;
    case operation::max: return MPI_MAX;
    case operation::product: return MPI_PROD;
    case operation::bit_and: return MPI_BAND;
    case operation::bit_or: return MPI_BOR;
    case operation::bit_xor: return MPI_BXOR;
    default: return MPI_SUM;
    }
}

MPI_Datatype mpi_type(number type)
{
    switch (type) {
    case number::f32: return MPI_FLOAT;
    case number::f64: return MPI_DOUBLE;
    case number::i8: return MPI_INT8_T;
    case number::u8: return MPI_UINT8_T;
    case number::i16: return MPI_INT16_T;
    case number::i32: return MPI_INT32_T;
    case number::i64: return MPI_INT64_T;
    default: return MPI_DATATYPE_NULL;
    }
}
/// For calls that only move elements.
MPI_Datatype mpi_bytes(number type)
{
    switch (bytes_of(type)) {
    case 1: return MPI_UINT8_T;
    case 2: return MPI_UINT16_T;
    case 4: return MPI_UINT32_T;
    default: return MPI_UINT64_T;
    }
}

bool can_be_lossy(number type, operation what) { return is_float(type) && what <= operation::max; }

// Exact sums of floats from here on run in the engine: with MPI_Iallreduce of Open MPI 4.1 a step of
// benchmarks/torch_step.py took 2.5 s where gloo took 1.0 s.
constexpr std::size_t long_bytes = 256 * 1024;

/// The three reductions: lossy ones, averages, long vectors, products of two-byte floats and the like by the
/// engine, others by MPI.
/// @param for_long  the algorithm of exact sums of long vectors
/// @param mpis      (type, operation) -> request
template <class Mpis>
test_function begin_reduction(dynamic::call c, number type, operation what, const precision& wanted,
                              dynamic::algo_id for_long, MPI_Comm comm, Mpis mpis)
{
    c.op = id_of(what);
    if (wanted && can_be_lossy(type, what)) return begin_bounded(c, type, wanted, comm);
    if (what == operation::average && !is_float(type))
        throw std::invalid_argument(std::string("ccoll: an average of ") + name_of(type) +
                                    " is not defined; use SUM, and divide");
    const bool two_bytes = type == number::f16 || type == number::bf16;
    const bool is_long = is_float(type) && what <= operation::max && c.n * bytes_of(type) >= long_bytes;
    if (!is_long && !two_bytes && what != operation::average)
        return test_of(mpis(mpi_type(type), mpi_operation(what)));
    if (what > operation::product)
        throw std::invalid_argument("ccoll: bits of floats cannot be combined; use an integer type");
    c.type = id_of(type);
    if (is_long) c.how.algo = for_long;
    return test_of(dynamic::begin<exact_plans>(c, comm));
}

}  // namespace

void check(const precision& wanted)
{
    if (!wanted) return;
    if (const double* bound = std::get_if<double>(&*wanted)) {
        if (*bound > 0 && *bound < 1e300) return;
        throw std::invalid_argument(
            "ccoll: a bound is a number above 0; None is exact, and Bits(8) follows the largest magnitude");
    }
    const dynamic::call with_bits{.how = plan_of(*wanted)};
    if (!dynamic::why_not<MPI_Comm, bounded_plans>(with_bits).empty())
        throw std::invalid_argument("ccoll: Bits takes 2 to 8, 10, 12 or 16");
}

test_function begin_allreduce(vector_of v, operation what, const precision& wanted, MPI_Comm comm)
{
    return begin_reduction(
        {.which = collective_id::allreduce, .send = MPI_IN_PLACE, .recv = v.data, .n = v.n}, v.type, what,
        wanted, dynamic::algo_id::Ring, comm, [&](MPI_Datatype type, MPI_Op op) {
            return ccoll::typed::iallreduce<>(MPI_IN_PLACE, v.data, v.n, type, op, comm);
        });
}

test_function begin_reduce(vector_of v, operation what, const precision& wanted, int root, MPI_Comm comm)
{
    return begin_reduction(
        {.which = collective_id::reduce, .send = MPI_IN_PLACE, .recv = v.data, .n = v.n, .root = root},
        v.type, what, wanted, dynamic::algo_id::Binomial, comm, [&](MPI_Datatype type, MPI_Op op) {
            return ccoll::typed::ireduce<>(MPI_IN_PLACE, v.data, v.n, type, op, root, comm);
        });
}

test_function begin_reduce_scatter(const void* in, vector_of out, operation what, const precision& wanted,
                                   MPI_Comm comm)
{
    return begin_reduction({.which = collective_id::reduce_scatter, .send = in, .recv = out.data, .n = out.n},
                           out.type, what, wanted, dynamic::algo_id::Ring, comm,
                           [&](MPI_Datatype type, MPI_Op op) {
                               return ccoll::typed::ireduce_scatter<>(in, out.data, out.n, type, op, comm);
                           });
}

test_function begin_allgather(const void* in, vector_of out, const precision& wanted, MPI_Comm comm)
{
    int me = 0;
    MPI_Comm_rank(comm, &me);
    const void* const own =
        static_cast<const std::byte*>(out.data) + static_cast<std::size_t>(me) * out.n * bytes_of(out.type);
    const void* const send = in == own ? MPI_IN_PLACE : in;
    if (!wanted || !is_float(out.type))
        return test_of(ccoll::typed::iallgather<>(send, out.data, out.n, mpi_bytes(out.type), comm));
    return begin_bounded({.which = collective_id::allgather, .send = send, .recv = out.data, .n = out.n},
                         out.type, wanted, comm);
}

test_function begin_bcast(vector_of v, const precision& wanted, int root, MPI_Comm comm)
{
    if (!wanted || !is_float(v.type))
        return test_of(ccoll::typed::ibcast<>(v.data, v.n, mpi_bytes(v.type), root, comm));
    return begin_bounded({.which = collective_id::bcast, .recv = v.data, .n = v.n, .root = root}, v.type,
                         wanted, comm);
}

test_function begin_gather(const void* in, vector_of out, int root, MPI_Comm comm)
{
    return test_of(ccoll::typed::igather<>(in, out.data, out.n, mpi_bytes(out.type), root, comm));
}
test_function begin_scatter(const void* in, vector_of out, int root, MPI_Comm comm)
{
    return test_of(ccoll::typed::iscatter<>(in, out.data, out.n, mpi_bytes(out.type), root, comm));
}

// ---- calls of MPI that ccoll::typed does not have ----

namespace {

void expect(int code)
{
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error(std::string("ccoll: MPI says: ") + text);
}

/// @param held  what must live until the call has ended
template <class... Held>
test_function test_of_mpi(MPI_Request call, std::shared_ptr<int> sender, Held... held)
{
    // A copyable function, because std::function asks for it.
    return [call, sender,
            kept = std::make_shared<std::tuple<Held...>>(std::move(held)...)](ccoll::report&) mutable {
        int ended = 0;
        MPI_Status status{};
        expect(MPI_Test(&call, &ended, &status));
        if (ended != 0 && sender != nullptr) *sender = status.MPI_SOURCE;
        return ended != 0;
    };
}

int bytes_in_message(std::size_t bytes)
{
    if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::invalid_argument("ccoll: a message between two ranks takes less than 2 GiB; send parts");
    return static_cast<int>(bytes);
}

}  // namespace

parts parts::of(const std::vector<std::int64_t>& counts)
{
    parts p;
    std::int64_t at = 0;
    for (const std::int64_t each : counts) {
        if (each < 0 || at + each > std::numeric_limits<int>::max())
            throw std::invalid_argument(
                "ccoll: an all-to-all takes at most 2147483647 elements per rank, and no negative counts");
        p.counts.push_back(static_cast<int>(each));
        p.displacements.push_back(static_cast<int>(at));
        at += each;
    }
    return p;
}

test_function begin_alltoall(const void* in, parts in_parts, void* out, parts out_parts, number type,
                             const precision& wanted, MPI_Comm comm)
{
    if (wanted && is_float(type))
        return begin_bounded({.which = collective_id::alltoall,
                              .send = in,
                              .recv = out,
                              .send_counts = dynamic::counts(in_parts.counts.data()),
                              .send_displacements = dynamic::counts(in_parts.displacements.data()),
                              .recv_counts = dynamic::counts(out_parts.counts.data()),
                              .recv_displacements = dynamic::counts(out_parts.displacements.data())},
                             type, wanted, comm);
    auto send = std::make_unique<parts>(std::move(in_parts)),
         recv = std::make_unique<parts>(std::move(out_parts));
    MPI_Request call = MPI_REQUEST_NULL;
    expect(MPI_Ialltoallv(in, send->counts.data(), send->displacements.data(), mpi_bytes(type), out,
                          recv->counts.data(), recv->displacements.data(), mpi_bytes(type), comm, &call));
    return test_of_mpi(call, nullptr, std::move(send), std::move(recv));
}

test_function begin_barrier(MPI_Comm comm)
{
    MPI_Request call = MPI_REQUEST_NULL;
    expect(MPI_Ibarrier(comm, &call));
    return test_of_mpi(call, nullptr);
}
test_function begin_send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm comm)
{
    MPI_Request call = MPI_REQUEST_NULL;
    expect(MPI_Isend(data, bytes_in_message(bytes), MPI_BYTE, to, tag, comm, &call));
    return test_of_mpi(call, nullptr);
}
test_function begin_recv(void* data, std::size_t bytes, std::optional<int> from, int tag, MPI_Comm comm,
                         std::shared_ptr<int> found)
{
    MPI_Request call = MPI_REQUEST_NULL;
    expect(
        MPI_Irecv(data, bytes_in_message(bytes), MPI_BYTE, from.value_or(MPI_ANY_SOURCE), tag, comm, &call));
    return test_of_mpi(call, std::move(found));
}

// ---- the averages of a hook ----

namespace {

template <class T>
class memory_of final : public averages_in_turn::memory {
public:
    explicit memory_of(std::size_t n) : n_(n), feedback_(n) {}

    /// Without the sign, the bits of floats are in the order of the numbers, and those of infinities and NaN
    /// come last. Compilers can do this for several values at a time.
    double largest(const void* gradient) const override
    {
        using word = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
        constexpr int exponent = sizeof(T) == 8                                         ? 11
                                 : sizeof(T) == 4 || std::is_same_v<T, ccoll::bfloat16> ? 8
                                                                                        : 5;
        constexpr auto magnitude = static_cast<word>(std::numeric_limits<word>::max() >> 1);
        constexpr auto infinity =
            static_cast<word>(magnitude >> (8 * sizeof(T) - 1 - exponent) << (8 * sizeof(T) - 1 - exponent));
        word largest = 0;
        for (const T value : std::span<const T>(static_cast<const T*>(gradient), n_)) {
            const auto size = static_cast<word>(std::bit_cast<word>(value) & magnitude);
            const word each = size < infinity ? size : word{0};
            largest = largest < each ? each : largest;
        }
        return static_cast<double>(ccoll::detail::to_number(std::bit_cast<T>(largest)));
    }
    test_function begin(void* gradient, double bound, MPI_Comm comm) override
    {
        return test_of(feedback_.iaverage(std::span<T>(static_cast<T*>(gradient), n_), bound, comm));
    }

private:
    std::size_t n_;
    ccoll::error_feedback<T> feedback_;
};

// In place of a largest magnitude, which is finite.
constexpr double refused = std::numeric_limits<double>::infinity();

}  // namespace

std::unique_ptr<averages_in_turn::memory> averages_in_turn::memory::make(number type, std::size_t n)
{
    return with_float(type, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<memory> {
        return std::make_unique<memory_of<T>>(n);
    });
}

/// The maximum of one average may be known late on one rank and early on another, and all must begin their
/// averages in the same order. So maxima have a communicator of their own, and an average waits until those
/// before it have begun.
test_function averages_in_turn::in_turn(std::optional<double> largest,
                                        std::function<test_function(double)> begin)
{
    auto known = std::make_unique<double>(largest.value_or(0));
    test_function maximum, average;
    if (largest) {
        MPI_Request call = MPI_REQUEST_NULL;
        double* const number = known.get();
        expect(MPI_Iallreduce(MPI_IN_PLACE, number, 1, MPI_DOUBLE, MPI_MAX, maxima_, &call));
        maximum = test_of_mpi(call, nullptr);
    }
    return [this, mine = given_++, known = std::shared_ptr<double>(std::move(known)), maximum, average,
            begin](ccoll::report& facts) mutable {
        if (maximum) {
            if (!maximum(facts)) return false;
            maximum = nullptr;
        }
        if (!average) {
            if (begun_ != mine) return false;
            ++begun_;
            average = begin(*known);
        }
        return average(facts);
    };
}

test_function averages_in_turn::begin(vector_of gradient, const precision& wanted, memory* of)
{
    if (of == nullptr || !wanted)
        return in_turn(std::nullopt, [=, this](double) {
            return begin_allreduce(gradient, operation::average, wanted, sums_);
        });
    if (const double* bound = std::get_if<double>(&*wanted))
        return in_turn(std::nullopt,
                       [=, this, bound = *bound](double) { return of->begin(gradient.data, bound, sums_); });
    return in_turn(of->largest(gradient.data), [=, this,
                                                count = std::get<bits>(*wanted).count](double largest) {
        if (largest == refused)
            throw std::runtime_error("ccoll: another rank could not take part in this average, and says why");
        // What FixedBits takes. Zeros are exact with any bound.
        const double bound = largest > 0 ? std::max(std::ldexp(largest, -count), 1e-300) : 1e-30;
        return of->begin(gradient.data, bound, sums_);
    });
}

test_function averages_in_turn::refuse(const precision& wanted, bool with_feedback)
{
    if (asks(wanted, with_feedback))
        return in_turn(refused, [](double) -> test_function { return [](ccoll::report&) { return true; }; });
    return in_turn(std::nullopt, [this](double) {
        // No average has this plan, so all other ranks are told that plans differ.
        static std::uint8_t nothing = 0;
        return test_of(
            ccoll::iallreduce<Algo::Ring, Check::Collective, Op::BitXor>(MPI_IN_PLACE, &nothing, 1, sums_));
    });
}

}  // namespace ccoll_torch
