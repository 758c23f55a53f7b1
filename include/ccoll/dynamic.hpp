// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic.hpp - floor 5. Calls that are described by values: for frameworks, shims and bindings of other
// languages, which know types, operations and plans only when they run.
//
//   namespace dynamic = ccoll::dynamic;
//   const dynamic::call sum{.which = ccoll::collective_id::allreduce, .send = x, .recv = y, .n = n,
//                           .type = dynamic::element_id::f32,
//                           .how = dynamic::plan::from_names("Ring, SZp", 1e-3)};
//   ccoll::report facts = dynamic::run(sum, comm);
//
// This header declares, and compiles quickly. The plans of a menu are compiled once in a program, one element
// type per file if you like (compile_dynamic.hpp):
//
//   #include <ccoll/compile_dynamic.hpp>
//   #include <ccoll/transport/mpi.hpp>
//   CCOLL_COMPILE_DYNAMIC(ccoll::dynamic::default_menu, float, MPI_Comm);
//
// With cuda_space in the menu, calls may also have buffers on a device. A file that nvcc compiles has
//
//   #include <ccoll/compile_dynamic.hpp>
//   #include <ccoll/cuda.cuh>
//   CCOLL_COMPILE_DYNAMIC(my_menu, float, MPI_Comm, ccoll::cuda_space);
//
// A program with one file may include that header instead of this one, and has no such lines.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>

#include <ccoll/dynamic/call.hpp>
#include <ccoll/instrument/report.hpp>
#include <ccoll/transport/transport.hpp>
#include <ccoll/wait/request.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace dynamic {

/// What calls have that name no menu: the element types of MPI that are numbers, all operations of the
/// library but the logical ones, its algorithms but Algo::Hierarchical, and the codecs and bounds that most
/// programs choose from.
struct default_menu
    : menu<float, double, half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
           std::uint16_t, std::uint32_t, std::uint64_t, policies::Op::Sum, policies::Op::Average,
           policies::Op::Min, policies::Op::Max, policies::Op::Prod, policies::Op::BitAnd,
           policies::Op::BitOr, policies::Op::BitXor, policies::Algo::Auto, policies::Algo::Ring,
           policies::Algo::RecursiveDoubling, policies::Algo::Rabenseifner, policies::Algo::Binomial,
           policies::Algo::ScatterAllgather, policies::Algo::Chain, policies::Algo::Linear,
           policies::Algo::Bruck, policies::Algo::Pairwise, policies::Algo::Spread, policies::Codec::None,
           policies::Codec::Lossless, policies::Codec::SZp, policies::Codec::SZe, policies::Codec::SZx,
           policies::Codec::Auto, policies::RuntimeBound, policies::RuntimeRelativeBound,
           policies::EndToEnd<policies::RuntimeBound>, policies::EndToEnd<policies::RuntimeRelativeBound>> {};

/// The calls of a menu on one element type, over one kind of communicator, with buffers in one memory space.
/// They are defined in compile_dynamic.hpp.
/// @param parts  2 if the elements are complex numbers, whose parts are of type T
template <class Menu, class T, communicator Comm, class Space>
struct compiled {
    static report run(const call& described, std::size_t parts, const Comm& comm, std::error_code* code);
    static request begin(const call& described, std::size_t parts, const Comm& comm);
    static persistent prepare(const call& described, std::size_t parts, const Comm& comm);
    static std::string why_not(const call& described, std::size_t parts);
};

}  // namespace dynamic

namespace detail {

template <class Named>
inline constexpr bool is_element_of_menu =
    std::is_void_v<typename axis_of<Named>::type> && memory_number_of<Named> < 0;

/// Calls `use(std::type_identity<T>, parts)` with the type of the elements, or `otherwise(why)`.
template <class Result, class... Policies, class Use, class Otherwise>
Result with_element_of(const dynamic::call& c, const dynamic::menu<Policies...>*, Use use,
                       Otherwise otherwise)
{
    using id = dynamic::element_id;
    const bool is_complex = c.type == id::complex_f32 || c.type == id::complex_f64;
    const id part = c.type == id::complex_f32 ? id::f32 : c.type == id::complex_f64 ? id::f64 : c.type;
    Result result{};
    bool found = false;
    std::string names;
    const auto look = [&]<class T>(std::type_identity<T>) {
        if constexpr (is_element_of_menu<T>) {
            if (!found && element_id_of<T> == part) {
                found = true;
                result = use(std::type_identity<T>{}, is_complex ? std::size_t{2} : std::size_t{1});
            }
        }
    };
    (look(std::type_identity<Policies>{}), ...);
    if (found) return result;
    const auto name = [&]<class T>(std::type_identity<T>) {
        if constexpr (is_element_of_menu<T>)
            (names += names.empty() ? "" : ", ") += dynamic::name_of(element_id_of<T>);
    };
    (name(std::type_identity<Policies>{}), ...);
    return otherwise("elements of type '" + std::string(dynamic::name_of(c.type)) +
                     "' are not compiled in; there are " + names);
}

/// What no menu has.
inline const char* fault_of_description(const dynamic::call& c)
{
    if (!is_known(c.which)) return "there is no collective with this number";
    const collective_line& line = all_collectives[static_cast<std::size_t>(c.which)];
    if (c.has_counts() && !line.takes_counts()) return "this collective has no variant with counts";
    if (c.in_place && line.over_edges) return "between neighbours nothing works in place";
    return nullptr;
}
inline const char* name_of_described(const dynamic::call& c)
{
    if (!is_known(c.which)) return "dynamic::call";
    const collective_line& line = all_collectives[static_cast<std::size_t>(c.which)];
    return c.has_counts() ? line.varied_name : line.name;
}
[[noreturn]] inline void refuse_described(const dynamic::call& c, const std::string& why)
{
    raise(name_of_described(c), {status::bad_argument}, why.c_str());
}

/// Calls `use(std::type_identity<Space>)` with the memory space of the buffers, or `otherwise(why)`.
template <class Result, class... Policies, class Use, class Otherwise>
Result with_memory_of(const dynamic::call& c, const dynamic::menu<Policies...>*, Use use, Otherwise otherwise)
{
    Result result{};
    const auto wanted = static_cast<int>(c.memory);
    const auto look = [&]<class Space>(std::type_identity<Space> space) {
        if constexpr (memory_number_of<Space> > 0) {
            if (memory_number_of<Space> != wanted) return false;
            result = use(space);
            return true;
        } else {
            return false;
        }
    };
    if (c.memory == dynamic::memory_id::host) return use(std::type_identity<host_space>{});
    if ((look(std::type_identity<Policies>{}) || ...)) return result;
    const char* const name = dynamic::name_of(c.memory);
    return otherwise("calls with buffers in memory '" + (*name != 0 ? name : std::to_string(wanted)) +
                     "' are not compiled in; the menu must name its space, such as cuda_space");
}

/// Calls `use(std::type_identity<compiled<Menu, T, Comm, Space>>, parts)` with what was compiled for a call,
/// or `otherwise(why)`.
template <class Result, class Menu, communicator Comm, class Use, class Otherwise>
Result with_compiled(const dynamic::call& c, Use use, Otherwise otherwise)
{
    if (const char* const fault = fault_of_description(c)) return otherwise(fault);
    constexpr Menu* menu = nullptr;
    return with_memory_of<Result>(
        c, menu,
        [&]<class Space>(std::type_identity<Space>) {
            return with_element_of<Result>(
                c, menu,
                [&]<class T>(std::type_identity<T>, std::size_t parts) {
                    return use(std::type_identity<dynamic::compiled<Menu, T, Comm, Space>>{}, parts);
                },
                otherwise);
        },
        otherwise);
}
template <class Result, class Menu, communicator Comm, class Use>
Result with_described(const dynamic::call& c, Use use)
{
    return with_compiled<Result, Menu, Comm>(
        c, use, [&](const std::string& why) -> Result { refuse_described(c, why); });
}

}  // namespace detail

namespace dynamic {

/// Runs a call.
///
/// @tparam Menu  what is compiled in: a menu, or a class that is derived from one, whose name is shorter
/// @param comm   MPI_Comm, threads_comm, or any object that meets ccoll::transport
/// @return       what the call returns whose policies are written as types
/// @throw ccoll::error  what that call throws; and bad_argument, on this rank alone and before the call
///               begins, if the menu has no such plan, or not for these elements, this operation or this
///               collective. The sentence lists what it has. All ranks that describe the same call throw it.
/// Cost: that of the call, and some tens of nanoseconds. A call that goes to the transport's own collective
/// does not take the short way of a call without a menu.
template <class Menu = default_menu, communicator Comm>
report run(const call& described, const Comm& comm)
{
    return detail::with_described<report, Menu, Comm>(
        described, [&]<class Compiled>(std::type_identity<Compiled>, std::size_t parts) {
            return Compiled::run(described, parts, comm, nullptr);
        });
}

/// Begins a call: see ccoll::request. The description and its lists of counts may go; buffers must stay.
template <class Menu = default_menu, communicator Comm>
request begin(const call& described, const Comm& comm)
{
    return detail::with_described<request, Menu, Comm>(
        described, [&]<class Compiled>(std::type_identity<Compiled>, std::size_t parts) {
            return Compiled::begin(described, parts, comm);
        });
}

/// Prepares a call: see ccoll::persistent. The description may go; buffers and lists of counts must stay.
template <class Menu = default_menu, communicator Comm>
persistent prepare(const call& described, const Comm& comm)
{
    return detail::with_described<persistent, Menu, Comm>(
        described, [&]<class Compiled>(std::type_identity<Compiled>, std::size_t parts) {
            return Compiled::prepare(described, parts, comm);
        });
}

/// Whether a menu has what a call asks for: to decide before any rank begins.
/// @return "" if it has, and otherwise the sentence that run() would throw
template <communicator Comm, class Menu = default_menu>
std::string why_not(const call& described)
{
    return detail::with_compiled<std::string, Menu, Comm>(
        described,
        [&]<class Compiled>(std::type_identity<Compiled>, std::size_t parts) {
            return Compiled::why_not(described, parts);
        },
        [](const std::string& why) { return why; });
}

/// Runs a call, and sets `code` instead of throwing.
template <class Menu = default_menu, communicator Comm>
report run(const call& described, const Comm& comm, std::error_code& code)
{
    code.clear();
    report facts;
    if (!why_not<Comm, Menu>(described).empty()) {
        facts.trouble = {status::bad_argument};
        code = make_error_code(status::bad_argument);
        return facts;
    }
    return detail::with_described<report, Menu, Comm>(
        described, [&]<class Compiled>(std::type_identity<Compiled>, std::size_t parts) {
            return Compiled::run(described, parts, comm, &code);
        });
}

}  // namespace dynamic
}  // namespace ccoll::inline CCOLL_ABI
