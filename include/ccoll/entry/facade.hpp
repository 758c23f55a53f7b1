// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// entry/facade.hpp - floor 3. What stands behind every facade, once for all of them. A line such as
// CCOLL_FORMS(allgatherv, varied_allgather) declares the parameters of allgatherv, iallgatherv and
// allgatherv_init, as an IDE shows them, and refuses what no parameter of the facades takes.
#pragma once

#include <type_traits>

#include <ccoll/entry/run_modes.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The facades take `Arguments&&...`, so that wrong arguments reach a sentence of ours and not the compiler's
/// list of candidates. An IDE has nothing to show for such a parameter. Hence each form is declared a second
/// time, with names. No argument meets this concept, so these declarations are never chosen and have no
/// definition.
struct shown_only;
template <class Comm>
concept shown = std::is_same_v<Comm, shown_only>;

/// What a list in braces becomes, if it stands where a buffer is expected. No template can deduce its type.
struct in_braces {
    template <class... Values>
    in_braces(Values&&...);
};
template <class...>
inline constexpr bool never = false;

}  // namespace ccoll::inline CCOLL_ABI::detail

// Each form of calls has a macro CCOLL_SHOWN_<form>(FORM, ...), with FORM((parameters), ...) for each of its
// overloads: the parameters in front of the communicator. `more`: what the arguments behind it are called.
#define CCOLL_SHOWN(parameters, result, name, more) \
    template <class... Policies>                    \
    result name(CCOLL_WITHOUT_PARENTHESES parameters, const detail::shown auto& comm, auto&&... more);
#define CCOLL_WITHOUT_PARENTHESES(...) __VA_ARGS__

// What no forwarding reference and no list of policies takes: a sentence in place of the compiler's list of
// candidates.
#define CCOLL_REFUSES_VALUES(result, name)                                                                \
    template <class... Policies, class... Arguments>                                                      \
    result name(detail::in_braces, Arguments&&...)                                                        \
    {                                                                                                     \
        static_assert(detail::never<Policies..., Arguments...>,                                           \
                      "ccoll: a list in braces has no type; write one, as in std::array{1.0f, 2.0f}, or " \
                      "give it a name");                                                                  \
        return {};                                                                                        \
    }                                                                                                     \
    template <auto Policy, class... Arguments>                                                            \
    result name(Arguments&&...)                                                                           \
    {                                                                                                     \
        static_assert(detail::never<Arguments...>,                                                        \
                      "ccoll::Plan: a policy is a type, and this is a value; write Op::Max for MPI_MAX "  \
                      "(Op::Sum is the default), and "                                                    \
                      "ErrorBound<1e-3> for 1e-3");                                                       \
        return {};                                                                                        \
    }

// clang-format off
// The three ways to call a collective, behind their definitions.
#define CCOLL_FORMS(name, form)                                           \
    CCOLL_SHOWN_##form(CCOLL_SHOWN, report, name, bound_and_error_code)   \
    CCOLL_SHOWN_##form(CCOLL_SHOWN, request, i##name, bound)              \
    CCOLL_SHOWN_##form(CCOLL_SHOWN, persistent, name##_init, bound)       \
    CCOLL_REFUSES_VALUES(report, name)                                    \
    CCOLL_REFUSES_VALUES(request, i##name)                                \
    CCOLL_REFUSES_VALUES(persistent, name##_init)

// The two ways to send or to receive a message.
#define CCOLL_P2P_FORMS(name, form)                                       \
    CCOLL_SHOWN_##form(CCOLL_SHOWN, report, name, bound_and_error_code)   \
    CCOLL_SHOWN_##form(CCOLL_SHOWN, request, i##name, bound)              \
    CCOLL_REFUSES_VALUES(report, name)                                    \
    CCOLL_REFUSES_VALUES(request, i##name)
// clang-format on
