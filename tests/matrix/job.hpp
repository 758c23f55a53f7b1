// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs one entry of the matrix, from its data to a verdict, for one element type.
#pragma once

#include <map>
#include <optional>

#include "support/oracle.hpp"
#include "plans.hpp"
#include "suite.hpp"

namespace matrix {

using ccoll::extent;
using ccoll::report;
using ccoll::detail::part;

/// Elements between two guards. All of it is filled with a pattern first.
template <class T>
class guarded {
public:
    explicit guarded(std::size_t n = 0) : n_(n), all_(n + 2 * margin) { clear(); }
    void clear() { std::memset(static_cast<void*>(all_.data()), pattern, all_.size() * sizeof(T)); }
    std::span<T> span() { return {all_.data() + margin, n_}; }
    std::span<const T> span() const { return {all_.data() + margin, n_}; }
    /// @param parts  the parts that the call may change
    bool untouched_but(std::span<const part> parts) const
    {
        std::vector<bool> may(all_.size());
        for (const part& each : parts)
            for (std::size_t i = 0; i < each.count; ++i) may[margin + each.offset + i] = true;
        const auto* bytes = reinterpret_cast<const unsigned char*>(all_.data());
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!may[i])
                for (std::size_t b = 0; b < sizeof(T); ++b)
                    if (bytes[i * sizeof(T) + b] != pattern) return false;
        return true;
    }

private:
    static constexpr std::size_t margin = 16;
    static constexpr unsigned char pattern = 0xC3;
    std::size_t n_;
    std::vector<T> all_;
};

/// How parts lie in a buffer, and the counts that say so.
struct layout {
    std::size_t size = 0;
    std::vector<part> parts;
    std::vector<int> counts, displacements;  ///< displacements are empty if parts are contiguous
};

inline layout lay(const std::vector<std::size_t>& counts, cut how, fields::generator random)
{
    layout l;
    l.parts.resize(counts.size());
    std::vector<std::size_t> sequence(counts.size());
    for (std::size_t i = 0; i < sequence.size(); ++i) sequence[i] = i;
    if (how == cut::shuffled)
        for (std::size_t i = sequence.size(); i > 1; --i)
            std::swap(sequence[i - 1], sequence[random.below(i)]);
    const bool gaps = how == cut::gaps || how == cut::shuffled;
    for (const std::size_t i : sequence) {
        if (gaps) l.size += random.below(4);
        l.parts[i] = {l.size, counts[i]};
        l.size += counts[i];
    }
    if (gaps) l.size += random.below(4);
    for (const part& each : l.parts) {
        l.counts.push_back(static_cast<int>(each.count));
        if (gaps) l.displacements.push_back(static_cast<int>(each.offset));
    }
    return l;
}

/// An entry as the ranks see it that agree on it: who contributes what, and who must get what.
template <class T>
struct picture {
    spec s;
    ccoll::detail::collective_facts facts;
    std::vector<std::vector<T>> data;                ///< for each rank its parts, one after another
    std::vector<std::vector<std::size_t>> portions;  ///< their lengths

    picture(const spec& wanted, const ccoll::detail::collective_facts& f) : s(wanted), facts(f)
    {
        for (int r = 0; r < s.p; ++r) {
            portions.push_back(given_by(r));
            std::size_t n = 0;
            for (const std::size_t each : portions.back()) n += each;
            data.push_back(data_of<T>(s.field, n, s.seed * 64 + static_cast<unsigned>((r + s.shift) % s.p)));
        }
    }

    bool gives(int r) const
    {
        return !facts.rooted || facts.reduces || facts.send == extent::own || r == s.root;
    }
    bool takes(int r) const
    {
        return !facts.rooted || (!facts.reduces && (facts.one_vector || facts.recv == extent::own)) ||
               r == s.root;
    }
    bool in_place(int r) const
    {
        return facts.rooted && !(facts.one_vector && !facts.reduces) ? s.in_place && r == s.root
                                                                     : s.in_place || one_buffer();
    }
    bool one_buffer() const { return facts.one_vector && facts.rooted && !facts.reduces; }

    std::size_t portion(int from, int to) const
    {
        const auto mixed = [&](int a, int b) {
            return fields::generator(s.seed * 8191 + static_cast<unsigned>(a * 67 + b)).below(2 * s.n + 1);
        };
        switch (s.parts) {
        case cut::no:
        case cut::even: return s.n;
        case cut::lone: return (facts.exchanges ? (from + to) % s.p == 0 : to == s.p / 2) ? s.n : 0;
        default:
            if (!facts.exchanges) return mixed(0, to);
            return s.in_place ? mixed(std::min(from, to), std::max(from, to)) : mixed(from, to);
        }
    }
    /// Lengths of all parts of a vector that has one per rank: what `r` sends to each, or receives from each.
    std::vector<std::size_t> row_of(int r, bool receives) const
    {
        std::vector<std::size_t> counts;
        for (int other = 0; other < s.p; ++other)
            counts.push_back(receives ? portion(other, r) : portion(r, other));
        return counts;
    }
    std::vector<std::size_t> parts_of_all(int r, bool receives) const
    {
        if (facts.exchanges) return row_of(r, receives);
        return row_of(0, false);
    }
    std::vector<std::size_t> given_by(int r) const
    {
        if (!gives(r)) return {};
        if (facts.one_vector) return {s.n};
        if (facts.send == extent::own) return {portion(0, r)};
        return parts_of_all(r, false);
    }
    std::vector<std::size_t> taken_by(int r) const
    {
        if (!takes(r)) return {};
        if (facts.one_vector) return {s.n};
        if (facts.recv == extent::own) return {portion(0, r)};
        return parts_of_all(r, true);
    }
    layout sends(int r) const
    {
        const bool whole = facts.send == extent::whole && !facts.one_vector;
        return lay(given_by(r), whole ? s.parts : cut::no,
                   fields::generator(s.seed * 31 + static_cast<unsigned>(2 * r)));
    }
    layout receives(int r) const
    {
        const bool whole = facts.recv == extent::whole && !facts.one_vector;
        return lay(taken_by(r), whole ? s.parts : cut::no,
                   fields::generator(s.seed * 31 + static_cast<unsigned>(2 * r + 1)));
    }

    static std::size_t before(const std::vector<std::size_t>& counts, std::size_t index)
    {
        std::size_t n = 0;
        for (std::size_t i = 0; i < index; ++i) n += counts[i];
        return n;
    }
    /// Where part `index` of what rank r gives begins in data[r].
    const T* given(int r, std::size_t index) const
    {
        return data[static_cast<std::size_t>(r)].data() +
               before(portions[static_cast<std::size_t>(r)], index);
    }
    /// Where the result of rank r lies in the reduced vector.
    std::size_t reduced_from(int r) const
    {
        return facts.recv == extent::own ? before(parts_of_all(r, false), static_cast<std::size_t>(r)) : 0;
    }
    /// The source of part `index` of the result of rank r, if data only move.
    /// @param own  set if the part has not travelled
    const T* moved_from(int r, std::size_t index, bool& own) const
    {
        const auto me = static_cast<std::size_t>(r);
        own = false;
        if (facts.one_vector) return given(s.root, 0);
        if (facts.recv == extent::own) {
            own = r == s.root;
            return given(s.root, me);
        }
        own = static_cast<int>(index) == r && (facts.rooted || facts.exchanges);
        if (facts.exchanges) return given(static_cast<int>(index), me);
        return given(static_cast<int>(index), 0);
    }
};

/// What one rank did and saw.
template <class T>
struct rank_view {
    guarded<T> send, recv;
    layout sends, receives;
    std::vector<T> result;
    report facts;
    std::string text;  ///< of an error
    ccoll::status code = ccoll::status::ok;
    bool threw = false, send_kept = true, guards = true, repeats = true;
};

/// The reproducible sums seen so far, found by their operands.
template <class T>
using memory_of_sums = std::map<std::string, std::vector<std::optional<T>>>;

template <class T, class Comm>
class typed_job final : public job<Comm> {
public:
    using row_type = row<T, Comm>;
    typed_job(const spec& s, const row_type& r, const spec& odd, const row_type& odd_row,
              memory_of_sums<T>& sums)
        : row_(r), odd_row_(odd_row), all_(s, r.facts), views_(static_cast<std::size_t>(s.p)), sums_(sums)
    {
        if (s.bad != fault::no) odd_.emplace(odd, odd_row.facts);
    }

    void run(int rank, const Comm& comm, void (*between)(const Comm&)) override
    {
        const bool odd = odd_ && rank == all_.s.odd;
        const picture<T>& mine = odd ? *odd_ : all_;
        const row_type& r = odd ? odd_row_ : row_;
        rank_view<T>& v = view(rank);
        v = rank_view<T>();
        make_buffers(mine, rank, v);
        fill(mine, rank, v);
        const std::vector<std::byte> kept = bytes_of(v.send.span());
        this_manner.how = mine.s.how;
        this_manner.turns = static_cast<int>(mine.s.seed % 3) * (rank % 3);
        this_manner.between = [&] { between(comm); };
        std::uint64_t first = 0;
        this_manner.again = [&] {
            take_result(v);
            first = oracle::hash(v.result);
            fill(mine, rank, v);
        };
        try {
            v.facts = r.call(order_for(mine, rank, v), comm);
            take_result(v);
            v.repeats = mine.s.how != way::persistent || first == oracle::hash(v.result);
        } catch (const ccoll::error& e) {
            v.threw = true;
            v.text = e.what();
            v.code = e.what_happened().code;
        } catch (const std::exception& e) {
            v.threw = true;
            v.text = std::string("not a ccoll::error: ") + e.what();
            v.code = ccoll::last_status;
        }
        this_manner = {};
        const bool separate = !mine.in_place(rank);
        v.send_kept = !separate || kept == bytes_of(v.send.span());
        v.guards =
            v.send.untouched_but(separate ? std::span<const part>(v.sends.parts) : std::span<const part>()) &&
            v.recv.untouched_but(may_change(mine, rank, v));
    }

    std::string judge(int rank) override
    {
        rank_view<T>& v = view(rank);
        std::string wrong;
        const auto expect = [&](bool holds, const std::string& what) {
            if (!holds) wrong += "\n  rank " + std::to_string(rank) + ": " + what;
        };
        expect(v.guards, "elements outside of the result were written");
        expect(v.send_kept, "the send buffer has changed");
        if (all_.s.bad != fault::no) {
            expect(!v.threw || expected_code(v.code), "told something else: " + v.text);
            return wrong;
        }
        expect(!v.threw, "threw: " + v.text);
        if (v.threw) return wrong;
        judge_report(v.facts, expect);
        expect(v.repeats, "the second start gave other bits than the first");
        if (all_.takes(rank)) judge_result(rank, v, expect);
        return wrong;
    }

    summary tell(int rank) const override
    {
        const rank_view<T>& v = views_[static_cast<std::size_t>(rank)];
        summary s;
        s.bits = oracle::hash(v.result);
        s.kept_exactly = v.facts.fallback_blocks + v.facts.special_values;
        s.told = v.threw;
        const ccoll::detail::collective_facts& f = all_.facts;
        s.everybody_equal = !v.threw && v.facts.same_bits && f.recv == extent::whole && !f.exchanges &&
                            !(f.rooted && (f.reduces || f.send == extent::own));
        return s;
    }
    std::string judge_all(const std::vector<summary>& ranks) const override
    {
        std::string wrong;
        std::size_t told = 0, kept_exactly = 0;
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            told += ranks[r].told;
            kept_exactly += ranks[r].kept_exactly;
            if (all_.s.bad == fault::no && ranks[0].everybody_equal != 0 && ranks[r].bits != ranks[0].bits)
                wrong += "\n  rank " + std::to_string(r) + " has other bits than rank 0";
        }
        if (all_.s.bad != fault::no && told != ranks.size() && (told == 0 || everybody_hears())) {
            wrong +=
                "\n  told on " + std::to_string(told) + " of " + std::to_string(ranks.size()) + " ranks:";
            for (std::size_t r = 0; r < ranks.size(); ++r)
                if (ranks[r].told != 0) wrong += " " + std::to_string(r);
            for (const rank_view<T>& v : views_)
                if (v.threw && told > 0) return wrong + "\n  " + v.text;
        }
        if (all_.s.bad == fault::no && row_.lossy && all_.s.p > 1 && !fell_back_ && special_values_travel() &&
            kept_exactly == 0)
            wrong += "\n  NaN or Inf travelled, and no block or value is said to have been kept as it is";
        return wrong;
    }

private:
    static std::vector<std::byte> bytes_of(std::span<const T> values)
    {
        const std::span<const std::byte> bytes = std::as_bytes(values);
        return {bytes.begin(), bytes.end()};
    }
    rank_view<T>& view(int rank) { return views_[static_cast<std::size_t>(rank)]; }

    static void make_buffers(const picture<T>& mine, int rank, rank_view<T>& v)
    {
        const bool in_place = mine.in_place(rank);
        const ccoll::detail::collective_facts& f = mine.facts;
        v.sends = mine.sends(rank);
        v.receives = mine.receives(rank);
        if (in_place) {  // the place of this rank's input in the one buffer
            if (f.exchanges) v.sends = v.receives;
            else if (f.send == extent::own)
                v.sends.parts = {v.receives.parts[static_cast<std::size_t>(rank)]};
            else if (f.recv == extent::own)
                v.receives.parts = {{f.reduces ? 0 : v.sends.parts[static_cast<std::size_t>(rank)].offset,
                                     v.receives.parts[0].count}};
        }
        v.send = guarded<T>(in_place ? 0 : v.sends.size);
        v.recv = guarded<T>(in_place ? std::max(v.sends.size, v.receives.size) : v.receives.size);
    }
    /// Buffers as they are before the call.
    static void fill(const picture<T>& mine, int rank, rank_view<T>& v)
    {
        v.send.clear();
        v.recv.clear();
        const std::span<T> to = mine.in_place(rank) ? v.recv.span() : v.send.span();
        for (std::size_t i = 0; i < mine.portions[static_cast<std::size_t>(rank)].size(); ++i)
            if (const std::size_t n = mine.portions[static_cast<std::size_t>(rank)][i]; n > 0)
                std::memcpy(static_cast<void*>(to.data() + v.sends.parts[i].offset), mine.given(rank, i),
                            n * sizeof(T));
    }
    static void take_result(rank_view<T>& v)
    {
        std::size_t n = 0;
        for (const part& each : v.receives.parts) n += each.count;
        v.result.resize(n);
        n = 0;
        for (const part& each : v.receives.parts) {
            if (each.count > 0)
                std::memcpy(static_cast<void*>(v.result.data() + n), v.recv.span().data() + each.offset,
                            each.count * sizeof(T));
            n += each.count;
        }
    }
    static order<T> order_for(const picture<T>& mine, int rank, rank_view<T>& v)
    {
        order<T> o;
        const bool in_place = mine.in_place(rank);
        const ccoll::detail::collective_facts& f = mine.facts;
        o.recv = v.recv.span();
        o.send = in_place ? std::span<const T>(v.recv.span()) : std::span<const T>(v.send.span());
        o.in_place = in_place && !(f.reduces && f.rooted);  // reduce: the same buffer twice
        o.varied = mine.s.parts != cut::no;
        o.root = mine.s.root;
        o.eb = mine.s.eb;
        const auto list = [](const std::vector<int>& values) {
            return values.empty() ? std::span<const int>() : std::span<const int>(values);
        };
        if (!o.varied) return o;
        if (f.send == extent::whole && mine.gives(rank) && !(f.exchanges && in_place)) {
            o.send_counts = list(v.sends.counts);
            o.send_displacements = list(v.sends.displacements);
        }
        if (f.recv == extent::whole && mine.takes(rank)) {
            o.recv_counts = list(v.receives.counts);
            o.recv_displacements = list(v.receives.displacements);
        }
        return o;
    }
    /// In place, everything that is not part of the result may be overwritten.
    static std::vector<part> may_change(const picture<T>& mine, int rank, const rank_view<T>& v)
    {
        std::vector<part> parts = v.receives.parts;
        if (!mine.in_place(rank)) return parts;
        if (mine.facts.reduces && mine.facts.recv == extent::own) parts.push_back({0, v.recv.span().size()});
        parts.insert(parts.end(), v.sends.parts.begin(), v.sends.parts.end());
        return parts;
    }

    bool expected_code(ccoll::status code) const
    {
        using ccoll::status;
        switch (all_.s.bad) {
        case fault::no: return code == status::ok;
        case fault::count: return code == status::count_differs;
        case fault::root: return code == status::root_differs;
        case fault::no_such_root: return code == status::bad_root || code == status::root_differs;
        case fault::bound: return code == status::bound_differs;
        case fault::plan:
            return code == status::plan_differs || code == status::count_differs ||
                   code == status::bound_differs || code == status::root_differs;
        }
        return false;
    }
    /// If ranks do not compare arguments, a wrong count affects only the ranks that get messages from this
    /// rank. Others may have a good result.
    bool everybody_hears() const
    {
        const ccoll::detail::collective_facts& f = all_.facts;
        const bool compares =
            row_.name.check == "Collective" || f.rooted || all_.s.parts != cut::no || row_.relative;
        return compares || f.recv == extent::whole;
    }

    template <class Expect>
    void judge_report(const report& facts, Expect expect)
    {
        const spec& s = all_.s;
        const bool many = s.p > 1;
        const bool to_mpi = facts.ran_by == ccoll::ran_by::mpi;
        const bool may_fall_back = row_.homomorphic;
        const bool fell_back = may_fall_back && many && std::string(facts.codec) == "None";
        fell_back_ = fell_back_ || fell_back;
        const std::string placement = facts.placement;
        // On two levels all ranks encode if encoded streams are added, and otherwise only the first ranks of
        // the nodes.
        const bool lossy = row_.lossy && many && !fell_back &&
                           (!row_.hierarchical || placement == "Homomorphic" || node_count(s.p) > 1);
        expect(facts.trouble.ok(), "the report has trouble");
        expect(!to_mpi || (row_.handed_over && s.parts == cut::no), "handed over to MPI");
        expect(to_mpi == (std::string(facts.algorithm) == "MPI"), "who ran it, and the name");
        expect(to_mpi || row_.name.algo == "Auto" ||
                   row_.name.algo.substr(0, row_.name.algo.find('.')) == facts.algorithm,
               std::string("algorithm ") + facts.algorithm);
        expect(fell_back || row_.name.codec == facts.codec, std::string("codec ") + facts.codec);
        expect(to_mpi || fell_back || row_.name.placement == "Auto" || row_.name.placement == placement,
               "placement " + placement);
        expect(facts.exact == !lossy, facts.exact ? "says exact" : "says not exact");
        expect((facts.worst_case_error > 0) == lossy,
               "worst_case_error " + std::to_string(facts.worst_case_error));
        expect((facts.error_bound > 0) == lossy, "error_bound " + std::to_string(facts.error_bound));
        expect(facts.probable_error <= facts.worst_case_error, "the probable error is larger than the worst");
        expect(lossy || facts.fallback_blocks == 0,
               "exact, and yet " + std::to_string(facts.fallback_blocks) + " blocks kept as they are");
        expect(many || facts.sent_bytes == 0, "one rank sent something");
        if (lossy && row_.bound_is_an_argument && !row_.end_to_end)
            expect(facts.error_bound == s.eb, "error_bound is not what was asked for");
        if (lossy && row_.bound_is_an_argument && row_.end_to_end)
            expect(facts.worst_case_error <= s.eb, "the end-to-end bound is exceeded");
        if (lossy && row_.relative) {
            const double range = input_range();
            const double part = range > 0 ? facts.error_bound / (row_.bound * range) : 1;
            if (!row_.end_to_end)
                expect(std::fabs(part - 1) < 1e-12, "error_bound is not that part of the range");
            if (range > 0 && row_.end_to_end)
                expect(facts.worst_case_error <= row_.bound * range * (1 + 1e-12),
                       "the end-to-end bound is exceeded");
        }
        if (fell_back && row_.bound_is_an_argument && !row_.end_to_end)
            expect(largest_input() > s.eb * 0x1p40 || s.eb < 1e-37, "reduced exactly without need");
        expect(!lossy || row_.name.placement == "PerHop" || facts.same_bits, "says that bits may differ");

        const bool relative = row_.relative, collective = row_.name.check == "Collective",
                   varied = s.parts != cut::no;
        const std::size_t whole = all_.facts.one_vector ? s.n : s.n * static_cast<std::size_t>(s.p);
        const bool large = whole * sizeof(T) >= ccoll::detail::agreement_bytes;
        const bool due = collective || relative || varied ||
                         (row_.hierarchical && row_.name.check != "Local") ||
                         (row_.name.check == "Auto" && !to_mpi && (all_.facts.rooted || large));
        // Sums of encoded values to a root, or on two levels, need it because values may be too large. A
        // reduce_scatter needs it if they are.
        const bool scatters = all_.facts.reduces && all_.facts.recv == ccoll::extent::own;
        const bool maybe =
            row_.homomorphic &&
            ((row_.name.check == "Local" && (all_.facts.rooted || row_.hierarchical)) || scatters);
        expect((maybe && !due) || facts.agreed == (many && due),
               facts.agreed ? "compared arguments" : "did not compare arguments");
    }

    template <class Expect>
    void judge_result(int rank, rank_view<T>& v, Expect expect)
    {
        const spec& s = all_.s;
        const double worst = v.facts.worst_case_error;
        std::size_t wrong = 0, first = 0, at = 0;
        std::string found, wanted;
        const auto note = [&](std::size_t i, const std::string& is, const std::string& should_be) {
            if (wrong++ == 0) {
                first = i;
                found = is;
                wanted = should_be;
            }
        };
        if (all_.facts.reduces) {
            const std::size_t from = all_.reduced_from(rank);
            reduce_everything();
            const operation op = s.p == 1 ? operation::sum : row_.op;
            for (std::size_t i = 0; i < v.result.size(); ++i)
                if (const exact_result<T>& e = reduced_[from + i]; !holds(op, v.result[i], e, s.p, worst))
                    note(i, shown(v.result[i]), shown(e));
            if (std::string(v.facts.placement) == "Homomorphic" && !v.facts.exact && !row_.hierarchical)
                remember_sum(v, from, expect);
        } else {
            for (std::size_t j = 0; j < v.receives.parts.size(); ++j) {
                bool own = false;
                const T* const original = all_.moved_from(rank, j, own);
                for (std::size_t i = 0; i < v.receives.parts[j].count; ++i, ++at)
                    if (!arrived(v.result[at], original[i], own || v.facts.exact, worst))
                        note(at, shown(v.result[at]), shown(original[i]));
            }
        }
        expect(wrong == 0, std::to_string(wrong) + " of " + std::to_string(v.result.size()) +
                               " elements are wrong, first " + std::to_string(first) + ": " + found +
                               ", wanted " + wanted + " give or take " + number(worst));
    }
    static std::string number(double x)
    {
        char text[32];
        std::snprintf(text, sizeof text, "%.17g", x);
        return text;
    }
    static bool arrived(const T& found, const T& original, bool exact, double worst)
    {
        if (exact || !is_number<T>) return same_bits(found, original);
        for (int k = 0; k < kind<T>::components; ++k) {
            const auto a = component(found, k), b = component(original, k);
            if (!std::isfinite(wide(b))) {
                if (!same_bits(a, b)) return false;
            } else if (!(std::fabs(wide(a) - wide(b)) <= static_cast<long double>(worst))) {
                return false;
            }
        }
        return true;
    }

    void reduce_everything()
    {
        if (!reduced_.empty()) return;
        const std::size_t n = all_.data[0].size();
        std::vector<T> operands(all_.data.size());
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t r = 0; r < operands.size(); ++r)
                std::memcpy(static_cast<void*>(&operands[r]), &all_.data[r][i], sizeof(T));
            reduced_.push_back(fold(all_.s.p == 1 ? operation::sum : row_.op, operands));
        }
    }
    /// The same operands and the same bound: the same bits, whatever the algorithm, the order of the ranks
    /// and the collective.
    template <class Expect>
    void remember_sum(const rank_view<T>& v, std::size_t from, Expect expect)
    {
        const spec& s = all_.s;
        const std::string key = std::to_string(static_cast<int>(row_.op)) + " " + std::to_string(s.p) + " " +
                                s.field + " " + std::to_string(s.seed) + " " + number(v.facts.error_bound);
        std::vector<std::optional<T>>& known = sums_[key];
        if (known.size() < from + v.result.size()) known.resize(from + v.result.size());
        std::size_t other = 0, first = 0;
        for (std::size_t i = 0; i < v.result.size(); ++i) {
            std::optional<T>& each = known[from + i];
            if (!each) each = v.result[i];
            else if (!same_bits(*each, v.result[i]) && other++ == 0) first = from + i;
        }
        expect(other == 0,
               "a reproducible sum has other bits than in an earlier entry, first at " +
                   std::to_string(first) +
                   (other > 0 ? ": " + shown(v.result[first - from]) + ", earlier " + shown(*known[first])
                              : ""));
    }

    double largest_input() const
    {
        double largest = 0;
        for (const auto& each : all_.data)
            for (const T& x : each)
                for (int k = 0; k < kind<T>::components; ++k) {
                    const auto a = static_cast<double>(std::fabs(wide(component(x, k))));
                    if (a > largest)
                        largest = a;  // infinity as well, because a codec may be unable to add it
                }
        return largest;
    }
    double input_range() const
    {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (const auto& each : all_.data)
            for (const T& x : each)
                for (int k = 0; k < kind<T>::components; ++k)
                    if (const auto a = static_cast<double>(wide(component(x, k))); std::isfinite(a)) {
                        low = std::min(low, a);
                        high = std::max(high, a);
                    }
        const double range = high > low ? high - low : 0;
        // Others follow another rule, or may have fill values at their ends.
        return row_.bound * range > 1e-37 && range < 1e14 ? range : 0;
    }
    /// Some message must have held NaN or Inf in a form that is kept as it is.
    bool special_values_travel() const
    {
        const ccoll::detail::collective_facts& f = all_.facts;
        const spec& s = all_.s;
        if (row_.hierarchical && node_count(s.p) < 2) return false;
        if (f.reduces) {
            if (row_.homomorphic || f.rooted || f.recv == extent::own ||
                (row_.op != operation::sum && row_.op != operation::average))
                return false;
        }
        for (int r = 0; r < s.p; ++r) {
            const auto& counts = all_.portions[static_cast<std::size_t>(r)];
            for (std::size_t j = 0; j < counts.size(); ++j) {
                if (f.exchanges && static_cast<int>(j) == r) continue;
                if (f.rooted && !f.one_vector &&
                    (f.send == extent::own ? r == s.root : static_cast<int>(j) == s.root))
                    continue;
                for (std::size_t i = 0; i < counts[j]; ++i)
                    if (!is_finite(all_.given(r, j)[i])) return true;
            }
        }
        return false;
    }

    const row_type& row_;
    const row_type& odd_row_;
    picture<T> all_;
    std::optional<picture<T>> odd_;
    std::vector<rank_view<T>> views_;
    std::vector<exact_result<T>> reduced_;
    memory_of_sums<T>& sums_;
    bool fell_back_ = false;
};

template <class T, class Comm>
class typed_suite final : public suite<Comm> {
public:
    explicit typed_suite(table<T, Comm> rows) : rows_(std::move(rows))
    {
        for (std::size_t i = 0; i < rows_.size(); ++i) by_name_.emplace(rows_[i].name.text(), i);
    }

    const char* element() const override { return kind<T>::name; }
    std::size_t rows() const override { return rows_.size(); }

    spec draw(std::size_t index, int p, fields::generator& random) const override
    {
        spec s = begin(index, p, random);
        const row<T, Comm>& r = rows_[index];
        constexpr std::size_t sizes[] = {0, 1, 2, 31, 32, 33, 127, 128, 129, 1000, 5119, 5120, 5121, 10007};
        s.n = sizes[random.below(std::size(sizes))];
        if (p <= 8 && random.below(40) == 0) s.n = 70001;  // slices
        if (p <= 4 && random.below(80) == 0)
            s.n = (ccoll::detail::agreement_bytes + 50000) / sizeof(T);  // compared before the call
        s.n = fitting(s.n, p, r);
        s.in_place = random.below(3) == 0 && may_be_in_place(r);
        s.how = static_cast<way>(random.below(4));
        if (r.varies && random.below(2) == 0) s.parts = static_cast<cut>(1 + random.below(5));
        return s;
    }

    bool spoil(std::size_t index, spec& s, fields::generator& random) const override
    {
        const row<T, Comm>& r = rows_[index];
        if (s.p == 1 || r.name.check == "Local" || r.handed_over) return false;
        s.odd = static_cast<int>(random.below(static_cast<std::size_t>(s.p)));
        // A second start would be another call for ranks that were not told of the first one's failure.
        s.how = static_cast<way>(random.below(2));
        if (s.parts != cut::no) s.parts = cut::even;
        s.field = "smooth";
        s.bad = static_cast<fault>(1 + random.below(5));
        if (s.bad == fault::root || s.bad == fault::no_such_root) return r.facts.rooted;
        if (s.bad == fault::bound) return r.bound_is_an_argument;
        if (s.bad == fault::plan) {
            s.parts = cut::no;
            for (int tries = 0; tries < 50; ++tries) {
                const row<T, Comm>& o = rows_[random.below(rows_.size())];
                if (random.below(4) != 0 && o.name.collective != r.name.collective) continue;
                if (o.handed_over || o.name.check == "Local" || !really_differs(o.name, r.name)) continue;
                if (s.in_place && !may_be_in_place(o)) continue;
                s.other = o.name.text();
                return true;
            }
            return false;
        }
        return true;
    }

    std::vector<spec> all(std::size_t index, int p, fields::generator& random) const override
    {
        const row<T, Comm>& r = rows_[index];
        std::vector<spec> list;
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{129},
                                    std::size_t{5121}, std::size_t{10007}})
            for (const way how : {way::blocking, way::nonblocking, way::persistent, way::overlapped})
                for (const bool in_place : {false, true})
                    for (const cut parts :
                         {cut::no, cut::even, cut::ragged, cut::lone, cut::gaps, cut::shuffled}) {
                        if ((in_place && !may_be_in_place(r)) || (parts != cut::no && !r.varies)) continue;
                        spec s = begin(index, p, random);
                        s.n = fitting(n, p, r);
                        s.how = how;
                        s.in_place = in_place;
                        s.parts = parts;
                        list.push_back(s);
                    }
        return list;
    }

    std::unique_ptr<job<Comm>> prepare(const spec& s) override
    {
        const auto found = by_name_.find(s.plan);
        if (found == by_name_.end()) return nullptr;
        spec odd = s;
        std::size_t odd_row = found->second;
        if (s.bad == fault::count) ++odd.n;
        if (s.bad == fault::root) odd.root = (s.root + 1) % s.p;
        if (s.bad == fault::no_such_root) odd.root = s.p;
        if (s.bad == fault::bound) odd.eb *= 2;
        if (s.bad == fault::plan) {
            const auto other = by_name_.find(s.other);
            if (other == by_name_.end()) return nullptr;
            odd_row = other->second;
        }
        return std::make_unique<typed_job<T, Comm>>(s, rows_[found->second], odd, rows_[odd_row], sums_);
    }

private:
    spec begin(std::size_t index, int p, fields::generator& random) const
    {
        const row<T, Comm>& r = rows_[index];
        spec s;
        s.element = kind<T>::name;
        s.plan = r.name.text();
        s.p = p;
        s.root = r.facts.rooted ? static_cast<int>(random.below(static_cast<std::size_t>(p))) : 0;
        constexpr double bounds[] = {1e-3, 1e-2, 1e-5, 0.5};
        if (r.bound_is_an_argument) s.eb = bounds[random.below(std::size(bounds))];
        // Few seeds, so that the same sums occur again and again.
        s.seed = 1 + static_cast<unsigned>(random.below(2));
        s.shift = static_cast<int>(random.below(static_cast<std::size_t>(p)));
        const bool special =
            ccoll::floating_element<typename kind<T>::real> && !std::is_integral_v<T> && random.below(4) == 0;
        s.field = special ? special_fields[random.below(std::size(special_fields))]
                          : ordinary_fields[random.below(std::size(ordinary_fields))];
        return s;
    }
    static std::size_t fitting(std::size_t n, int p, const row<T, Comm>& r)
    {
        const std::size_t parts = r.facts.one_vector ? 1 : static_cast<std::size_t>(p);
        if (n >= 70001) return n / parts;
        return std::min(n, (p > 8 ? 16000 : 40000) / parts);
    }
    static bool may_be_in_place(const row<T, Comm>& r)
    {
        // Scatter, gather: by MPI_IN_PLACE alone.
        const bool one_side = r.facts.rooted && !r.facts.one_vector;
        return !(one_side && r.name.api == "facade");
    }
    static bool really_differs(const plan_name& a, const plan_name& b)
    {
        if (a.collective != b.collective || a.codec != b.codec || a.op != b.op || a.bound != b.bound ||
            a.check != b.check)
            return true;
        return (a.algo != b.algo && a.algo != "Auto" && b.algo != "Auto") ||
               (a.placement != b.placement && a.placement != "Auto" && b.placement != "Auto");
    }

    table<T, Comm> rows_;
    std::map<std::string, std::size_t> by_name_;
    memory_of_sums<T> sums_;
};

}  // namespace matrix
