// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test_of.hpp - a call of ccoll as a function that is tested until it says true.
#pragma once

#include <memory>
#include <utility>

#include <ccoll/wait/request.hpp>

#include "calls.hpp"

namespace ccoll_torch {

/// If the function is destroyed before that, the call is given up, and the other ranks are told.
inline test_function test_of(ccoll::request call)
{
    return [held = std::make_shared<ccoll::request>(std::move(call))](ccoll::report& facts) {
        if (!held->test()) return false;
        facts = held->wait();
        return true;
    };
}

}  // namespace ccoll_torch
