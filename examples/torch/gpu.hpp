// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.hpp - calls on the memory of a GPU, which are made while it is the current one. Knows nothing of torch.
// CCOLL_TORCH_CUDA is defined where nvcc has compiled what they need (*_gpu*.cu).
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "averages.hpp"
#include "calls.hpp"

namespace ccoll_torch::gpu {

#if defined(CCOLL_TORCH_CUDA)

inline constexpr bool is_compiled = true;

/// Makes a GPU the current one of this thread. @return that before, or -1 if CUDA has failed
int select(int number) noexcept;

/// While it lives, this GPU is the current one.
class selected {
public:
    explicit selected(int number) noexcept : before_(select(number)) {}
    selected(const selected&) = delete;
    selected& operator=(const selected&) = delete;
    ~selected()
    {
        if (before_ >= 0) select(before_);
    }

private:
    int before_;
};

/// Begins a call there. It is tested and ended there as well.
template <class Begin>
test_function there(int number, Begin begin)
{
    struct call {
        int number;
        test_function test;
        ~call()
        {
            const selected here(number);
            test = nullptr;
        }
    };
    const selected here(number);
    return [of = std::make_shared<call>(number, begin())](ccoll::report& facts) {
        const selected now(of->number);
        return of->test(facts);
    };
}

/// For gradients on a GPU (averages_gpu.cu).
std::unique_ptr<averages_in_turn::memory> make_memory(const vector_of& like);

#else

inline constexpr bool is_compiled = false;

template <class Begin>
test_function there(int, Begin)
{
    throw std::logic_error("ccoll: the extension was built without CUDA");
}
inline std::unique_ptr<averages_in_turn::memory> make_memory(const vector_of&)
{
    throw std::logic_error("ccoll: the extension was built without CUDA");
}

#endif

}  // namespace ccoll_torch::gpu
