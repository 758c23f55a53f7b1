// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// isa.hpp - tests with a chosen instruction set in use, and with each one of this machine.
#pragma once

#include "support/catch.hpp"

#include <ccoll/base/isa.hpp>

/// The instruction set in use, restored at the end.
class with_isa {
public:
    explicit with_isa(ccoll::isa i) : before_(ccoll::isa_in_use()) { ccoll::use_isa(i); }
    ~with_isa() { ccoll::use_isa(before_); }
    with_isa(const with_isa&) = delete;
    with_isa& operator=(const with_isa&) = delete;

private:
    ccoll::isa before_;
};

template <class What>
void with_each_isa(What what)
{
    for (const ccoll::isa i : ccoll::every_isa)
        if (ccoll::machine_has(i)) {
            INFO(ccoll::name_of(i));
            const with_isa use(i);
            what();
        }
}
