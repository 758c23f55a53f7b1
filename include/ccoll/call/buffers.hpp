// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// call/buffers.hpp - floor 3. From what a user passes to what the engine works on: sizes, counts, in-place
// use, overlaps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <ccoll/base/workspace.hpp>
#include <ccoll/run/task.hpp>
#include <ccoll/policy/shaped.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// No memory holds more elements, whatever their size. Sums and products of accepted counts, also in bytes,
/// are below 2^63.
inline constexpr std::size_t most_elements = std::size_t{1} << 55;

/// The user's counts (or displacements), one per rank, of any integer type. They are read when the call
/// begins.
class count_list {
public:
    constexpr count_list() = default;
    template <class Integer>
        requires std::is_integral_v<Integer>
    constexpr count_list(const Integer* first, std::size_t n) : count_list(first)
    {
        size_ = n;
        sized_ = true;
    }
    /// An array of which only the beginning is known, as in MPI's own calls. It has as many counts as are
    /// asked for.
    template <class Integer>
        requires std::is_integral_v<Integer>
    explicit constexpr count_list(const Integer* first)
        : first_(first), read_([](const void* at, std::size_t i) {
              return static_cast<long long>(static_cast<const Integer*>(at)[i]);
          })
    {}
    /// The same counts in elements of the engine. `times` of these make one element of the user (2 for a
    /// complex number).
    constexpr count_list in_elements(std::size_t times) const
    {
        count_list scaled = *this;
        scaled.times_ = static_cast<long long>(times);
        return scaled;
    }

    constexpr bool given() const { return read_ != nullptr; }
    constexpr bool has(std::size_t n) const { return !sized_ || size_ == n; }
    constexpr std::size_t size() const { return size_; }
    /// Negative if the user's count is, and beyond most_elements if that is.
    long long operator[](int i) const
    {
        constexpr auto most = static_cast<long long>(most_elements) + 1;
        return std::clamp(read_(first_, static_cast<std::size_t>(i)), -most, most) * times_;
    }

private:
    const void* first_ = nullptr;
    std::size_t size_ = 0;
    bool sized_ = false;
    long long times_ = 1;
    long long (*read_)(const void*, std::size_t) = nullptr;
};

/// The lengths of parts and, unless they are contiguous, their displacements.
struct part_lists {
    count_list counts{}, displacements{};

    constexpr part_lists in_elements(std::size_t times) const
    {
        return {counts.in_elements(times), displacements.in_elements(times)};
    }
};

/// All that a facade may be given.
/// Its constructor is not constexpr, and lists are optional, because compilers clear constants as a whole,
/// which takes longer than to set the members of a usual call.
template <element T>
struct user_buffers {
    const T* send;
    std::size_t send_size;  ///< of the buffer, or if `counted` the one count that MPI's own call takes
    T* recv;
    std::size_t recv_size;
    bool in_place;             ///< one buffer serves as both, as with MPI_IN_PLACE
    bool counted;              ///< sizes are that count
    bool varied = false;       ///< a v variant: counts give the lengths of the parts of whole buffers
    bool own_unsaid = false;   ///< and this rank's own part is as long as they say, without a size of its own
    bool strided = false;      ///< a view that says at run time that it is not contiguous
    std::uint32_t layout = 0;  ///< a hash of what else ranks must have in common of their buffers; 0: nothing
    detail::shape_facts shape{};
    std::optional<part_lists> send_lists{}, recv_lists{};  ///< of a v variant
    space_argument after{};
    std::shared_ptr<const neighbor_list> neighbors{};  ///< of this rank, if the call is between neighbours
    /// Null, or what the elements behind `send` and `recv` are, of which the call works with copies in T.
    const narrow_elements* narrow = nullptr;

    user_buffers(const T* from, std::size_t from_size, T* to, std::size_t to_size, bool one_buffer = false,
                 bool one_count = false) noexcept
        : send(from), send_size(from_size), recv(to), recv_size(to_size), in_place(one_buffer),
          counted(one_count)
    {}

    /// Is the one count negative, or more than each of p ranks can have?
    bool has_bad_count(int p) const
    {
        return counted && send_size > most_elements >> std::bit_width(static_cast<unsigned>(p));
    }
    std::size_t element_bytes() const { return narrow != nullptr ? narrow->bytes : sizeof(T); }
};

/// The same buffers for a call that works with floats. @see narrow_elements
template <class Space, small_float T>
user_buffers<float> as_floats(const user_buffers<T>& u)
{
    user_buffers<float> floats(reinterpret_cast<const float*>(u.send), u.send_size,
                               reinterpret_cast<float*>(u.recv), u.recv_size, u.in_place, u.counted);
    floats.varied = u.varied;
    floats.own_unsaid = u.own_unsaid;
    floats.strided = u.strided;
    floats.layout = u.layout;
    floats.shape = u.shape;
    floats.send_lists = u.send_lists;
    floats.recv_lists = u.recv_lists;
    floats.after = u.after;
    floats.neighbors = u.neighbors;
    floats.narrow = &narrow_elements_of<Space, T>;
    return floats;
}

/// Why buffers do not fit a call. The words for it are found only when they are needed.
enum class misfit : unsigned char {
    none,
    count,      ///< negative, or more than memory can have
    length,     ///< a buffer is too short or too long
    strided,    ///< elements are not contiguous
    shape,      ///< the extents of a shape are not those of its buffer
    misplaced,  ///< in place where there is no buffer to be in
    overlap,    ///< buffers share memory although they must not
    no_input,   ///< no memory where elements are read
    no_result,  ///< no memory where elements are written
    told        ///< there is a verdict already
};

/// What buffers are to a collective, without words.
template <element T>
struct plain_fit {
    call_buffers<T> data;
    T* move_to = nullptr;    ///< reduce_scatter in place: at the end the result is moved here
    bool copy_send = false;  ///< alltoall in place: input is overwritten before it has been sent
    misfit fault = misfit::none;
    /// From the first to the last that this rank may read or write.
    std::size_t send_elements = 0, recv_elements = 0;
    std::size_t expected = 0, found = 0;  ///< elements, where their number is wrong

    plain_fit() noexcept {}  // not constexpr, as that of user_buffers
    /// There is nothing to do before or after the call but to say what is wrong, and nothing is.
    bool is_as_given() const { return fault == misfit::none && !copy_send && move_to == nullptr; }
};
template <element T>
struct fitted_buffers : plain_fit<T> {
    verdict trouble;
};

/// MPI_IN_PLACE where there should be a buffer.
constexpr verdict misplaced(std::size_t elements)
{
    return {status::null_buffer, nobody, nobody, -1, static_cast<double>(elements), 1};
}
/// @param at  null, or a marker that a cast has made a pointer to elements
inline verdict no_memory(const void* at, std::size_t elements)
{
    return at != nullptr ? misplaced(elements)
                         : verdict{status::null_buffer, nobody, nobody, -1, static_cast<double>(elements)};
}

/// Fills `table` from counts and displacements. Without displacements the parts are contiguous.
/// @return  elements up to the end of the last part
/// @param trouble  set if counts are negative, absurd or not one per rank
inline std::size_t lay_out(const part_lists& lists, int p, std::span<part> table, verdict& trouble)
{
    const count_list &counts = lists.counts, &displacements = lists.displacements;
    const auto ranks = static_cast<std::size_t>(p);
    for (const count_list* list : {&counts, &displacements})
        if (list->given() && !list->has(ranks) && trouble.ok())
            trouble = {status::size_mismatch,
                       nobody,
                       nobody,
                       -1,
                       static_cast<double>(p),
                       static_cast<double>(list->size())};
    if (!counts.given() && p > 0 && trouble.ok())
        trouble = {status::null_buffer, nobody, nobody, -1, static_cast<double>(p)};
    if (!trouble.ok()) return 0;
    std::size_t next = 0, end = 0;
    for (int i = 0; i < p; ++i) {
        const long long n = counts[i],
                        at = displacements.given() ? displacements[i] : static_cast<long long>(next);
        constexpr auto most = static_cast<long long>(most_elements);
        const bool is_bad = n < 0 || n > most;
        if (is_bad || at < 0 || at > most - n) {
            const bool is_count = is_bad || !displacements.given();
            trouble = {status::bad_count,
                       nobody,
                       i,
                       -1,
                       is_count ? 0.0 : 1.0,
                       static_cast<double>(is_count ? n : at)};
            return 0;
        }
        table[static_cast<std::size_t>(i)] = {static_cast<std::size_t>(at), static_cast<std::size_t>(n)};
        next += static_cast<std::size_t>(n);
        end = std::max(end, static_cast<std::size_t>(at + n));
    }
    return end;
}

/// What buffers without lists of counts hold: one vector, or p equal parts, of which a buffer holds all or
/// this rank's own.
struct plain_lengths {
    std::size_t count = 0, own = 0;       ///< as in call_buffers
    std::size_t sent = 0, taken = 0;      ///< elements that this rank may read and write
    std::size_t expected = 0, found = 0;  ///< not the same: a buffer has the wrong length

    constexpr bool ok() const { return expected == found; }
};
template <element T>
[[gnu::always_inline]] inline plain_lengths lengths_of(const user_buffers<T>& u,
                                                       const collective_facts& facts, int p, bool gives,
                                                       bool takes)
{
    const auto ranks = static_cast<std::size_t>(p);
    const bool send_whole = facts.send == extent::whole, recv_whole = facts.recv == extent::whole;
    plain_lengths f;
    const auto must_be = [&](std::size_t expected, std::size_t found) {
        f.expected = expected;
        f.found = found;
    };
    if (facts.one_vector) {
        f.sent = gives ? u.send_size : 0;
        f.taken = takes ? (u.counted ? u.send_size : u.recv_size) : 0;
        f.count = gives ? f.sent : f.taken;
        if (gives && takes) must_be(f.sent, f.taken);
        return f;
    }
    std::size_t send_size = u.send_size, recv_size = u.recv_size;
    if (u.counted) {
        send_size = send_whole || u.in_place ? u.send_size * ranks : u.send_size;
        recv_size = recv_whole || u.in_place ? u.send_size * ranks : u.send_size;
    }
    const std::size_t whole = send_whole ? send_size : recv_size;
    if (u.in_place || facts.exchanges) {  // this rank's own part is one of those in a whole buffer
        f.own = whole / ranks;
        if (whole % ranks != 0) must_be((f.own + 1) * ranks, whole);
        else if (facts.exchanges) must_be(send_size, recv_size);
    } else {
        f.own = send_whole ? recv_size : send_size;
        if (send_whole ? gives : takes) must_be(f.own * ranks, whole);
    }
    f.count = f.own * ranks;
    f.sent = gives ? (send_whole ? f.count : f.own) : 0;
    f.taken = takes ? (recv_whole ? f.count : f.own) : 0;
    return f;
}

/// Two buffers share memory although they must not.
/// @param sent, taken  bytes that this rank may read and write
template <element T>
[[gnu::always_inline]] inline bool overlap(const user_buffers<T>& u, const collective_facts& facts,
                                           std::size_t sent, std::size_t taken, int p)
{
    if (u.in_place) return false;
    if (static_cast<const void*>(u.send) == u.recv)
        return !facts.one_vector && sent > 0 && taken > 0 && p > 1;
    return share_memory(u.send, sent, u.recv, taken);
}

/// Parts as long as the counts say, for the whole buffers that this rank uses. Of other buffers it knows only
/// its own part.
/// @param tables  2 p entries
template <element T>
void fit_varied(fitted_buffers<T>& f, const user_buffers<T>& u, const collective_facts& facts, int me, int p,
                bool gives, bool takes, std::span<part> tables)
{
    const auto ranks = static_cast<std::size_t>(p), mine = static_cast<std::size_t>(me);
    const bool send_whole = facts.send == extent::whole && gives,
               recv_whole = facts.recv == extent::whole && takes;
    const auto mismatch = [&](std::size_t expected, std::size_t found) {
        if (f.trouble.ok())
            f.trouble = {status::size_mismatch,     nobody, nobody, -1, static_cast<double>(expected),
                         static_cast<double>(found)};
    };
    f.data.varied = true;
    if (send_whole) {
        const bool as_received = facts.exchanges && u.in_place;
        const part_lists lists = (as_received ? u.recv_lists : u.send_lists).value_or(part_lists{});
        f.data.send_parts = tables.first(ranks);
        f.send_elements = lay_out(lists, p, tables.first(ranks), f.trouble);
        if (!u.counted && !as_received &&
            (lists.displacements.given() ? u.send_size < f.send_elements : u.send_size != f.send_elements))
            mismatch(f.send_elements, u.send_size);
    }
    if (recv_whole) {
        const part_lists lists = u.recv_lists.value_or(part_lists{});
        f.data.recv_parts = tables.subspan(ranks);
        f.recv_elements = lay_out(lists, p, tables.subspan(ranks), f.trouble);
        if (!u.counted &&
            (lists.displacements.given() ? u.recv_size < f.recv_elements : u.recv_size != f.recv_elements))
            mismatch(f.recv_elements, u.recv_size);
    }
    if (!f.trouble.ok()) {
        f.data.send_parts = f.data.recv_parts = {};
        return;
    }
    if (!facts.exchanges) {
        const bool knows = send_whole || recv_whole;
        const std::size_t given_size = facts.send == extent::own ? u.send_size : u.recv_size;
        f.data.own = knows ? (send_whole ? f.data.send_parts : f.data.recv_parts)[mine].count : given_size;
        if (knows && !u.in_place && !u.own_unsaid && given_size != f.data.own)
            mismatch(f.data.own, given_size);
        if (facts.send == extent::own && gives) f.send_elements = f.data.own;
        if (facts.recv == extent::own && takes) f.recv_elements = f.data.own;
    }
    // All ranks know all counts: they can be compared.
    if (facts.reduces || (recv_whole && !facts.rooted && !facts.exchanges))
        for (const part& each : send_whole ? f.data.send_parts : f.data.recv_parts)
            f.data.count += each.count;
}

/// A part for each neighbour, nobody included: equal ones, or as long as the counts say.
/// @param tables  an entry for each part of either buffer
template <element T>
void fit_edges(fitted_buffers<T>& f, const user_buffers<T>& u, bool gathers, std::span<part> tables)
{
    const neighbor_list& around = *u.neighbors;
    const int out = gathers ? 0 : around.send_parts(), in = around.recv_parts();
    const std::span<part> sent = tables.first(static_cast<std::size_t>(out)),
                          taken = tables.subspan(sent.size(), static_cast<std::size_t>(in));
    const auto check = [&](std::size_t expected, std::size_t found, bool at_least) {
        if (f.trouble.ok() && !u.counted && (at_least ? found < expected : found != expected))
            f.trouble = {status::size_mismatch,     nobody, nobody, -1, static_cast<double>(expected),
                         static_cast<double>(found)};
    };
    const auto equal_parts = [&](std::span<part> parts) {
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = {i * f.data.own, f.data.own};
        return parts.size() * f.data.own;
    };
    f.data.own = u.send_size;
    if (!gathers && !u.counted)
        f.data.own = out > 0 ? u.send_size / sent.size() : in > 0 ? u.recv_size / taken.size() : 0;
    if (u.varied) {
        const auto lay_out_all = [&](const std::optional<part_lists>& given, std::span<part> parts,
                                     std::size_t size) {
            const part_lists lists = given.value_or(part_lists{});
            const std::size_t elements = lay_out(lists, static_cast<int>(parts.size()), parts, f.trouble);
            check(elements, size, lists.displacements.given());
            return elements;
        };
        if (!gathers) f.send_elements = lay_out_all(u.send_lists, sent, u.send_size);
        f.recv_elements = lay_out_all(u.recv_lists, taken, u.recv_size);
    } else {
        f.send_elements = equal_parts(sent);
        f.recv_elements = equal_parts(taken);
        if (!gathers) check(f.send_elements, u.send_size, false);
        check(f.recv_elements, u.recv_size, false);
    }
    if (!f.trouble.ok()) return;
    if (gathers) f.send_elements = f.data.own;
    else if (u.varied) f.data.own = 0;
    for (int i = 0; i < out; ++i)
        if (around.destination(i) == nobody) sent[static_cast<std::size_t>(i)].count = 0;
    for (int i = 0; i < in; ++i)
        if (around.source(i) == nobody) taken[static_cast<std::size_t>(i)].count = 0;
    f.data.send_parts = sent;
    f.data.recv_parts = taken;
    if (!f.data.varied) f.data.count = f.data.own;
}

/// What remains of a fit when its lengths are known: where input and result are in one buffer, and whether
/// there is memory for them.
template <element T>
[[gnu::always_inline]] inline void place(plain_fit<T>& f, const user_buffers<T>& u,
                                         const collective_facts& facts, int me, int p, int root)
{
    const auto fails = [&f](misfit why, bool failed) {
        if (f.fault == misfit::none && failed) f.fault = why;
    };
    if (u.in_place && !facts.one_vector && f.fault == misfit::none) {
        // One buffer has all parts, this rank's own among them.
        const auto offset = [&](std::span<const part> parts) {
            return parts.empty() ? static_cast<std::size_t>(me) * f.data.own
                                 : parts[static_cast<std::size_t>(me)].offset;
        };
        if (facts.exchanges) f.copy_send = true;
        else if (facts.send == extent::whole) f.data.recv = u.recv + offset(f.data.send_parts);
        else f.data.send = u.recv + offset(f.data.recv_parts);
        if (facts.reduces) f.move_to = u.recv;
    }
    fails(misfit::strided, u.strided);
    if (f.fault == misfit::none && !u.shape.fits()) {
        f.fault = misfit::shape;
        f.expected = u.shape.expected;
        f.found = u.shape.found;
    }
    // Elsewhere than on the root, the other buffer of gather and scatter is not there.
    fails(misfit::misplaced, u.in_place && facts.rooted && !facts.one_vector && me != root);
    const std::size_t each = u.element_bytes();
    fails(misfit::overlap, detail::overlap(u, facts, f.send_elements * each, f.recv_elements * each, p));
    fails(misfit::no_input, f.send_elements > 0 && is_no_memory(u.send));
    fails(misfit::no_result, f.recv_elements > 0 && is_no_memory(u.recv));
}

/// Fits buffers without lists of counts, without a word about what is wrong with them. Where `facts` are
/// known at compile time, little of it remains: that is how a call finds out in some nanoseconds that it has
/// only to be passed on to MPI.
/// @param root  must exist
template <element T>
[[gnu::always_inline]] inline plain_fit<T> fit_plainly(const user_buffers<T>& u,
                                                       const collective_facts& facts, int me, int p, int root)
{
    const int blocks = facts.one_vector ? 1 : p;
    plain_fit<T> f;
    f.data.send = u.send;
    f.data.recv = u.recv;
    if (u.has_bad_count(p)) {
        f.fault = misfit::count;
        return f;
    }
    const plain_lengths lengths = lengths_of(u, facts, p, facts.before(me, root, blocks).count > 0,
                                             facts.after(me, root, blocks).count > 0);
    f.data.count = lengths.count;
    f.data.own = lengths.own;
    f.send_elements = lengths.sent;
    f.recv_elements = lengths.taken;
    if (!lengths.ok()) {
        f.fault = misfit::length;
        f.expected = lengths.expected;
        f.found = lengths.found;
    }
    place(f, u, facts, me, p, root);
    return f;
}

/// Finds the words for a fault.
template <element T>
void say_what_is_wrong(fitted_buffers<T>& f, const user_buffers<T>& u, int me)
{
    verdict& v = f.trouble;
    switch (f.fault) {
    case misfit::none: return;
    case misfit::told: break;
    case misfit::count:
        v = {status::bad_count, me, nobody, -1, 0, static_cast<double>(static_cast<long long>(u.send_size))};
        return;
    case misfit::length:
    case misfit::shape:
        v.code = status::size_mismatch;
        v.expected = static_cast<double>(f.expected);
        v.found = static_cast<double>(f.found);
        break;
    case misfit::strided: v = {status::strided}; break;
    case misfit::misplaced: v = detail::misplaced(f.data.own); break;
    case misfit::overlap: v = {status::overlap}; break;
    case misfit::no_input: v = detail::no_memory(u.send, f.send_elements); break;
    case misfit::no_result: v = detail::no_memory(u.recv, f.recv_elements); break;
    }
    v.rank = me;
    if (v.code != status::bad_count) v.peer = me;  // there it is a place in a list
}

/// Fits the user's buffers to a collective on rank `me` of p. What does not fit becomes trouble, and the
/// caller must tell all ranks of it: this rank cannot just throw while others wait for it.
/// @param tables    2 p entries for a v variant, one for each part between neighbours, otherwise none; the
///                  result may point to them
/// @param compares  ranks compare their arguments in any case. Between neighbours counts are then not among
///                  these, because a rank without neighbours does not know them.
template <element T>
fitted_buffers<T> fit(const user_buffers<T>& u, const collective_facts& facts, int me, int p, int root,
                      std::span<part> tables, bool compares = false)
{
    fitted_buffers<T> f;
    if (!facts.over_edges && (!u.varied || facts.one_vector)) {
        static_cast<plain_fit<T>&>(f) = fit_plainly(u, facts, me, p, root);
    } else {
        f.data.send = u.send;
        f.data.recv = u.recv;
        f.data.varied = facts.over_edges && (u.varied || compares);
        if (u.has_bad_count(p)) {
            f.fault = misfit::count;
        } else if (facts.over_edges) {
            detail::fit_edges(f, u, facts.send == extent::own, tables);
        } else {
            const bool gives = facts.before(me, root, p).count > 0,
                       takes = facts.after(me, root, p).count > 0;
            detail::fit_varied(f, u, facts, me, p, gives, takes, tables);
        }
        if (!f.trouble.ok()) f.fault = misfit::told;
        place(f, u, facts, me, p, root);
    }
    say_what_is_wrong(f, u, me);
    return f;
}

}  // namespace ccoll::inline CCOLL_ABI::detail
