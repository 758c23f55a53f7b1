// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad work for a progress thread; as call.cpp.
#include <exception>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/progress.hpp>
#include <ccoll/transport/threads.hpp>

void all(ccoll::progress_thread& helper, ccoll::threads_comm& comm, std::vector<float>& x);
void all(ccoll::progress_thread& helper, ccoll::threads_comm& comm, std::vector<float>& x)
{
    const auto ended = [](const ccoll::report&, const std::exception_ptr&) {};
    // ---- good ----
    helper.begin([&] { return ccoll::iallreduce(x, comm); }, ended);
    helper.begin([] { return [] { return true; }; }, ended);
    // ---- bad ----
    // expect: ccoll: what begins work on a progress_thread takes nothing, and returns a ccoll::request or a function that returns true when the work has ended
    helper.begin([] { return 3; }, ended);
    // expect: ccoll: what begins work on a progress_thread takes nothing, and returns a ccoll::request or a function that returns true when the work has ended
    helper.begin([](int) { return [] { return true; }; }, ended);
    // expect: ccoll: what is told of the end on a progress_thread takes (const ccoll::report&, std::exception_ptr)
    helper.begin([] { return [] { return true; }; }, [](const ccoll::report&) {});
}
