// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// averages_gpu.cu - see averages.hpp: averages with error feedback of gradients on a GPU.
#include <memory>
#include <optional>

#include <ccoll/error_feedback.cuh>
#if defined(CCOLL_TORCH_MPI)
#include <ccoll/transport/mpi.hpp>
#endif

#include "gpu.hpp"
#include "test_of.hpp"

namespace ccoll_torch {

namespace {

template <class T>
class memory_on_gpu final : public averages_in_turn::memory {
public:
    explicit memory_on_gpu(const vector_of& like) : number_(like.where.gpu)
    {
        const gpu::selected here(number_);
        feedback_.emplace(like.n);
    }
    ~memory_on_gpu() override
    {
        const gpu::selected here(number_);
        feedback_.reset();
    }

    test_function begin(const vector_of& gradient, double bound, const communicator& comm) override
    {
        return gpu::there(number_, [&] {
            const ccoll::device_span<T> all(static_cast<T*>(gradient.data), gradient.n);
            auto* const after = static_cast<cudaStream_t>(const_cast<void*>(gradient.where.stream));
            return test_of(feedback_->iaverage(all, bound, comm, after));
        });
    }

    void assume_success() override
    {
        const gpu::selected here(number_);
        feedback_->assume_success();
    }

private:
    int number_;
    std::optional<ccoll::device_error_feedback<T>> feedback_;
};

}  // namespace

std::unique_ptr<averages_in_turn::memory> gpu::make_memory(const vector_of& like)
{
    return with_float(like.type, [&]<class T>(T) -> std::unique_ptr<averages_in_turn::memory> {
        return std::make_unique<memory_on_gpu<T>>(like);
    });
}

}  // namespace ccoll_torch
