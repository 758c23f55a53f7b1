// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensors.hpp - from tensors of torch to vectors, and a Work that ends when a call of the progress thread
// does.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#if defined(CCOLL_TORCH_CUDA)
#include <c10/cuda/CUDAStream.h>
#endif
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "group.hpp"

namespace ccoll_torch {

/// @return nothing if ccoll cannot compute with this type. Boolean values count as bytes, and complex ones as
///     their parts
inline std::optional<number> number_of(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
    case at::kComplexFloat: return number::f32;
    case at::kDouble:
    case at::kComplexDouble: return number::f64;
    case at::kHalf: return number::f16;
    case at::kBFloat16: return number::bf16;
    case at::kChar: return number::i8;
    case at::kByte:
    case at::kBool: return number::u8;
    case at::kShort: return number::i16;
    case at::kInt: return number::i32;
    case at::kLong: return number::i64;
    default: return std::nullopt;
    }
}

/// What a call does with a vector: not all of it can be done in the memory of a GPU.
enum class use : std::uint8_t { moves, computes, on_host };

/// @throw c10::Error  with a sentence, if the tensor is sparse, or neither on the CPU nor on a GPU
inline void check_place(const char* call, const at::Tensor& tensor)
{
    const bool dense = tensor.layout() == at::kStrided;
    TORCH_CHECK(dense && (tensor.is_cpu() || tensor.is_cuda()), "ccoll: ", call,
                " takes dense tensors on the CPU or on a GPU of CUDA, and found ",
                dense ? "one on " + tensor.device().str() : std::string("a sparse one"),
                "; move it with .cpu()", dense ? "" : " and to_dense()");
}

/// What torch's calls hand over, as one vector. If elements have gaps, or if they are on a GPU and the call
/// must work in memory of the host, the vector is a copy, and copy_back() stores it.
class operand {
public:
    /// @throw c10::Error  as check_place
    operand(const char* call, const at::Tensor& tensor, use what = use::moves) : tensor_(tensor)
    {
        check_place(call, tensor);
        const at::NoGradGuard no_grad;
        dense_ = tensor.is_contiguous() ? tensor : tensor.contiguous();
        if (tensor.is_cpu()) return;
        stream_ = c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device());
        if (!stays(what)) dense_ = dense_.cpu();
    }
    void* data() const { return dense_.data_ptr(); }
    /// Elements, and the parts of complex ones.
    std::size_t n() const { return static_cast<std::size_t>(dense_.numel()) * (dense_.is_complex() ? 2 : 1); }
    std::size_t bytes() const { return dense_.nbytes(); }
    place where() const
    {
#if defined(CCOLL_TORCH_CUDA)
        if (dense_.is_cuda()) return {dense_.get_device(), c10::cuda::CUDAStream(*stream_).stream()};
#endif
        return {};
    }
    /// A type to compute with.
    number type(const char* call) const
    {
        const auto found = number_of(dense_.scalar_type());
        TORCH_CHECK(found, "ccoll: ", call, " cannot compute with elements of ", dense_.scalar_type(),
                    "; it takes float32, float64, float16, bfloat16, complex numbers, bool and integers of 8 "
                    "to 64 bits");
        return *found;
    }
    /// To compute with.
    vector_of vector(const char* call) const { return {data(), n(), type(call), where()}; }
    /// To move: elements of their type, or bytes.
    vector_of moved() const
    {
        if (const auto found = number_of(dense_.scalar_type())) return {data(), n(), *found, where()};
        return {data(), bytes(), number::u8, where()};
    }
    void copy_back() const { put_into(tensor_); }
    /// Also into another tensor of the same shape. On a GPU the copy has been made when this returns.
    void put_into(const at::Tensor& to) const
    {
        if (dense_.is_same(to)) return;
        after_work([&] { to.copy_(dense_); });
    }
    /// Calls `copy`, which copies something between tensors, in the order of the stream that was the current
    /// one when the call was made. It has happened when this returns.
    template <class Copy>
    void after_work(Copy copy) const
    {
        const at::NoGradGuard no_grad;
        if (!stream_) return copy();
        const c10::StreamGuard on_it(*stream_);
        copy();
        stream_->synchronize();
    }
    const at::Tensor& tensor() const { return tensor_; }
    const at::Tensor& dense() const { return dense_; }

private:
    bool stays(use what) const
    {
        if (what == use::on_host) return false;
        if (what == use::moves) return moves_on_gpu();
        const auto found = number_of(dense_.scalar_type());
        return found && works_on_gpu(*found);
    }

    at::Tensor tensor_, dense_;
    std::optional<c10::Stream> stream_;  ///< of a tensor on a GPU
};

/// Input and result of a call are in one place.
inline void same_device(const char* call, const operand& a, const operand& b)
{
    TORCH_CHECK(a.tensor().device() == b.tensor().device(), "ccoll: ", call,
                " takes tensors on one device, and found ", a.tensor().device(), " and ",
                b.tensor().device());
}

/// A call under way, for torch. Its future has the list of the result tensors.
class call_work final : public c10d::Work {
public:
    call_work(int rank, c10d::OpType type, std::vector<at::Tensor> results)
        : Work(rank, type), results_(std::move(results)),
          future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                           gpus_of(results_)))
    {}

    std::vector<at::Tensor> result() override { return results_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
    int sourceRank() const override { return sender == nullptr ? -1 : *sender; }

    /// On the progress thread.
    void end(const std::exception_ptr& failed)
    {
        finish(failed);
        if (failed != nullptr) future_->setError(failed);
        else future_->markCompleted(c10::IValue(results_));
    }

    std::shared_ptr<int> sender;  ///< of a message from any rank

private:
    /// Futures want to know where their tensors may be.
    static std::vector<c10::Device> gpus_of(const std::vector<at::Tensor>& all)
    {
        std::vector<c10::Device> found;
        for (const at::Tensor& each : all)
            if (each.is_cuda() && std::find(found.begin(), found.end(), each.device()) == found.end())
                found.push_back(each.device());
        return found;
    }

    std::vector<at::Tensor> results_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

using work = c10::intrusive_ptr<c10d::Work>;

/// How a call is made.
struct manner {
    c10d::OpType type;
    bool collective = true;             ///< or a message between two ranks
    std::chrono::milliseconds time{0};  ///< how long it may take; 0 or less: as its group says
    std::shared_ptr<int> sender{};      ///< of a message from any rank
};

/// Begins a call on the progress thread. `begin` and `after` keep what they need; `after` runs when the call
/// has ended well.
inline work submit(const std::shared_ptr<group>& ranks, const manner& how, std::vector<at::Tensor> results,
                   begin_function begin, std::function<void()> after = {})
{
    auto ours = c10::make_intrusive<call_work>(ranks->rank(), how.type, std::move(results));
    ours->sender = how.sender;
    auto start = [ranks, how, begin = std::move(begin)] {
        return group::begin(ranks, begin, c10d::opTypeToString(how.type), how.collective,
                            std::chrono::duration<double>(how.time).count());
    };
    auto then = [ranks, ours, after = std::move(after)](const ccoll::report& facts,
                                                        std::exception_ptr failed) {
        if (failed == nullptr) {
            ranks->add(facts);
            try {
                if (after) after();
            } catch (...) {
                failed = std::current_exception();
            }
        }
        ours->end(failed);
    };
    if (how.collective) runtime::thread().begin(std::move(start), std::move(then));
    else runtime::thread().begin_message(std::move(start), std::move(then));
    return ours;
}

/// For a rank that cannot make a collective call: the others are told, and do not wait.
inline void refuse(const std::shared_ptr<group>& ranks)
{
    submit(ranks, {c10d::OpType::UNKNOWN}, {}, [ranks] { return begin_refusal(ranks->handle()); });
}

/// Stands where a collective call is prepared. If that throws, because the tensors of this rank do not fit,
/// the other ranks are told.
class told_if_refused {
public:
    explicit told_if_refused(const std::shared_ptr<group>& ranks) : ranks_(ranks) {}
    told_if_refused(const told_if_refused&) = delete;
    told_if_refused& operator=(const told_if_refused&) = delete;
    ~told_if_refused()
    {
        if (std::uncaught_exceptions() == before_) return;
        try {
            refuse(ranks_);
        } catch (const std::exception&) {  // the program is about to end, and what was thrown before says
                                           // more
        }
    }

private:
    const std::shared_ptr<group>& ranks_;
    int before_ = std::uncaught_exceptions();
};

}  // namespace ccoll_torch
