// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// backend.cpp - see backend.hpp.
#include "backend.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ccoll_torch {

namespace {

using c10d::OpType;
using tensors = backend::tensors;

at::Tensor& only(const char* call, tensors& all)
{
    TORCH_CHECK(all.size() == 1, "ccoll: ", call, " takes one tensor per call, and found ", all.size());
    return all[0];
}
tensors& only(const char* call, std::vector<tensors>& all)
{
    TORCH_CHECK(all.size() == 1, "ccoll: ", call, " takes one list of tensors per call, and found ",
                all.size());
    return all[0];
}
at::Tensor flat(const tensors& all)
{
    const at::NoGradGuard no_grad;
    tensors rows;
    for (const at::Tensor& each : all) rows.push_back(each.reshape(-1));
    return at::cat(rows);
}
/// What flat() has put together, after a call.
void spread(const operand& from, const tensors& all)
{
    from.after_work([&] {
        std::int64_t at = 0;
        for (const at::Tensor& each : all) {
            each.copy_(from.dense().narrow(0, at, each.numel()).view_as(each));
            at += each.numel();
        }
    });
}
/// Memory for all of `like`, which have the same type.
at::Tensor room_for(const tensors& like)
{
    std::int64_t n = 0;
    for (const at::Tensor& each : like) n += each.numel();
    return at::empty({n},
                     like.at(0).options().requires_grad(false).memory_format(at::MemoryFormat::Contiguous));
}
void same_type(const char* call, const at::Tensor& a, const at::Tensor& b)
{
    TORCH_CHECK(a.scalar_type() == b.scalar_type(), "ccoll: ", call, " takes tensors of one type, and found ",
                a.scalar_type(), " and ", b.scalar_type());
}
void parts_fit(const char* call, std::int64_t whole, std::int64_t part, int size)
{
    TORCH_CHECK(whole == part * size, "ccoll: ", call, " on ", size, " ranks: the longer tensor must have ",
                part * size, " elements, and has ", whole);
}

operation operation_of(const char* call, const c10d::ReduceOp& op, const at::Tensor& tensor)
{
    const bool is_bool = tensor.scalar_type() == at::kBool;
    const auto kind = static_cast<c10d::ReduceOp::RedOpType>(op);
    TORCH_CHECK(!tensor.is_complex() || kind == c10d::ReduceOp::SUM || kind == c10d::ReduceOp::AVG,
                "ccoll: ", call, " of complex numbers can be SUM or AVG");
    switch (kind) {
    case c10d::ReduceOp::SUM: return is_bool ? operation::max : operation::sum;
    case c10d::ReduceOp::AVG: return operation::average;
    case c10d::ReduceOp::PRODUCT: return is_bool ? operation::min : operation::product;
    case c10d::ReduceOp::MIN: return operation::min;
    case c10d::ReduceOp::MAX: return operation::max;
    case c10d::ReduceOp::BAND: return operation::bit_and;
    case c10d::ReduceOp::BOR: return operation::bit_or;
    case c10d::ReduceOp::BXOR: return operation::bit_xor;
    case c10d::ReduceOp::PREMUL_SUM: return operation::sum;  // multiplied() has done the rest
    default: break;
    }
    TORCH_CHECK(
        false, "ccoll: ", call,
        " does not know this operation; it has SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR and PREMUL_SUM");
}
/// The input of PREMUL_SUM, a copy; otherwise the tensor itself.
at::Tensor multiplied(const c10d::ReduceOp& op, const at::Tensor& tensor)
{
    if (static_cast<c10d::ReduceOp::RedOpType>(op) != c10d::ReduceOp::PREMUL_SUM) return tensor;
    const auto* factor = dynamic_cast<c10d::PreMulSumSupplement*>(op.supplement_.get());
    TORCH_CHECK(factor != nullptr, "ccoll: PREMUL_SUM needs its factor");
    const at::NoGradGuard no_grad;
    return factor->tensor_factor.defined() ? tensor * factor->tensor_factor : tensor * factor->double_factor;
}

}  // namespace

backend::backend(std::shared_ptr<group> ranks, const backend_bounds& bounds)
    : Backend(ranks->rank(), ranks->size()), ranks_(std::move(ranks)), bounds_(bounds),
      notices_(bounds.warn && ranks_->rank() == 0),
      options_(c10::make_intrusive<Options>("ccoll", std::chrono::milliseconds(static_cast<std::int64_t>(
                                                         std::min(ranks_->limit(), 1e9) * 1000))))
{
    init();
}

work backend::begin(OpType type, std::chrono::milliseconds time, tensors results, begin_function begin,
                    std::function<void()> after)
{
    ++calls_;
    return submit(ranks_, {type, true, time}, std::move(results), std::move(begin), std::move(after));
}

precision backend::bound_of(const char* call, const precision& wanted, at::ScalarType type,
                            std::optional<std::size_t> bytes, operation what)
{
    if (!bounds_.any()) return {};
    const auto found = number_of(type);
    if (!wanted) {
        notices_.say(call, std::string("its Options name none for ") + call);
    } else if (!found || !is_float(*found)) {
        notices_.say(call, "bounds are for floats", std::string(", and found ") + at::toString(type));
    } else if (what > operation::max) {
        notices_.say(call, "bounds are for SUM, AVG, MIN, MAX and PREMUL_SUM");
    } else if (bytes && *bytes < bounds_.least_bytes) {
        notices_.say(call, "tensors below least_bytes are",
                     ", and found " + std::to_string(*bytes) + " of " + std::to_string(bounds_.least_bytes) +
                         " bytes");
    } else {
        return wanted;
    }
    return {};
}

work backend::broadcast(tensors& all, const c10d::BroadcastOptions& options)
{
    const told_if_refused others(ranks_);
    const operand x("broadcast", only("broadcast", all));
    return begin(
        OpType::BROADCAST, options.timeout, all,
        [x, wanted = bound_of("broadcast", bounds_.broadcast, x.tensor().scalar_type(), x.bytes()),
         root = static_cast<int>(options.rootRank),
         ranks = ranks_] { return begin_bcast(x.moved(), wanted, root, ranks->handle()); },
        [x] { x.copy_back(); });
}

work backend::allreduce(tensors& all, const c10d::AllreduceOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "all_reduce";
    at::Tensor& tensor = only(call, all);
    const operation what = operation_of(call, options.reduceOp, tensor);
    const at::Tensor input = multiplied(options.reduceOp, tensor);
    const operand x(call, input, use::computes);
    const vector_of v = x.vector(call);
    return begin(
        OpType::ALLREDUCE, options.timeout, all,
        [x, v, what, wanted = bound_of(call, bounds_.all_reduce, x.tensor().scalar_type(), x.bytes(), what),
         ranks = ranks_] { return begin_allreduce(v, what, wanted, ranks->handle()); },
        [x, tensor] { x.put_into(tensor); });
}

work backend::allreduce_coalesced(tensors& all, const c10d::AllreduceCoalescedOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "all_reduce_coalesced";
    TORCH_CHECK(!all.empty(), "ccoll: ", call, " needs a tensor");
    for (const at::Tensor& each : all) same_type(call, each, all[0]);
    for (const at::Tensor& each : all) check_place(call, each);
    const operation what = operation_of(call, options.reduceOp, all[0]);
    const operand x(call, multiplied(options.reduceOp, flat(all)), use::computes);
    const vector_of v = x.vector(call);
    return begin(
        OpType::ALLREDUCE_COALESCED, options.timeout, all,
        [x, v, what, wanted = bound_of(call, bounds_.all_reduce, x.tensor().scalar_type(), x.bytes(), what),
         ranks = ranks_] { return begin_allreduce(v, what, wanted, ranks->handle()); },
        [x, all] { spread(x, all); });
}

work backend::reduce(tensors& all, const c10d::ReduceOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "reduce";
    at::Tensor& tensor = only(call, all);
    const operation what = operation_of(call, options.reduceOp, tensor);
    const at::Tensor input = multiplied(options.reduceOp, tensor);
    const operand x(call, input, use::computes);
    const vector_of v = x.vector(call);
    const int root = static_cast<int>(options.rootRank);
    return begin(
        OpType::REDUCE, options.timeout, all,
        [x, v, what, wanted = bound_of(call, bounds_.all_reduce, x.tensor().scalar_type(), x.bytes(), what),
         root, ranks = ranks_] { return begin_reduce(v, what, wanted, root, ranks->handle()); },
        [x, tensor, at_root = root == getRank()] {
            if (at_root) x.put_into(tensor);
        });
}

// ---- gathering and dealing out ----

work all_gather(const std::shared_ptr<group>& ranks, at::Tensor out, at::Tensor in, const precision& wanted,
                std::chrono::milliseconds time)
{
    const told_if_refused others(ranks);
    constexpr const char* call = "all_gather";
    same_type(call, out, in);
    parts_fit(call, out.numel(), in.numel(), ranks->size());
    const operand from(call, in), to(call, out);
    same_device(call, from, to);
    return submit(
        ranks, {OpType::_ALLGATHER_BASE, true, time}, {out},
        [from, to, part = from.moved(), wanted, ranks] {
            return begin_allgather(part.data, {to.data(), part.n, part.type, part.where}, wanted,
                                   ranks->handle());
        },
        [to] { to.copy_back(); });
}

work reduce_scatter(const std::shared_ptr<group>& ranks, at::Tensor out, at::Tensor in,
                    const c10d::ReduceOp& op, const precision& wanted, std::chrono::milliseconds time)
{
    const told_if_refused others(ranks);
    constexpr const char* call = "reduce_scatter";
    same_type(call, out, in);
    parts_fit(call, in.numel(), out.numel(), ranks->size());
    const operation what = operation_of(call, op, in);
    const operand from(call, multiplied(op, in), use::computes), to(call, out, use::computes);
    same_device(call, from, to);
    const vector_of v = to.vector(call);
    return submit(
        ranks, {OpType::_REDUCE_SCATTER_BASE, true, time}, {out},
        [from, to, v, what, wanted, ranks] {
            return begin_reduce_scatter(from.data(), v, what, wanted, ranks->handle());
        },
        [to] { to.copy_back(); });
}

work backend::_allgather_base(at::Tensor& out, at::Tensor& in, const c10d::AllgatherOptions& options)
{
    ++calls_;
    return all_gather(ranks_, out, in,
                      bound_of("all_gather", bounds_.all_gather, in.scalar_type(), in.nbytes()),
                      options.timeout);
}

work backend::allgather(std::vector<tensors>& outs, tensors& ins, const c10d::AllgatherOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "all_gather";
    tensors& out = only(call, outs);
    at::Tensor& in = only(call, ins);
    TORCH_CHECK(static_cast<int>(out.size()) == getSize(), "ccoll: ", call,
                " needs a result tensor for each of ", getSize(), " ranks, and found ", out.size());
    for (const at::Tensor& each : out) {
        same_type(call, each, in);
        TORCH_CHECK(each.numel() == in.numel(), "ccoll: ", call,
                    " takes parts of the same length on all ranks, and found ", in.numel(), " and ",
                    each.numel(), " elements");
    }
    const operand from(call, in), to(call, room_for(out));
    same_device(call, from, to);
    return begin(
        OpType::ALLGATHER, options.timeout, out,
        [from, to, part = from.moved(),
         wanted = bound_of(call, bounds_.all_gather, in.scalar_type(), from.bytes()), ranks = ranks_] {
            return begin_allgather(part.data, {to.data(), part.n, part.type, part.where}, wanted,
                                   ranks->handle());
        },
        [to, out] { spread(to, out); });
}

work backend::gather(std::vector<tensors>& outs, tensors& ins, const c10d::GatherOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "gather";
    const int root = static_cast<int>(options.rootRank);
    const bool at_root = root == getRank();
    const operand from(call, only(call, ins));
    bound_of(call, {}, from.tensor().scalar_type(), {});
    const tensors out = at_root ? only(call, outs) : tensors{};
    TORCH_CHECK(!at_root || static_cast<int>(out.size()) == getSize(), "ccoll: ", call,
                " needs a result tensor for each of ", getSize(), " ranks at the root, and found ",
                out.size());
    for (const at::Tensor& each : out) {
        same_type(call, each, from.tensor());
        TORCH_CHECK(each.numel() == from.tensor().numel(), "ccoll: ", call,
                    " takes parts of the same length on all ranks");
    }
    const operand to(call, at_root ? room_for(out) : from.tensor());
    same_device(call, from, to);
    return begin(
        OpType::GATHER, options.timeout, out,
        [from, to, part = from.moved(), root, at_root, ranks = ranks_] {
            return begin_gather(part.data, {at_root ? to.data() : nullptr, part.n, part.type, part.where},
                                root, ranks->handle());
        },
        [to, out, at_root] {
            if (at_root) spread(to, out);
        });
}

work backend::scatter(tensors& outs, std::vector<tensors>& ins, const c10d::ScatterOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "scatter";
    const int root = static_cast<int>(options.rootRank);
    const bool at_root = root == getRank();
    const operand to(call, only(call, outs));
    bound_of(call, {}, to.tensor().scalar_type(), {});
    TORCH_CHECK(!at_root || static_cast<int>(only(call, ins).size()) == getSize(), "ccoll: ", call,
                " needs a tensor for each of ", getSize(), " ranks at the root");
    if (at_root)
        for (const at::Tensor& each : ins[0]) {
            same_type(call, each, to.tensor());
            TORCH_CHECK(each.numel() == to.tensor().numel(), "ccoll: ", call,
                        " takes parts of the same length on all ranks");
        }
    const operand from(call, at_root ? flat(ins[0]) : to.tensor());
    same_device(call, from, to);
    return begin(
        OpType::SCATTER, options.timeout, outs,
        [from, to, part = to.moved(), root, at_root, ranks = ranks_] {
            return begin_scatter(at_root ? from.data() : nullptr, part, root, ranks->handle());
        },
        [to] { to.copy_back(); });
}

work backend::_reduce_scatter_base(at::Tensor& out, at::Tensor& in, const c10d::ReduceScatterOptions& options)
{
    ++calls_;
    return ccoll_torch::reduce_scatter(
        ranks_, out, in, options.reduceOp,
        bound_of("reduce_scatter", bounds_.reduce_scatter, out.scalar_type(), out.nbytes(),
                 operation_of("reduce_scatter", options.reduceOp, out)),
        options.timeout);
}

work backend::reduce_scatter(tensors& outs, std::vector<tensors>& ins,
                             const c10d::ReduceScatterOptions& options)
{
    constexpr const char* call = "reduce_scatter";
    ++calls_;
    at::Tensor out, in;
    {
        const told_if_refused others(ranks_);
        out = only(call, outs);
        for (const at::Tensor& each : only(call, ins)) {
            same_type(call, each, out);
            TORCH_CHECK(each.numel() == out.numel(), "ccoll: ", call,
                        " takes parts of the same length, and found ", each.numel(), " and ", out.numel(),
                        " elements");
        }
        in = flat(ins[0]);
    }
    return ccoll_torch::reduce_scatter(
        ranks_, out, in, options.reduceOp,
        bound_of("reduce_scatter", bounds_.reduce_scatter, out.scalar_type(), out.nbytes(),
                 operation_of("reduce_scatter", options.reduceOp, out)),
        options.timeout);
}

namespace {

/// As many calls as there are inputs, and one Work for them: ended when the last one has, because calls of
/// one list are waited for in their order. If one of them cannot be made on this rank, neither are those
/// behind it, and the other ranks are told of each.
/// @param make  (number of the call) -> work; it tells the others when it throws
template <class Make>
work coalesced(const std::shared_ptr<group>& ranks, OpType type, const tensors& outs, const tensors& ins,
               Make make)
{
    std::vector<work> calls;
    try {
        if (outs.size() != ins.size() || ins.empty()) {
            refuse(ranks);
            TORCH_CHECK(false, "ccoll: a coalesced call needs a tensor, and as many results as inputs");
        }
        for (std::size_t i = 0; i < ins.size(); ++i) calls.push_back(make(i));
    } catch (...) {
        for (std::size_t i = calls.size() + 1; i < ins.size(); ++i) refuse(ranks);
        throw;
    }
    return submit(ranks, {type}, outs, [calls = std::move(calls)]() -> test_function {
        return [calls](ccoll::report&) {
            for (const work& each : calls)
                if (!each->isCompleted()) return false;
            for (const work& each : calls)
                if (!each->isSuccess()) std::rethrow_exception(each->exception());
            return true;
        };
    });
}

}  // namespace

work backend::allgather_into_tensor_coalesced(tensors& outs, tensors& ins,
                                              const c10d::AllgatherOptions& options)
{
    return coalesced(ranks_, OpType::ALLGATHER_INTO_TENSOR_COALESCED, outs, ins,
                     [&](std::size_t i) { return _allgather_base(outs[i], ins[i], options); });
}

work backend::reduce_scatter_tensor_coalesced(tensors& outs, tensors& ins,
                                              const c10d::ReduceScatterOptions& options)
{
    return coalesced(ranks_, OpType::REDUCE_SCATTER_TENSOR_COALESCED, outs, ins,
                     [&](std::size_t i) { return _reduce_scatter_base(outs[i], ins[i], options); });
}

// ---- all to all ----

namespace {

/// Elements for each rank, from rows for each rank; equal rows if none are named.
std::vector<std::int64_t> splits(const operand& x, const std::vector<int64_t>& rows, int size)
{
    const at::Tensor& tensor = x.tensor();
    const std::int64_t n = static_cast<std::int64_t>(x.n()), first = tensor.dim() == 0 ? 1 : tensor.size(0);
    if (rows.empty()) {
        TORCH_CHECK(first % size == 0, "ccoll: all_to_all without split sizes: the first dimension has ",
                    first, " rows, which must be a multiple of the ", size, " ranks");
        return std::vector<std::int64_t>(static_cast<std::size_t>(size), n / size);
    }
    TORCH_CHECK(static_cast<int>(rows.size()) == size &&
                    std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) == first,
                "ccoll: all_to_all needs a split size for each of the ", size, " ranks, which add up to the ",
                first, " rows");
    std::vector<std::int64_t> counts;
    for (const std::int64_t each : rows) counts.push_back(first == 0 ? 0 : each * (n / first));
    return counts;
}

}  // namespace

work backend::alltoall_base(at::Tensor& out, at::Tensor& in, std::vector<int64_t>& out_rows,
                            std::vector<int64_t>& in_rows, const c10d::AllToAllOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "all_to_all";
    same_type(call, out, in);
    const operand from(call, in), to(call, out);
    same_device(call, from, to);
    const auto send = parts::of(splits(from, in_rows, getSize())),
               recv = parts::of(splits(to, out_rows, getSize()));
    // Ranks may have different counts, so a length cannot decide.
    return begin(
        OpType::ALLTOALL_BASE, options.timeout, {out},
        [from, to, v = to.vector(call), send, recv,
         wanted = bound_of(call, bounds_.all_to_all, from.tensor().scalar_type(), {}),
         ranks = ranks_] { return begin_alltoall(from.data(), send, v, recv, wanted, ranks->handle()); },
        [to] { to.copy_back(); });
}

work backend::alltoall(tensors& outs, tensors& ins, const c10d::AllToAllOptions& options)
{
    const told_if_refused others(ranks_);
    constexpr const char* call = "all_to_all";
    TORCH_CHECK(static_cast<int>(outs.size()) == getSize() && static_cast<int>(ins.size()) == getSize(),
                "ccoll: ", call, " needs a tensor for each of ", getSize(), " ranks, and found ", ins.size(),
                " to send and ", outs.size(), " to receive");
    std::vector<std::int64_t> send, recv;
    for (const at::Tensor& each : ins) same_type(call, each, outs[0]);
    for (const at::Tensor& each : outs) same_type(call, each, outs[0]);
    const std::int64_t width = outs[0].is_complex() ? 2 : 1;
    for (const at::Tensor& each : ins) send.push_back(each.numel() * width);
    for (const at::Tensor& each : outs) recv.push_back(each.numel() * width);
    const operand from(call, flat(ins)), to(call, room_for(outs));
    same_device(call, from, to);
    return begin(
        OpType::ALLTOALL, options.timeout, outs,
        [from, to, v = to.vector(call), send = parts::of(send), recv = parts::of(recv),
         wanted = bound_of(call, bounds_.all_to_all, from.tensor().scalar_type(), {}),
         ranks = ranks_] { return begin_alltoall(from.data(), send, v, recv, wanted, ranks->handle()); },
        [to, outs] { spread(to, outs); });
}

// ---- messages ----

work backend::barrier(const c10d::BarrierOptions& options)
{
    return begin(OpType::BARRIER, options.timeout, {},
                 [ranks = ranks_] { return begin_barrier(ranks->handle()); });
}

work backend::send(tensors& all, int to, int tag)
{
    const operand x("send", only("send", all), use::on_host);
    bound_of("send", {}, x.tensor().scalar_type(), {});
    return submit(ranks_, {OpType::SEND, false}, all,
                  [x, to, tag, ranks = ranks_] { return begin_send(x.moved(), to, tag, ranks->handle()); });
}
work backend::recv(tensors& all, int from, int tag)
{
    const operand x("recv", only("recv", all), use::on_host);
    return submit(
        ranks_, {OpType::RECV, false}, all,
        [x, from, tag, ranks = ranks_] {
            return begin_recv(x.moved(), from, tag, ranks->handle(), ranks->receives(), nullptr);
        },
        [x] { x.copy_back(); });
}
work backend::recvAnysource(tensors& all, int tag)
{
    const operand x("recv", only("recv", all), use::on_host);
    auto sender = std::make_shared<int>(-1);
    return submit(
        ranks_, {OpType::RECVANYSOURCE, false, std::chrono::milliseconds(0), sender}, all,
        [x, tag, ranks = ranks_, sender] {
            return begin_recv(x.moved(), std::nullopt, tag, ranks->handle(), ranks->receives(), sender);
        },
        [x] { x.copy_back(); });
}

c10d::ErrorType backend::getError()
{
    switch (ranks_->last_trouble()) {
    case group::trouble::none: return c10d::ErrorType::SUCCESS;
    case group::trouble::timed_out: return c10d::ErrorType::TIMEOUT;
    case group::trouble::lost: return c10d::ErrorType::REMOTE_ERROR;
    default: return c10d::ErrorType::COMM_ERROR;
    }
}

}  // namespace ccoll_torch
