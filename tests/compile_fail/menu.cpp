// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad menus and bad calls with a choice; as call.cpp.
#include <complex>
#include <system_error>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

using namespace ccoll::policies;

using Exact = ccoll::Plan<>;
using Lossy = ccoll::Plan<Codec::SZp, ErrorBound<1e-3>>;
using Given = ccoll::Plan<Codec::SZp, RuntimeBound>;

struct arguments {
    std::vector<float>& x;
    std::vector<int>& i;
    std::vector<std::complex<float>>& c;
    ccoll::threads_comm& comm;
};

std::size_t always_first(const ccoll::choice_facts&);
std::size_t always_first(const ccoll::choice_facts&) { return 0; }

void call(const arguments& a);
void call(const arguments& a)
{
    [[maybe_unused]] std::error_code code;
    // ---- good ----
    ccoll::allreduce(ccoll::menu<Exact, Lossy>{}.tuned(), a.x, a.comm);
    ccoll::allreduce<Codec::Auto>(a.i, a.comm);
    ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>, Check::Collective>(a.c, a.comm);
    constexpr ccoll::menu<Exact, Lossy, Given> m{"exact", "lossy", "given"};
    ccoll::allreduce(m.at(0), a.x, a.comm, 1e-3);
    ccoll::allreduce<Op::Average>(m.at("given"), a.x, a.comm, 1e-3, code);
    ccoll::bcast(m.chosen_by(&always_first), a.x, 0, a.comm, 1e-3);
    ccoll::send(m.at(1), a.x, 0, 0, a.comm, 1e-3);
    constexpr ccoll::menu<Op::Prod, Op::Max> operations;
    ccoll::allreduce(operations.at(1), a.i, a.comm);
    // ---- bad ----
    // expect: ccoll::menu: it has no plans; name at least one
    constexpr ccoll::menu<> none;
    (void)none;
    // expect: ccoll::menu: it needs one name per plan; give all of them a name, or none
    constexpr ccoll::menu<Exact, Lossy> m2{"exact"};
    (void)m2;
    // expect: ccoll::Plan: this codec is lossy and no bound is given; add ErrorBound<1e-3>
    constexpr ccoll::menu<Exact, Codec::SZp> m3;
    ccoll::allreduce(m3.at(0), a.x, a.comm);
    // expect: ccoll: a lossy codec takes floating-point elements
    constexpr ccoll::menu<Exact, Lossy> m4;
    ccoll::allreduce(m4.at(0), a.i, a.comm);
    // expect: ccoll: this algorithm has no schedule for this collective
    constexpr ccoll::menu<Exact, Algo::Ring> m5;
    ccoll::bcast(m5.at(0), a.x, 0, a.comm);
    // expect: ccoll: the plan says RuntimeBound; pass the bound
    constexpr ccoll::menu<Exact, Given> m6;
    ccoll::allreduce(m6.at(0), a.x, a.comm);
    // expect: ccoll: a bound is passed but the plan does not say RuntimeBound
    constexpr ccoll::menu<Exact, Lossy> m7;
    ccoll::allreduce(m7.at(0), a.x, a.comm, 1e-3);
    // expect: ccoll: the plans of a menu must all say the same Instrument::
    constexpr ccoll::menu<Exact, Instrument::Breakdown> m8;
    ccoll::allreduce(m8.at(0), a.x, a.comm);
    // expect: ccoll: for complex numbers the operations of a menu's plans must all be linear
    constexpr ccoll::menu<Op::Sum, Op::Prod> m9;
    ccoll::allreduce(m9.at(0), a.c, a.comm);
    // expect: ccoll::Plan: Codec::Auto is a policy of collectives alone
    ccoll::allreduce(ccoll::menu<Exact, ccoll::Plan<Codec::Auto, ErrorBound<1e-3>>>{}.at(0), a.x, a.comm);
    // expect: ccoll: a message between two ranks cannot use menu::chosen_by
    ccoll::send(ccoll::menu<Exact, Lossy>{}.tuned(), a.x, 0, 0, a.comm);
    // expect: ccoll::Plan: Codec::Auto is a policy of collectives alone
    ccoll::send<Codec::Auto, ErrorBound<1e-3>>(a.x, 0, 0, a.comm);
    // expect: ccoll: a lossy codec takes floating-point elements
    ccoll::allreduce<Codec::Auto, ErrorBound<1e-3>>(a.i, a.comm);
    // expect: ccoll: a message between two ranks cannot use menu::chosen_by
    constexpr ccoll::menu<Exact, Lossy> m10;
    ccoll::send(m10.chosen_by(&always_first), a.x, 0, 0, a.comm);
    // expect: ccoll: a message between two ranks has no algorithm; drop the Algo::
    constexpr ccoll::menu<Exact, Algo::Ring> m11;
    ccoll::send(m11.at(0), a.x, 0, 0, a.comm);
    // expect: ccoll::Plan: two policies answer the same question
    constexpr ccoll::menu<Exact, Algo::Ring> m12;
    ccoll::allreduce<Algo::Rabenseifner>(m12.at(0), a.x, a.comm);
}
