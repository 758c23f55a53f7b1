// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// compile_dynamic.hpp - floor 5. The definitions of what dynamic.hpp declares. A file that includes this
// compiles the plans of the menus that it names, or those of which it calls something. It has all
// collectives, and the codecs of the default menu; for others include <ccoll/codec.hpp> as well.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <ccoll/allgather.hpp>
#include <ccoll/allreduce.hpp>
#include <ccoll/alltoall.hpp>
#include <ccoll/auto.hpp>
#include <ccoll/codec/half.hpp>
#include <ccoll/codec/lossless.hpp>
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/szp.hpp>
#include <ccoll/codec/szx.hpp>
#include <ccoll/dynamic.hpp>
#include <ccoll/dynamic/plans.hpp>
#include <ccoll/neighbor.hpp>
#include <ccoll/reduce_scatter.hpp>
#include <ccoll/rooted.hpp>
#include <ccoll/scan.hpp>

/// At global scope, in one file of the program: CCOLL_COMPILE_DYNAMIC(Menu, T, Comm), the calls of a menu on
/// elements T over communicators Comm. A fourth argument is the memory space of the buffers, if it is not
/// that of the host.
#define CCOLL_COMPILE_DYNAMIC(Menu, ...) CCOLL_COMPILE_DYNAMIC_IN(Menu, __VA_ARGS__, ccoll::host_space, )
// nvcc 13 does not compile members, outside of their class template, if that has a default argument.
#define CCOLL_COMPILE_DYNAMIC_IN(Menu, T, Comm, Space, ...) \
    template struct ccoll::dynamic::compiled<Menu, T, Comm, Space>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

template <class How, class Menu, class T, class Space, class Comm, class... Extra>
typename How::result run_described(const dynamic::call& c, std::size_t parts, const Comm& comm,
                                   Extra&... extra)
{
    using result = typename How::result;
    [[maybe_unused]] const argument_for<Space> after{{c.stream, c.stream != nullptr}};
    return with_collective(c.which, [&]<class Collective>(Collective) -> result {
        if constexpr (is_over_edges<Collective> && !has_neighbors<Comm>)
            refuse_described(c, "this communicator does not know its neighbours");
        else {
            double bound = c.how.bound;
            const auto refuse = [&](auto why) -> result { refuse_described(c, why()); };
            if constexpr (std::is_same_v<Space, host_space>)
                return described<How, menu_axes<Menu>, Collective, T, Space>(c, parts, comm, refuse, bound,
                                                                             extra...);
            else
                return described<How, menu_axes<Menu>, Collective, T, Space>(c, parts, comm, refuse, bound,
                                                                             after, extra...);
        }
    });
}

}  // namespace detail

namespace dynamic {

template <class Menu, class T, communicator Comm, class Space>
report compiled<Menu, T, Comm, Space>::run(const call& described, std::size_t parts, const Comm& comm,
                                           std::error_code* code)
{
    using detail::blocking;
    if (code == nullptr) return detail::run_described<blocking, Menu, T, Space>(described, parts, comm);
#if defined(__cpp_exceptions)
    try {  // one way to compile the calls, and not two
        return detail::run_described<blocking, Menu, T, Space>(described, parts, comm);
    } catch (const error& e) {
        report facts;
        facts.trouble = e.what_happened();
        *code = make_error_code(facts.trouble.code);
        return facts;
    }
#else
    return detail::run_described<blocking, Menu, T, Space>(described, parts, comm, *code);
#endif
}
template <class Menu, class T, communicator Comm, class Space>
request compiled<Menu, T, Comm, Space>::begin(const call& described, std::size_t parts, const Comm& comm)
{
    return detail::run_described<detail::nonblocking, Menu, T, Space>(described, parts, comm);
}
template <class Menu, class T, communicator Comm, class Space>
persistent compiled<Menu, T, Comm, Space>::prepare(const call& described, std::size_t parts, const Comm& comm)
{
    return detail::run_described<detail::preparing, Menu, T, Space>(described, parts, comm);
}
template <class Menu, class T, communicator Comm, class Space>
std::string compiled<Menu, T, Comm, Space>::why_not(const call& described, std::size_t parts)
{
    return with_collective(described.which, [&]<class Collective>(Collective) -> std::string {
        if constexpr (detail::is_over_edges<Collective> && !detail::has_neighbors<Comm>)
            return "this communicator does not know its neighbours";
        else
            return detail::with_plans_for<std::string, detail::menu_axes<Menu>, Collective, T, Space, Comm>(
                described, parts,
                [&](auto plans) {
                    using axes = typename decltype(plans)::axes;
                    constexpr auto& fit_of = decltype(plans)::fit_of;
                    const std::size_t number = axes::find(described.how);
                    const bool fits = number < axes::size && fit_of[number] != detail::fits::no;
                    return fits ? std::string() : axes::why_not(described.how, fit_of);
                },
                [](auto why) { return why(); });
    });
}

}  // namespace dynamic
}  // namespace ccoll::inline CCOLL_ABI
