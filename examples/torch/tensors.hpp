// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensors.hpp - from tensors of torch to vectors, and a Work that ends when a call of the progress thread
// does.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
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

/// What torch's calls hand over, as one vector. If elements have gaps the vector is a copy, and copy_back()
/// stores it.
class operand {
public:
    /// @throw c10::Error  with a sentence, if the tensor is sparse or on a device
    explicit operand(const char* call, const at::Tensor& tensor) : tensor_(tensor)
    {
        TORCH_CHECK(
            tensor.device().is_cpu() && tensor.layout() == at::kStrided, "ccoll: ", call,
            " takes dense tensors on the CPU, and found ",
            tensor.layout() == at::kStrided ? "one on " + tensor.device().str() : std::string("a sparse one"),
            "; move it with .cpu()", tensor.layout() == at::kStrided ? "" : " and to_dense()");
        dense_ = tensor.is_contiguous() ? tensor : tensor.contiguous();
    }
    void* data() const { return dense_.data_ptr(); }
    /// Elements, and the parts of complex ones.
    std::size_t n() const { return static_cast<std::size_t>(dense_.numel()) * (dense_.is_complex() ? 2 : 1); }
    std::size_t bytes() const { return dense_.nbytes(); }
    /// A type to compute with.
    number type(const char* call) const
    {
        const auto found = number_of(dense_.scalar_type());
        TORCH_CHECK(found, "ccoll: ", call, " cannot compute with elements of ", dense_.scalar_type(),
                    "; it takes float32, float64, float16, bfloat16, complex numbers, bool and integers of 8 "
                    "to 64 bits");
        return *found;
    }
    /// A type to move: as above, or bytes.
    vector_of moved() const
    {
        if (const auto found = number_of(dense_.scalar_type())) return {data(), n(), *found};
        return {data(), bytes(), number::u8};
    }
    void copy_back() const
    {
        if (dense_.is_same(tensor_)) return;
        const at::NoGradGuard no_grad;
        tensor_.copy_(dense_);
    }
    const at::Tensor& tensor() const { return tensor_; }

private:
    at::Tensor tensor_, dense_;
};

/// A call under way, for torch. Its future has the list of the result tensors.
class call_work final : public c10d::Work {
public:
    call_work(int rank, c10d::OpType type, std::vector<at::Tensor> results)
        : Work(rank, type), results_(std::move(results)),
          future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get())))
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
