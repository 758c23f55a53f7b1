// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// since.hpp - floor 5. Vectors of which the other ranks hold an earlier state: only what has changed since is
// sent, exactly. After a step of training a few percent of the weights in bf16 have changed.
//
//   bcast(weights, since(previous), root, comm);
//   allgather<Timeout<30>>(weights, since<Otherwise::Whole>(previous), comm);
//
// Ranks prove that they hold the same earlier state: they compare a hash of 128 bits of all of it, before
// anything else is sent. All this rests on the collectives of allgather.hpp and rooted.hpp.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/allgather.hpp>
#include <ccoll/codec/changes/coder.hpp>
#include <ccoll/integrity/content_hash.hpp>
#include <ccoll/rooted.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace policies {
/// What a call with ccoll::since does if ranks do not hold the same previous vector.
namespace Otherwise {
/// previous_differs on all ranks. No vector changes.
struct Error {
    static constexpr const char* name = "Error";
};
/// All ranks get the whole vector, as without `since`. The `reason` of the report says so.
struct Whole {
    static constexpr const char* name = "Whole";
};
}  // namespace Otherwise
}  // namespace policies

namespace detail {

/// What ccoll::since makes.
template <class T, class Else>
struct since_vector {
    const T* first;
    std::size_t n;
    bool contiguous;
};
template <class A>
inline constexpr bool is_since = false;
template <class T, class Else>
inline constexpr bool is_since<since_vector<T, Else>> = true;
template <class... Arguments>
inline constexpr bool is_about_since = (false || ... || is_since<std::remove_cvref_t<Arguments>>);

}  // namespace detail

/// The previous vector of a call: the second argument of bcast and allgather.
/// @tparam Else     Otherwise::Error or Otherwise::Whole: what is done if ranks hold different ones
/// @param previous  a buffer in host memory, which is only read
template <class Else = policies::Otherwise::Error, class Previous>
constexpr auto since(Previous&& previous)
{
    static_assert(buffer<Previous>,
                  "ccoll::since: the previous vector must be a contiguous range in host "
                  "memory (std::vector, std::span, std::array, ...)");
    static_assert(!detail::is_owning_temporary<Previous>,
                  "ccoll::since: the previous vector is a temporary that owns its elements, so no rank can "
                  "have kept it; give it a name");
    static_assert(
        std::is_same_v<Else, policies::Otherwise::Error> || std::is_same_v<Else, policies::Otherwise::Whole>,
        "ccoll::since: what is done otherwise must be Otherwise::Error or Otherwise::Whole");
    if constexpr (buffer<Previous>) {
        static_assert(std::is_same_v<buffer_space<Previous>, host_space>,
                      "ccoll::since: the previous vector is in device memory, and changes are found on the "
                      "host; copy both vectors first");
        using T = std::remove_const_t<buffer_pointee<Previous>>;
        const auto all = as_span(previous);
        return detail::since_vector<T, Else>{all.data(), all.size(), is_contiguous(previous)};
    }
}

namespace detail {

namespace since_reasons {
inline constexpr const char* changes = "all ranks hold the previous vector";
inline constexpr const char* differs = "whole, because ranks hold different previous vectors";
inline constexpr const char* most = "whole, because more than half would have been sent";
inline constexpr const char* none = "whole, because there is no previous vector";
inline constexpr const char* alone = "whole, because there is one rank";
}  // namespace since_reasons

/// The largest word of which an element has a whole number.
template <class T>
using since_word = std::conditional_t<
    sizeof(T) % 8 == 0, std::uint64_t,
    std::conditional_t<sizeof(T) % 4 == 0, std::uint32_t,
                       std::conditional_t<sizeof(T) % 2 == 0, std::uint16_t, std::uint8_t>>>;

/// What ranks tell each other before anything is sent.
struct since_record {
    static constexpr std::uint64_t whole = ~std::uint64_t{0}, nothing_before = whole - 1;

    content_digest held;      ///< of the previous vector
    std::uint64_t bytes = 0;  ///< of the vector
    std::uint64_t sends = 0;  ///< 8-byte units of its stream; `whole` if that is too long
    std::uint64_t root = 0;
    std::uint64_t plan = 0;            ///< a hash
    std::uint64_t trouble = 0;         ///< a status
    std::uint64_t expected_found = 0;  ///< of the trouble, 32 bits each, or as many as there are

    static constexpr std::size_t words = 8;

    void note(status code, std::size_t expected, std::size_t found) noexcept
    {
        if (trouble != 0) return;
        constexpr std::size_t most = 0xFFFFFFFFu;
        trouble = static_cast<std::uint64_t>(code);
        expected_found = std::min(expected, most) | std::uint64_t{std::min(found, most)} << 32;
    }
};
static_assert(sizeof(since_record) == 8 * since_record::words);

/// What all ranks conclude from the records of all.
struct since_decision {
    verdict trouble;
    const char* reason = since_reasons::changes;
    bool whole = false;
};

/// @param sender  whose previous vector counts
inline since_decision decide_since(const std::vector<since_record>& all, int sender, bool rooted,
                                   bool otherwise_whole, std::size_t element_bytes)
{
    const int p = static_cast<int>(all.size());
    const auto of = [&](int r) -> const since_record& { return all[static_cast<std::size_t>(r)]; };
    since_decision d;
    const auto in_elements = [&](std::uint64_t bytes) { return static_cast<double>(bytes / element_bytes); };
    for (int r = 0; r < p && d.trouble.ok(); ++r) {
        const std::uint64_t code = of(r).trouble, numbers = of(r).expected_found;
        if (code != 0)
            d.trouble = {
                code <= static_cast<std::uint64_t>(last_status) ? static_cast<status>(code) : status::corrupt,
                r,
                r,
                -1,
                static_cast<double>(numbers & 0xFFFFFFFFu),
                static_cast<double>(numbers >> 32)};
        else if (of(r).root != of(0).root)
            d.trouble = {status::root_differs,           0, r, -1, static_cast<double>(of(0).root),
                         static_cast<double>(of(r).root)};
        else if (of(r).plan != of(0).plan) d.trouble = {status::plan_differs, 0, r};
        else if (of(r).bytes != of(0).bytes)
            d.trouble = {status::count_differs, 0, r, -1, in_elements(of(0).bytes), in_elements(of(r).bytes)};
    }
    if (!d.trouble.ok()) return d;
    std::uint64_t sends = 0;
    bool nothing_before = false, too_long = false;
    for (int r = rooted ? sender : 0; r < (rooted ? sender + 1 : p); ++r) {
        nothing_before |= of(r).sends == since_record::nothing_before;
        too_long |= of(r).sends == since_record::whole;
        if (!nothing_before && !too_long) sends += of(r).sends;
    }
    too_long |= sends > of(0).bytes / 16 + static_cast<std::uint64_t>(p);
    for (int r = 0; r < p && !nothing_before && d.trouble.ok(); ++r)
        if (!(of(r).held == of(sender).held)) {
            if (!otherwise_whole) d.trouble = {status::previous_differs, r, sender};
            d.whole = true;
            d.reason = since_reasons::differs;
            return d;
        }
    if (nothing_before || too_long) {
        d.whole = true;
        d.reason = nothing_before ? since_reasons::none : since_reasons::most;
    }
    return d;
}

/// Memory for streams. It is taken before the ranks agree, so that all of them hear of it if there is none.
/// What is not used of it costs nothing on systems that commit memory when it is touched.
class since_room {
public:
    /// @return false if there is no memory
    bool take(std::size_t bytes)
    {
        memory_.reset(new (std::nothrow) std::uint64_t[bytes / 8 + 1]);
        return memory_ != nullptr;
    }
    std::byte* bytes() const noexcept { return reinterpret_cast<std::byte*>(memory_.get()); }
    std::uint64_t* units() const noexcept { return memory_.get(); }

private:
    std::unique_ptr<std::uint64_t[]> memory_;
};

/// Writes the stream of a vector, and takes the hash of what it replaces meanwhile.
/// @param most  the stream must not be longer; else it is left off
/// @param to    room for max_slice_bytes more than that
/// @return its length in units of 8 bytes, or since_record::whole
template <class Word>
std::uint64_t write_since(const std::byte* now, const std::byte* before, std::size_t words, std::size_t most,
                          std::byte* to, content_hash& hash, changes::block_changes<Word>& work)
{
    std::byte* end = to;
    const std::byte* const limit = to + most;
    for (std::size_t at = 0; at < words; at += changes::slice_words) {
        const std::size_t n = std::min(changes::slice_words, words - at), from = at * sizeof(Word);
        hash.add({before + from, n * sizeof(Word)});
        if (end <= limit) end = changes::put_slice<Word>(end, now + from, before + from, n, work);
    }
    if (end > limit) return since_record::whole;
    while ((end - to) % 8 != 0) *end++ = std::byte{0};
    return static_cast<std::uint64_t>(end - to) / 8;
}

/// Applies a stream as it arrives.
template <class Word>
class since_reader {
public:
    /// @param out     becomes the new words
    /// @param before  the old ones, which may be where `out` is
    since_reader(std::byte* out, const std::byte* before, std::size_t words)
        : out_(out), before_(before), words_(words)
    {}
    /// @param stream  all of it that has arrived, from its first byte on
    status take(const_byte_span stream) noexcept
    {
        while (done_ < words_) {
            const changes::slice_view slice(stream.subspan(read_));
            if (!slice.whole) break;
            const std::size_t n = std::min(changes::slice_words, words_ - done_), at = done_ * sizeof(Word);
            if (out_ != before_) std::memcpy(out_ + at, before_ + at, n * sizeof(Word));
            if (const status s = changes::apply_slice<Word>(slice.blocks, out_ + at, n); s != status::ok)
                return s;
            done_ += n;
            read_ += slice.bytes;
        }
        return status::ok;
    }
    /// @param stream  all of it
    status take_last(const_byte_span stream) noexcept
    {
        const status s = take(stream);
        return s == status::ok && done_ < words_ ? status::corrupt : s;
    }

private:
    std::byte* out_;
    const std::byte* before_;
    std::size_t words_, done_ = 0, read_ = 0;
};

/// Waits for a call within a call.
inline outcome end_of(request call)
{
    const auto pending = call.release();
    complete(*pending);
    return pending->result();
}

/// One call: begin(), agree(), and then either move(), or the call without `since` if sends_whole().
template <class Collective, class Plan, class T, class Else, class Comm>
class since_call {
    using word = since_word<T>;
    using clock = clock_of<Plan>;
    static constexpr bool rooted = Collective::rooted;
    static constexpr bool otherwise_whole = std::is_same_v<Else, policies::Otherwise::Whole>;
    /// The plan of a call within this one. Its ranks compare their arguments, so that none waits for ever,
    /// and MPI's own call, which does not say how it moves a vector, has no part in it.
    using patience = std::conditional_t<Plan::template names<axis::timeout>,
                                        ccoll::Plan<typename Plan::timeout>, ccoll::Plan<>>;
    template <class... Policies>
    using part_of = plan_of<typename Plan::instrument, patience, typename Plan::integrity,
                            policies::Check::Collective, Policies...>;

public:
    since_call(const Comm& comm, int me, int p, int root, std::span<T> weights,
               const since_vector<T, Else>& previous)
        : comm_(comm), me_(me), p_(p), root_(root), weights_(weights), previous_(previous)
    {}

    /// Writes this rank's stream, and finds the hash of what it holds. Trouble is kept until all ranks hear
    /// of it.
    /// @param contiguous  are both vectors?
    void begin(bool contiguous)
    {
        [[maybe_unused]] const typename clock::scope time(clock_, phase::encode);
        constexpr std::uint32_t own = mixed(mixed(mixed(hash_seed, "since"), Collective::name), Else::name);
        mine_.plan = mixed(mixed(mixed(own, Plan::algo::name), Plan::codec::name),
                           std::uint64_t{sizeof(T)} << 8 | dtype_of<T>);
        mine_.root = static_cast<std::uint64_t>(root_);
        mine_.bytes = weights_.size_bytes();
        check_arguments(contiguous);
        if (mine_.trouble != 0 || p_ == 1) return;
        const std::size_t room = changes::max_slice_bytes<word>(std::min(words_, changes::slice_words)) + 16;
        const bool sends = !rooted || me_ == root_;
        if (sends && before_ == nullptr && words_ > 0) {
            mine_.sends = since_record::nothing_before;
            return take_room(arriving_, weights_.size_bytes() / 2);
        }
        if (!rooted) take_room(arriving_, weights_.size_bytes() / 2 + 8 * static_cast<std::size_t>(p_));
        take_room(stream_, words_ * sizeof(word) / 2 + room);
        if (mine_.trouble != 0) return;
        content_hash hash;
        const std::size_t part = words_ * sizeof(word),
                          at = rooted ? 0 : part * static_cast<std::size_t>(me_);
        if (!rooted) hash.add({now(), at});
        if (sends) {
            const std::unique_ptr<changes::block_changes<word>> work(new (std::nothrow)
                                                                         changes::block_changes<word>);
            if (work == nullptr) return mine_.note(status::out_of_memory, 0, 0);
            mine_.sends =
                write_since<word>(now() + at, before_, words_, part / 2, stream_.bytes(), hash, *work);
        } else {
            hash.add({before_, part});
        }
        if (!rooted) hash.add({now() + at + part, weights_.size_bytes() - at - part});
        mine_.held = hash.finish();
    }

    /// Compares what ranks hold.
    outcome agree()
    {
        records_.resize(static_cast<std::size_t>(p_));
        records_[static_cast<std::size_t>(me_)] = mine_;
        const std::span<std::uint64_t> words(reinterpret_cast<std::uint64_t*>(records_.data()),
                                             records_.size() * since_record::words);
        outcome done = end_of(iallgather<part_of<>>(words, comm_));
        agreement_ = done.facts;
        if (!done.trouble.ok()) return done;
        decided_ = decide_since(records_, sender(), rooted, otherwise_whole, sizeof(T));
        if (p_ == 1 && decided_.trouble.ok()) {
            decided_.whole = true;
            decided_.reason = since_reasons::alone;
        }
        done.trouble = decided_.trouble;
        return done;
    }
    bool sends_whole() const noexcept { return decided_.whole; }

    /// Sends what has changed, and applies what arrives.
    outcome move()
    {
        outcome done;
        if constexpr (rooted) done = move_from_root();
        else done = move_from_all();
        done.facts.codec = "Changes";
        const double factor = sent_units_ == 0 ? 0.0
                                               : static_cast<double>(weights_.size_bytes()) /
                                                     static_cast<double>(8 * sent_units_);
        done.facts.raw_bytes =
            static_cast<std::size_t>(factor * static_cast<double>(done.facts.raw_bytes) + 0.5);
        complete_report(done.facts);
        return done;
    }
    /// Adds what comparing has cost.
    void complete_report(report& facts) const
    {
        facts.reason = decided_.reason;
        facts.agreed = p_ > 1;
        facts.sent_bytes += agreement_.sent_bytes;
        facts.faults.detected += agreement_.faults.detected;
        facts.faults.corrected += agreement_.faults.corrected;
        facts.faults.resent += agreement_.faults.resent;
        facts.breakdown += agreement_.breakdown;
        facts.breakdown += clock_.seconds();
    }

private:
    std::byte* now() const noexcept { return reinterpret_cast<std::byte*>(weights_.data()); }
    int sender() const noexcept { return rooted && root_ >= 0 && root_ < p_ ? root_ : 0; }

    /// Where and how long the vectors are. before_: what this rank's stream replaces, or what a stream is
    /// applied to; null: nothing.
    void check_arguments(bool contiguous)
    {
        const std::size_t n = weights_.size(), p = static_cast<std::size_t>(p_), given = previous_.n;
        if (!contiguous) return mine_.note(status::strided, 0, 0);
        if (rooted && (root_ < 0 || root_ >= p_)) return mine_.note(status::bad_root, 0, 0);
        if (!rooted && n % p != 0) return mine_.note(status::size_mismatch, n / p * p, n);
        if (n > 0 && is_no_memory(weights_.data())) return mine_.note(status::null_buffer, n, 0);
        if (given > 0 && is_no_memory(previous_.first)) return mine_.note(status::null_buffer, given, 0);
        const std::size_t part = rooted ? n : n / p;
        words_ = part * (sizeof(T) / sizeof(word));
        const bool receives = rooted && me_ != root_;
        if (given == 0 && n > 0) {
            if (receives) before_ = now();
            else if (!otherwise_whole) mine_.note(status::size_mismatch, n, 0);
            return;
        }
        if (given != n && given != part) return mine_.note(status::size_mismatch, n, given);
        before_ = reinterpret_cast<const std::byte*>(previous_.first);
        if (given != part) before_ += part * sizeof(T) * static_cast<std::size_t>(me_);
        const std::size_t bytes = weights_.size_bytes();
        if (receives && before_ != now() && share_memory(before_, bytes, now(), bytes))
            mine_.note(status::overlap, 0, 0);
    }
    void take_room(since_room& room, std::size_t bytes)
    {
        if (!room.take(bytes)) mine_.note(status::out_of_memory, 0, 0);
    }

    /// In a few pieces, so that one is applied while the next one arrives. Each is long enough for the
    /// algorithm that long vectors take.
    outcome move_from_root()
    {
        const std::size_t total = records_[static_cast<std::size_t>(root_)].sends,
                          least = static_cast<std::size_t>(p_) * ((std::size_t{128} << 10) / 8),
                          pieces = std::clamp<std::size_t>(total / least, 1, most_pieces);
        sent_units_ = total;
        const bool receives = me_ != root_;
        since_reader<word> reader(now(), before_, words_);
        const auto begin_of = [&](std::size_t piece) { return total * piece / pieces; };
        const auto begin_piece = [&](std::size_t piece) {
            const std::size_t from = begin_of(piece);
            const std::span<std::uint64_t> units(stream_.units() + from, begin_of(piece + 1) - from);
            return ibcast<part_of<typename Plan::algo>>(units, root_, comm_);
        };
        outcome all;
        request next = begin_piece(0);
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            request current = std::move(next);
            if (piece + 1 < pieces) next = begin_piece(piece + 1);
            const outcome done = end_of(std::move(current));
            all.facts += done.facts;
            if (!done.trouble.ok()) return done;
            if (!receives) continue;
            [[maybe_unused]] const typename clock::scope time(clock_, phase::decode);
            const const_byte_span arrived(stream_.bytes(), 8 * begin_of(piece + 1));
            const status s = piece + 1 < pieces ? reader.take(arrived) : reader.take_last(arrived);
            if (s != status::ok) {
                all.trouble = {s, me_, root_};
                return all;
            }
        }
        return all;
    }

    outcome move_from_all()
    {
        const std::size_t p = static_cast<std::size_t>(p_);
        std::vector<std::size_t> counts(p);
        for (std::size_t r = 0; r < p; ++r) {
            counts[r] = records_[r].sends;
            sent_units_ += counts[r];
        }
        const std::span<std::uint64_t> own(stream_.units(), mine_.sends), all(arriving_.units(), sent_units_);
        outcome done = end_of(iallgatherv<part_of<typename Plan::algo>>(own, all, counts, comm_));
        if (!done.trouble.ok()) return done;
        [[maybe_unused]] const typename clock::scope time(clock_, phase::decode);
        const std::byte* from = arriving_.bytes();
        for (std::size_t r = 0; r < p; from += 8 * counts[r++]) {
            if (r == static_cast<std::size_t>(me_)) continue;
            std::byte* const to = now() + r * words_ * sizeof(word);
            since_reader<word> reader(to, to, words_);
            if (const status s = reader.take_last({from, 8 * counts[r]}); s != status::ok) {
                done.trouble = {s, me_, static_cast<int>(r)};
                break;
            }
        }
        return done;
    }

    static constexpr std::size_t most_pieces = 4;

    const Comm& comm_;
    int me_, p_, root_;
    std::span<T> weights_;
    since_vector<T, Else> previous_;
    const std::byte* before_ = nullptr;
    std::size_t words_ = 0;  ///< of a part
    std::size_t sent_units_ = 0;
    since_room stream_, arriving_;
    since_record mine_;
    std::vector<since_record> records_;
    since_decision decided_;
    report agreement_;
    clock clock_;
};

template <class How, class Collective>
struct since_form {
    using result = typename How::result;
    static constexpr form_shape shape = Collective::rooted ? form_shape::rooted_since : form_shape::since;

    template <class Choice, class Weights, class T, class Else, communicator Comm, class... Extra>
        requires(!Collective::rooted && is_range<Weights>)
    static result call(const Choice&, Weights&& weights, const since_vector<T, Else>& previous,
                       const Comm& comm, Extra&&... extra)
    {
        return check<lost_arguments<How, Weights>(), Choice>(weights, previous, 0, comm,
                                                             std::forward<Extra>(extra)...);
    }
    template <class Choice, class Weights, class T, class Else, communicator Comm, class... Extra>
        requires(Collective::rooted && is_range<Weights>)
    static result call(const Choice&, Weights&& weights, const since_vector<T, Else>& previous, int root,
                       const Comm& comm, Extra&&... extra)
    {
        return check<lost_arguments<How, Weights>(), Choice>(weights, previous, root, comm,
                                                             std::forward<Extra>(extra)...);
    }

private:
    template <call_fault Lost, class Choice, class Weights, class T, class Else, class Comm, class... Extra>
    static result check(Weights& weights, const since_vector<T, Else>& previous, int root, const Comm& comm,
                        Extra&&... extra)
    {
        using plan = typename plans_of<Choice>::first;
        if constexpr (constexpr call_fault fault = or_lost<Lost>(
                          fault_of<How, Collective, Choice, Weights&, Weights&, Comm, Extra...>);
                      fault != call_fault::none) {
            refuse<fault, Choice, How, Collective, Weights, Comm, Extra...>();
            return {};
        } else if constexpr (!std::is_same_v<buffer_space<Weights>, host_space>) {
            static_assert(never<Weights>,
                          "ccoll: changes since a previous vector are found on the host, and "
                          "this buffer is in device memory; copy it first");
            return {};
        } else if constexpr (is_strided<Weights>) {
            static_assert(never<Weights>,
                          "ccoll: a strided view does not go with ccoll::since; copy the "
                          "elements to a contiguous buffer first");
            return {};
        } else if constexpr (!std::is_same_v<buffer_pointee<Weights>, T>) {
            static_assert(never<Weights>,
                          "ccoll: a vector and what ccoll::since is given must hold the same "
                          "element type; convert one of them first");
            return {};
        } else if constexpr (plan::codec::lossy) {
            static_assert(never<Weights>,
                          "ccoll: with ccoll::since all ranks end with the sender's bits, and "
                          "this codec is lossy; use Codec::Lossless, or name no codec");
            return {};
        } else if constexpr (!std::is_same_v<Choice, plan_choice<plan>>) {
            static_assert(never<Weights>,
                          "ccoll: a call with ccoll::since takes no menu and no Codec::Auto; "
                          "name its policies");
            return {};
        } else {
            return run<plan>(weights, previous, root, comm, extras(extra...).code);
        }
    }

    template <class Plan, class Weights, class T, class Else, class Comm>
    static report run(Weights& weights, const since_vector<T, Else>& previous, int root, const Comm& comm,
                      std::error_code* code)
    {
        if (!is_possible(comm))
            return How::refused(Collective::name, status::no_communicator, not_a_communicator, code);
        auto link = as_transport(comm, Plan::timeout::seconds);
        if (const status refusal = link.refusal(); refusal != status::ok)
            return How::refused(Collective::name, refusal, link.explain(), code);
        since_call<Collective, Plan, T, Else, Comm> call(comm, link.rank(), link.size(), root,
                                                         as_span(weights), previous);
        call.begin(is_contiguous(weights) && previous.contiguous);
        outcome done = call.agree();
        if (!done.trouble.ok()) return conclude(Collective::name, done, code);
        if (!call.sends_whole()) {
            done = call.move();
            return conclude(Collective::name, done, code);
        }
        report facts;
        if constexpr (Collective::rooted) {
            facts = code != nullptr ? ccoll::bcast<Plan>(as_span(weights), root, comm, *code)
                                    : ccoll::bcast<Plan>(as_span(weights), root, comm);
        } else {
            facts = code != nullptr ? ccoll::allgather<Plan>(as_span(weights), comm, *code)
                                    : ccoll::allgather<Plan>(as_span(weights), comm);
        }
        call.complete_report(facts);
        return facts;
    }
};

}  // namespace detail

/// bcast of what has changed: afterwards all ranks hold the bits of the root's `weights`.
///
///   bcast<P...>(weights, since(previous), root, comm, extra...)
///
/// @param weights   on the root the new vector, which is not changed. Elsewhere it becomes that vector. It
///                  holds the previous one, unless `previous` does.
/// @param previous  on the root the vector that all other ranks hold, as long as `weights`. It is not
///                  changed. Elsewhere it is empty or the same memory as `weights`, which is then updated in
///                  place; or a vector of its own. Empty on the root: there is none, and with
///                  Otherwise::Whole all is sent.
/// Policies, elements and further arguments are those of bcast without `since`. Codecs are exact: they are
/// for calls in which the whole vector is sent. Elements are compared bit by bit, whatever they are.
/// Errors: previous_differs on all ranks if a rank does not hold the root's previous vector, unless
/// since<Otherwise::Whole> says that all is sent then; count_differs, root_differs and plan_differs, on all
/// ranks, before anything has been sent. After an error in the middle, `weights` is unspecified where it
/// would have been written, and the next call with `since` notices.
/// @return a report with codec "Changes" if changes were sent. `reason` says what was sent and why. All is
///         sent if changes would have more than half of the bytes.
/// Cost: a pass over `previous` on each rank, and one over both vectors on the root; one allgather of 64
/// bytes; then a bcast of the changes, in up to four pieces, each applied while the next one arrives. A
/// change of a bf16 weight takes about 9 to 12 bits if 1 to 3 % have changed by a few units in the last
/// place, 22 to 24 if its new value is any other. Memory: half of the vector on each rank is reserved, and
/// as much of it is used as is sent.
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
report bcast(Arguments&&... arguments)
{
    return detail::ask<detail::since_form<detail::blocking, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}

/// allgather, in place, of what has changed in each rank's part: afterwards all ranks hold all new parts.
///
///   allgather<P...>(weights, since(previous), comm, extra...)
///
/// @param weights   p parts of n elements. This rank's part is new, and is not changed. The others are
///                  those of the previous vector, and become what their ranks have.
/// @param previous  the previous vector, p * n elements, of which only this rank's part is read; or this
///                  part alone, n elements. Empty: as in bcast.
/// The rest is as in bcast. The hash is that of the whole previous vector.
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
report allgather(Arguments&&... arguments)
{
    return detail::ask<detail::since_form<detail::blocking, collective::allgather>, Policies...>(
        std::forward<Arguments>(arguments)...);
}

namespace detail {
template <class... Call>
constexpr void refuse_begun_since()
{
    static_assert(never<Call...>,
                  "ccoll: calls with ccoll::since are blocking; make them on a thread of "
                  "yours, with a communicator of its own");
}
}  // namespace detail
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
request ibcast(Arguments&&...)
{
    detail::refuse_begun_since<Policies..., Arguments...>();
    return {};
}
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
request iallgather(Arguments&&...)
{
    detail::refuse_begun_since<Policies..., Arguments...>();
    return {};
}
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
persistent bcast_init(Arguments&&...)
{
    detail::refuse_begun_since<Policies..., Arguments...>();
    return {};
}
template <class... Policies, class... Arguments>
    requires(detail::is_about_since<Arguments...>)
persistent allgather_init(Arguments&&...)
{
    detail::refuse_begun_since<Policies..., Arguments...>();
    return {};
}

// The parameters, as an IDE shows them (entry/facade.hpp).
CCOLL_SHOWN((auto& weights, auto since_previous, int root), report, bcast, error_code)
CCOLL_SHOWN((auto& weights, auto since_previous), report, allgather, error_code)

}  // namespace ccoll::inline CCOLL_ABI
