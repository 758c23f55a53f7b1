// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calls.cpp - see calls.hpp: from values at run time to plans.
#include "calls.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <ccoll/dynamic.hpp>
#include <ccoll/p2p.hpp>

#include "gpu.hpp"
#include "plans.hpp"
#include "test_of.hpp"

namespace ccoll_torch {

using ccoll::collective_id;
namespace dynamic = ccoll::dynamic;

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
    using id = dynamic::element_id;
    constexpr id ids[] = {id::f32, id::f64, id::f16, id::bf16, id::i8, id::u8, id::i16, id::i32, id::i64};
    return ids[static_cast<int>(type)];
}
dynamic::operation_id id_of(operation what)
{
    using id = dynamic::operation_id;
    constexpr id ids[] = {id::Sum,  id::Average, id::Min,   id::Max,
                          id::Prod, id::BitAnd,  id::BitOr, id::BitXor};
    return ids[static_cast<int>(what)];
}
/// Elements of the same width, for calls that only move them: integers, and on a GPU what is compiled for it.
dynamic::element_id word_of(number type, const place& where)
{
    using id = dynamic::element_id;
    if (where.gpu >= 0) {
        switch (bytes_of(type)) {
        case 1: return id::u8;
        case 2: return id::bf16;
        case 4: return id::f32;
        default: return id::f64;
        }
    }
    switch (bytes_of(type)) {
    case 1: return id::u8;
    case 2: return id::i16;
    case 4: return id::i32;
    default: return id::i64;
    }
}

/// Begins a call in the place where its buffers are.
template <class Menu>
test_function begin(dynamic::call c, const place& where, const communicator& comm)
{
    if (where.gpu < 0) return test_of(dynamic::begin<Menu>(c, comm));
    c.memory = dynamic::memory_id::cuda;
    c.stream = where.stream;
    return gpu::there(where.gpu, [&] { return test_of(dynamic::begin<Menu>(c, comm)); });
}

/// A call on integers; on a GPU, on bytes.
test_function begin_on_integers(const dynamic::call& c, const place& where, const communicator& comm)
{
    if constexpr (gpu::is_compiled)
        if (where.gpu >= 0) return begin<byte_plans>(c, where, comm);
    return begin<integer_plans>(c, where, comm);
}
/// @param c  a call on floats
test_function begin_bounded(dynamic::call c, const vector_of& v, const precision& wanted,
                            const communicator& comm)
{
    c.type = id_of(v.type);
    c.how = plan_of(*wanted);
    return begin<bounded_plans>(c, v.where, comm);
}
test_function begin_moving(dynamic::call c, const vector_of& v, const communicator& comm)
{
    c.type = word_of(v.type, v.where);
    if (v.where.gpu >= 0 && bytes_of(v.type) > 1) return begin<float_plans>(c, v.where, comm);
    return begin_on_integers(c, v.where, comm);
}

bool can_be_lossy(number type, operation what) { return is_float(type) && what <= operation::max; }

// From here on the links are what takes time, and a ring uses them best.
constexpr std::size_t long_bytes = 256 * 1024;

/// @param for_long  the algorithm of exact reductions of long vectors of floats
test_function begin_reduction(dynamic::call c, const vector_of& v, operation what, const precision& wanted,
                              dynamic::algo_id for_long, const communicator& comm)
{
    const number type = v.type;
    c.op = id_of(what);
    if (wanted && can_be_lossy(type, what)) return begin_bounded(c, v, wanted, comm);
    c.type = id_of(type);
    if (!is_float(type)) {
        if (what == operation::average)
            throw std::invalid_argument(std::string("ccoll: an average of ") + name_of(type) +
                                        " is not defined; use SUM, and divide");
        return begin_on_integers(c, v.where, comm);
    }
    if (what > operation::product)
        throw std::invalid_argument("ccoll: bits of floats cannot be combined; use an integer type");
    if (what <= operation::max && c.n * bytes_of(type) >= long_bytes) c.how.algo = for_long;
    return begin<float_plans>(c, v.where, comm);
}

}  // namespace

bool moves_on_gpu() { return gpu::is_compiled; }
bool works_on_gpu(number type) { return gpu::is_compiled && (is_float(type) || type == number::u8); }

void check(const precision& wanted)
{
    if (!wanted) return;
    if (const double* bound = std::get_if<double>(&*wanted)) {
        if (*bound > 0 && *bound < 1e300) return;
        throw std::invalid_argument(
            "ccoll: a bound is a number above 0; None is exact, and Bits(8) follows the largest magnitude");
    }
    const dynamic::call with_bits{.how = plan_of(*wanted)};
    if (!dynamic::why_not<communicator, bounded_plans>(with_bits).empty())
        throw std::invalid_argument("ccoll: Bits takes 2 to 8, 10, 12 or 16");
}

test_function begin_allreduce(vector_of v, operation what, const precision& wanted, const communicator& comm)
{
    return begin_reduction({.which = collective_id::allreduce, .recv = v.data, .n = v.n, .in_place = true}, v,
                           what, wanted, dynamic::algo_id::Ring, comm);
}
test_function begin_reduce(vector_of v, operation what, const precision& wanted, int root,
                           const communicator& comm)
{
    return begin_reduction(
        {.which = collective_id::reduce, .recv = v.data, .n = v.n, .root = root, .in_place = true}, v, what,
        wanted, dynamic::algo_id::Binomial, comm);
}
test_function begin_reduce_scatter(const void* in, vector_of out, operation what, const precision& wanted,
                                   const communicator& comm)
{
    return begin_reduction({.which = collective_id::reduce_scatter, .send = in, .recv = out.data, .n = out.n},
                           out, what, wanted, dynamic::algo_id::Ring, comm);
}

test_function begin_allgather(const void* in, vector_of out, const precision& wanted,
                              const communicator& comm)
{
    const auto me = static_cast<std::size_t>(ccoll::as_transport(comm).rank());
    const void* const own = static_cast<const std::byte*>(out.data) + me * out.n * bytes_of(out.type);
    const dynamic::call c{.which = collective_id::allgather,
                          .send = in,
                          .recv = out.data,
                          .n = out.n,
                          .in_place = in == own && out.n > 0};
    return wanted && is_float(out.type) ? begin_bounded(c, out, wanted, comm) : begin_moving(c, out, comm);
}
test_function begin_bcast(vector_of v, const precision& wanted, int root, const communicator& comm)
{
    const dynamic::call c{.which = collective_id::bcast, .recv = v.data, .n = v.n, .root = root};
    return wanted && is_float(v.type) ? begin_bounded(c, v, wanted, comm) : begin_moving(c, v, comm);
}
test_function begin_gather(const void* in, vector_of out, int root, const communicator& comm)
{
    return begin_moving(
        {.which = collective_id::gather, .send = in, .recv = out.data, .n = out.n, .root = root}, out, comm);
}
test_function begin_scatter(const void* in, vector_of out, int root, const communicator& comm)
{
    return begin_moving(
        {.which = collective_id::scatter, .send = in, .recv = out.data, .n = out.n, .root = root}, out, comm);
}

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
test_function begin_alltoall(const void* in, const parts& in_parts, vector_of out, const parts& out_parts,
                             const precision& wanted, const communicator& comm)
{
    const dynamic::call c{.which = collective_id::alltoall,
                          .send = in,
                          .recv = out.data,
                          .send_counts = dynamic::counts(in_parts.counts.data()),
                          .send_displacements = dynamic::counts(in_parts.displacements.data()),
                          .recv_counts = dynamic::counts(out_parts.counts.data()),
                          .recv_displacements = dynamic::counts(out_parts.displacements.data())};
    return wanted && is_float(out.type) ? begin_bounded(c, out, wanted, comm) : begin_moving(c, out, comm);
}

namespace {

/// A collective call on one byte.
test_function begin_on_a_byte(dynamic::call c, const communicator& comm)
{
    const auto byte = std::make_shared<std::uint8_t>(0);
    c.recv = byte.get();
    c.n = 1;
    c.type = dynamic::element_id::u8;
    c.op = dynamic::operation_id::BitOr;
    c.in_place = true;
    return [byte, test = test_of(dynamic::begin<integer_plans>(c, comm))](ccoll::report&) {
        ccoll::report of_a_byte;
        return test(of_a_byte);
    };
}

}  // namespace

test_function begin_barrier(const communicator& comm)
{
    return begin_on_a_byte({.which = collective_id::allreduce}, comm);
}
/// Nothing else here is a scan, so all other ranks are told that plans differ.
test_function begin_refusal(const communicator& comm)
{
    return begin_on_a_byte({.which = collective_id::scan}, comm);
}

// ---- messages between two ranks ----

struct open_receives {
    struct one {
        int from, tag;
    };
    std::vector<one> all;
};
std::shared_ptr<open_receives> no_receives() { return std::make_shared<open_receives>(); }

namespace {

/// Calls `run` with memory as words that are as wide as the elements, because both ends name a type.
template <class Run>
auto with_words(vector_of v, Run run)
{
    switch (bytes_of(v.type)) {
    case 1: return run(static_cast<std::uint8_t*>(v.data));
    case 2: return run(static_cast<std::uint16_t*>(v.data));
    case 4: return run(static_cast<std::uint32_t*>(v.data));
    default: return run(static_cast<std::uint64_t*>(v.data));
    }
}

/// A place in the list of open receives.
class listed {
public:
    listed(std::shared_ptr<open_receives> list, int from, int tag)
        : list_(std::move(list)), from_(from), tag_(tag)
    {
        list_->all.push_back({from, tag});
    }
    listed(const listed&) = delete;
    listed& operator=(const listed&) = delete;
    ~listed()
    {
        const auto it = std::find_if(list_->all.begin(), list_->all.end(), [&](const auto& each) {
            return each.from == from_ && each.tag == tag_;
        });
        if (it != list_->all.end()) list_->all.erase(it);
    }

private:
    std::shared_ptr<open_receives> list_;
    int from_, tag_;
};

test_function begin_recv_from(vector_of v, int from, int tag, const communicator& comm,
                              const std::shared_ptr<open_receives>& open)
{
    const auto place = std::make_shared<listed>(open, from, tag);
    test_function test = with_words(
        v, [&](auto* words) { return test_of(ccoll::irecv<Codec::None>(words, v.n, from, tag, comm)); });
    return [place, test](ccoll::report& facts) { return test(facts); };
}

}  // namespace

test_function begin_send(vector_of v, int to, int tag, const communicator& comm)
{
    return with_words(v, [&](auto* words) {
        return test_of(ccoll::isend<Codec::None>(std::as_const(words), v.n, to, tag, comm));
    });
}

/// From any rank: asks the transport who has sent something with this tag. A message of a rank from which a
/// receive is open is that one's.
test_function begin_recv(vector_of v, std::optional<int> from, int tag, const communicator& comm,
                         const std::shared_ptr<open_receives>& open, std::shared_ptr<int> found)
{
    if (from) {
        if (found != nullptr) *found = *from;
        return begin_recv_from(v, *from, tag, comm, open);
    }
    if (tag < 0 || tag > ccoll::max_p2p_tag)
        throw std::invalid_argument("ccoll: the tag of a message is 0 to " +
                                    std::to_string(ccoll::max_p2p_tag) + ", and is " + std::to_string(tag));
    return [v, tag, comm, open, found, link = ccoll::as_transport(comm),
            test = test_function()](ccoll::report& facts) mutable {
        if (!test) {
            link.poll();
            const int sender = link.probe(ccoll::detail::first_p2p_tag + tag);
            const bool is_of_another = std::any_of(open->all.begin(), open->all.end(), [&](const auto& each) {
                return each.from == sender && each.tag == tag;
            });
            if (sender == ccoll::nobody || is_of_another) return false;
            if (found != nullptr) *found = sender;
            test = begin_recv_from(v, sender, tag, comm, open);
        }
        return test(facts);
    };
}

}  // namespace ccoll_torch
