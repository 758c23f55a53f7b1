// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// measure/measuring.hpp - floor 3. Calls that choose by measuring: Codec::Auto and menu::tuned(). From a
// choice to a list of candidates, and from a call to its class on this communicator. What is decided with it
// is in tune/history.hpp.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ccoll/base/messages.hpp>
#include <ccoll/entry/call.hpp>
#include <ccoll/measure/sample.hpp>
#include <ccoll/tune/cost_model.hpp>
#include <ccoll/tune/settings.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A way to run a call.
template <element T, transport Link>
struct tuned_entry {
    const ready_plan<T, Link>* plan = nullptr;
    const decision<T>* way = nullptr;  ///< null: the plan's usual one, by its rule
    sampler<T> sample = nullptr;       ///< null: it does not compress, or its elements cannot be reached
};
template <element T, transport Link>
struct tuned_entries {
    std::array<tuned_entry<T, Link>, tune::call_class::most_candidates> at{};
    std::size_t size = 0;
    std::uint32_t hash = hash_seed;  ///< of all of them
    bool take_bound = false;         ///< any of them has a bound that is an argument of the call

    constexpr void add(const tuned_entry<T, Link>& entry)
    {
        const decision<T>& d = entry.way != nullptr ? *entry.way : *entry.plan->usual;
        hash =
            mixed(mixed(mixed(hash, std::uint64_t{d.way.hash}), std::uint64_t{d.what.stamp.arguments.plan}),
                  std::bit_cast<std::uint64_t>(d.bound.value));
        if (size == at.size()) return;
        take_bound = take_bound || entry.plan->usual->bound.at_run_time;
        at[size++] = entry;
    }
};

/// The candidates of a choice: its plans, and each algorithm of those that leave it open. The first is as it
/// is.
template <class Collective, class T, class Space, class Choice>
struct tuned_table;
template <class Collective, class T, class Space, class... Plans>
struct tuned_table<Collective, T, Space, plan_tuned<Plans...>> {
    template <class Plan>
    static constexpr sampler<T> sampler_of()
    {
        using codec = typename Plan::codec;
        constexpr bool compresses =
            !std::is_same_v<codec, policies::Codec::None> && Plan::bound::kind != bound_kind::rate;
        if constexpr (std::is_same_v<Space, host_space> && compresses && has_codec<codec, T>)
            return &sampled<codec, T, rules_for<Plan, Collective, T, Space>().reduce_encoded>;
        else return nullptr;
    }
    template <class Link>
    static constexpr tuned_entries<T, Link> entries = [] {
        constexpr sampler<T> samplers[] = {sampler_of<Plans>()...};
        constexpr auto& plans = table_of<Collective, T, Space, plan_choice<Plans...>>::template plans<Link>;
        tuned_entries<T, Link> all;
        for (std::size_t i = 0; i < std::size(plans); ++i) {
            const ready_plan<T, Link>& plan = plans[i];
            if (i == 0 || plan.choose == nullptr) all.add({&plan, nullptr, samplers[i]});
            else
                for (std::size_t k = 0; k < plan.candidates.size(); ++k)
                    all.add({&plan, plan.ways[k], samplers[i]});
        }
        return all;
    }();
};

/// What a communicator knows of the classes of its calls.
class tuned_classes {
public:
    struct entry {
        std::uint64_t key;
        double bytes;  ///< of the usual call
        tune::call_class calls;
        detail::listener listener{};
        tune::tuned_class described{};  ///< only where it will be written
        std::vector<std::string> choices{};
    };
    static constexpr std::size_t most = 128;  ///< further classes take the first candidate

    tuned_classes() = default;
    tuned_classes(const tuned_classes&) = delete;
    tuned_classes& operator=(const tuned_classes&) = delete;
    ~tuned_classes() { close(); }

    /// No call of the communicator follows.
    void close() noexcept
    {
        went_well([&] { finish(); });  // without memory nothing is written
    }

    entry* find(std::uint64_t key) noexcept
    {
        if (latest_ != nullptr && latest_->key == key) return latest_;
        for (const auto& each : all_)
            if (each->key == key) return latest_ = each.get();
        return nullptr;
    }
    bool is_full() const { return all_.size() >= most; }
    entry& add(entry made) { return *all_.emplace_back(std::make_unique<entry>(std::move(made))); }
    const tune::settings& settings = tune::settings_of_process();
    const bool settings_say_nothing = settings.says_nothing();
    bool settings_compared = false;
    detail::listener first;  ///< of the call in which settings are compared
    std::string objection;   ///< to that call
    std::string fault;       ///< of the last call that none of the ranks can make

private:
    /// Writes what was found to the tuning file, and to the standard error output if the environment asks for
    /// that.
    [[gnu::cold]] void finish()
    {
        if (std::exchange(finished_, true)) return;
        const tune::settings& s = tune::settings_of_process();
        std::vector<tune::tuned_class> found;
        for (const auto& each : all_) {
            const tune::call_class::settlement last = each->calls.last();
            if (each->choices.empty() || last.seconds == tune::unknown) continue;
            tune::tuned_class d = each->described;
            d.choice = each->choices[each->calls.choice()];
            d.seconds = last.seconds;
            d.plain_seconds = last.first;
            d.calls = each->calls.calls();
            found.push_back(std::move(d));
        }
        if (s.reports)
            for (const tune::tuned_class& d : found)
                say_formatted(
                    "ccoll: %s of %s on %d ranks, from %llu bytes, bound '%s': %s takes %.3g s, the first "
                    "candidate %.3g s; %llu calls",
                    d.collective.c_str(), d.element.c_str(), d.ranks,
                    static_cast<unsigned long long>(d.from_bytes), d.bound.c_str(), d.choice.c_str(),
                    d.seconds, d.plain_seconds, static_cast<unsigned long long>(d.calls));
        if (s.path.empty() || found.empty()) return;
        const std::string trouble =
            tune::write_tuning(s.path, tune::merge(tune::read_tuning(s.path).classes, found));
        if (!trouble.empty()) say_formatted("ccoll: CCOLL_TUNE: %s", trouble.c_str());
    }

    std::vector<std::unique_ptr<entry>> all_;
    entry* latest_ = nullptr;  ///< of those that were looked for
    bool finished_ = false;
};

/// Shorter calls take the first candidate. An allreduce of 8 KiB on 4 ranks with links of 1 Gb/s takes 0.3
/// ms, most of which are latencies.
inline constexpr std::size_t least_measured_bytes = 8192;

inline constexpr const char* reason_short = "shorter than what is measured: the first candidate";
inline constexpr const char* reason_trial = "being measured";
inline constexpr const char* reason_incumbent = "measured: no candidate is clearly faster than the first";
inline constexpr const char* reason_faster = "measured: the fastest candidate";
inline constexpr const char* reason_unasked = "not measured: the first candidate";
inline constexpr const char* reason_off = "CCOLL_TUNE=off: the first candidate";
inline constexpr const char* reason_override = "CCOLL_ALGO";
inline constexpr const char* reason_file = "the tuning file of CCOLL_TUNE";

/// What tells classes on a communicator from each other. All ranks of a call have it in common.
/// @param hash  of the candidates    @param bucket  of the bound, if it is an argument of the call
constexpr std::uint64_t key_of_class(std::uint32_t hash, int bucket, std::size_t bytes, int p) noexcept
{
    const std::uint32_t of_class = mixed(mixed(hash_seed, static_cast<std::uint64_t>(bucket + 2048)),
                                         std::bit_floor(std::uint64_t{bytes}));
    return std::uint64_t{hash} << 32 | mixed(of_class, static_cast<std::uint64_t>(p));
}
/// The exponent of a bound.
constexpr int bucket_of(double eb) noexcept
{
    return static_cast<int>(std::bit_cast<std::uint64_t>(eb) >> 52 & 2047) - 1023;
}

/// One call that chooses by measuring, before it begins.
template <element T, transport Link>
class picking {
public:
    picking(const tuned_entries<T, Link>& entries, const user_buffers<T>& user, int root, double eb,
            Link& link)
        : entries_(entries), any_(*entries.at[0].plan->usual), user_(user), root_(root), eb_(eb), link_(link),
          p_(link.size())
    {
        elements_ = user.varied || root < 0 || root >= p_
                        ? 0
                        : whole_elements(user, any_.what.facts, link.rank(), p_, root);
        bytes_ = elements_ * user.element_bytes();
    }

    /// Everything about the call but who makes it. Most calls take the first candidate, without a word to
    /// other ranks, and find that out here.
    chosen_call<T, Link> operator()(runs when)
    {
        chosen_call<T, Link> c(entries_.at[0].plan);
        if (p_ == 1 || user_.neighbors != nullptr) return c;  // neighbours do not wait for all ranks
        tuned_classes* const known = link_.memory().template kept_so_far<tuned_classes>();
        if (known == nullptr || !known->settings_compared || !known->settings_say_nothing)
            return search(when);
        const bool measures = known->settings.measures;
        c.reason = measures ? reason_short : reason_off;
        if (bytes_ < least_measured_bytes || !measures) return c;
        tuned_classes::entry* const entry = when == runs::now ? known->find(key()) : nullptr;
        if (entry == nullptr || !entry->calls.passes()) return search(when);
        entry->calls.next();
        c.reason = reason_incumbent;
        return c;
    }

private:
    /// The environment says something, or the class of the call does.
    CCOLL_OPAQUE chosen_call<T, Link> search(runs when)
    {
        chosen_call<T, Link> c(entries_.at[0].plan);
        auto& known = link_.memory().template kept<tuned_classes>();
        c.reason = settings_.measures ? reason_short : reason_off;
        std::string fault;  // if the environment asks for what there is not
        if (!overridden(c, fault) && fault.empty()) look_up(known, when == runs::now, c);
        if (when == runs::often || std::exchange(known.settings_compared, true)) {
            known.fault = std::move(fault);
            if (!known.fault.empty()) c.fault = known.fault.c_str();  // of all ranks alike
            return c;
        }
        if (link_.rank() == 0 && !settings_.warning.empty()) say(settings_.warning.c_str());
        if (c.listener != nullptr) return c;
        known.objection = std::move(fault);  // perhaps of this rank alone
        known.first.objection = known.objection.empty() ? nullptr : known.objection.c_str();
        known.first.common = common(0);
        known.first.has_compared = &known.settings_compared;
        c.listener = &known.first;
        return c;
    }
    chosen_call<T, Link> of(std::size_t candidate) const
    {
        const tuned_entry<T, Link>& e = entries_.at[candidate];
        const decision<T>* way = e.way;
        if (way == nullptr)
            way = e.plan->choose == nullptr ? e.plan->usual : with_algorithm(*e.plan, user_, root_, link_);
        return chosen_call<T, Link>(e.plan, way);
    }
    /// As an override and a report name it.
    candidate names_of(std::size_t i) const
    {
        if (i == 0 && entries_.at[0].plan->native != nullptr)
            return {"MPI", policies::Codec::None::name, "none"};
        const decision<T>& d = *of(i).way;
        return {d.way.name, d.codec_name, d.what.rules.name, !d.bound.lossy, d.bound.value};
    }
    std::uint32_t common(std::uint32_t number) const
    {
        return mixed(mixed(hash_seed, std::uint64_t{number}), settings_.hash);
    }

    // ---- the environment ----

    bool overridden(chosen_call<T, Link>& c, std::string& fault) const
    {
        if (!settings_.fault.empty()) {
            fault = settings_.fault;
            return false;
        }
        if (settings_.rules.rules.empty() && settings_.rules.fault.empty()) return false;
        if (!settings_.rules.fault.empty()) {
            fault = settings_.rules.fault;
            return false;
        }
        std::array<candidate, tune::call_class::most_candidates> all;
        for (std::size_t i = 0; i < entries_.size; ++i) all[i] = names_of(i);
        const tune::override_match m = tune::match(settings_.rules.rules, any_.what.facts.name, bytes_,
                                                   std::span<const candidate>(all).first(entries_.size));
        if (m.what == tune::override_match::kind::fault) fault = m.fault;
        if (m.what != tune::override_match::kind::chosen) return false;
        c = of(m.index);
        c.reason = reason_override;
        return true;
    }
    /// The choice of a tuning file. @return entries_.size if it has none
    std::size_t from_file(const tune::tuned_class& mine) const
    {
        if (settings_.searches) return entries_.size;
        for (const tune::tuned_class& each : settings_.known.classes) {
            if (each.key() != mine.key()) continue;
            for (std::size_t i = 0; i < entries_.size; ++i)
                if (each.choice == text_of(i)) return i;
        }
        return entries_.size;
    }
    std::string text_of(std::size_t i) const
    {
        const candidate c = names_of(i);
        return std::string(c.algorithm) + "," + c.codec + "," + c.placement;
    }
    tune::tuned_class described() const
    {
        tune::tuned_class d;
        d.collective = any_.what.facts.name;
        d.element = name_of_elements(plan_word::unpacked(any_.what.stamp.arguments.plan).dtype).text;
        d.ranks = p_;
        d.from_bytes = std::bit_floor(std::uint64_t{bytes_});
        for (std::size_t c = 0; c < entries_.size; ++c) {
            const bound_wish& b = entries_.at[c].plan->usual->bound;
            if (!b.lossy) continue;
            char text[64];
            std::snprintf(text, sizeof text, "%s%s%.17g", b.kind == bound_kind::relative ? "relative " : "",
                          b.end_to_end ? "of the result " : "",
                          b.at_run_time ? std::ldexp(1.0, bucket_of_bound()) : b.value);
            d.bound = text;
            break;
        }
        return d;
    }

    // ---- classes ----

    /// @param waits  the call has ended when the next one begins, so the next one knows what it has heard
    void look_up(tuned_classes& known, bool waits, chosen_call<T, Link>& c)
    {
        const bool measures = bytes_ >= least_measured_bytes && settings_.measures,
                   has_file = !settings_.known.classes.empty();
        if (bytes_ == 0 || (!measures && !has_file)) return;
        tuned_classes::entry* entry = known.find(key());
        if (entry == nullptr) {
            c.reason = reason_unasked;
            entry = begun(known, measures && waits);
            if (entry == nullptr) return;
        }
        tune::call_class& calls = entry->calls;
        if (calls.now() == tune::call_class::stage::frozen) {
            c = of(calls.choice());
            c.reason = reason_file;
            return;
        }
        if (!waits) {
            const bool is_known = calls.now() == tune::call_class::stage::settled;
            c = of(calls.choice());
            c.reason = is_known ? words(calls.choice()) : reason_unasked;
            return;
        }
        const tune::call_class::turn turn = calls.next();
        c = of(turn.candidate);
        c.reason = calls.now() == tune::call_class::stage::exploring ? reason_trial : words(turn.candidate);
        if (!turn.listens) return;
        c.listener = &entry->listener;
        c.listener->calls = &calls;
        c.listener->has_compared = &known.settings_compared;
        c.listener->now_s = &steady_seconds;
        c.listener->common = common(calls.number());
        c.listener->scale = entry->bytes / static_cast<double>(bytes_);
        if (turn.samples) sample(calls.number(), turn.glances, c.listener->mine);
    }
    static const char* words(std::size_t candidate)
    {
        return candidate == 0 ? reason_incumbent : reason_faster;
    }

    /// The exponent of a bound that is an argument of the call.
    int bucket_of_bound() const { return entries_.take_bound ? bucket_of(eb_) : 0; }
    std::uint64_t key() const { return key_of_class(entries_.hash, bucket_of_bound(), bytes_, p_); }

    /// A new class. @return null if nothing will ever be known of it
    [[gnu::cold]] tuned_classes::entry* begun(tuned_classes& known, bool measures)
    {
        if (known.is_full()) return nullptr;
        tune::tuned_class mine = described();
        const std::size_t given = from_file(mine);
        if (given < entries_.size)
            return &known.add({key(), static_cast<double>(bytes_), tune::call_class(given)});
        if (!measures) return nullptr;
        tuned_classes::entry& e = known.add({key(), static_cast<double>(bytes_), fresh()});
        if (link_.rank() == 0 && (settings_.reports || !settings_.path.empty())) {
            e.described = std::move(mine);
            for (std::size_t i = 0; i < entries_.size; ++i) e.choices.push_back(text_of(i));
        }
        return &e;
    }
    tune::call_class fresh() const
    {
        std::array<tune::candidate_work, tune::call_class::most_candidates> works;
        for (std::size_t c = 0; c < entries_.size; ++c) {
            const decision<T>& d = *of(c).way;
            const tune::schedule_work all =
                tune::work_of(d.way.path, d.what.facts.after, d.what.rules, p_, root_);
            const tune::work_shares& w = all.busiest;
            works[c] = {w.sent,           w.encoded, w.added, w.decoded, entries_.at[c].sample != nullptr,
                        all.path.messages};
        }
        const double bits = 8.0 * sizeof(T);  // of narrow elements too: they travel as T
        return {std::span<const tune::candidate_work>(works).first(entries_.size),
                {static_cast<double>(elements_), bits, bytes_ >= agreement_bytes, settings_.searches}};
    }

    /// Of what this rank contributes, with the first codec that has a bound.
    void sample(std::uint32_t number, bool glance, figures& mine) const
    {
        const bool contributes =
            !any_.what.facts.one_vector || any_.what.facts.before(link_.rank(), root_, 1).count > 0;
        if (!contributes || user_.send == nullptr || user_.send_size == 0 || user_.strided) return;
        for (std::size_t c = 1; c < entries_.size; ++c) {
            const tuned_entry<T, Link>& e = entries_.at[c];
            if (e.sample == nullptr) continue;
            const decision<T>& d = *of(c).way;
            const double asked = d.bound.at_run_time ? eb_ : d.bound.value;
            if (d.bound.lossy && !is_bound(asked)) return;
            double eb = 0;
            if (d.bound.lossy)
                eb = promise{d.bound,
                             d.way.path,
                             d.what.rules,
                             link_.memory(),
                             p_,
                             root_,
                             d.what.op.divides() ? p_ : 1}
                         .of_one(asked);
            const float seconds = mine.seconds;
            mine = e.sample({user_.send, user_.send_size, user_.narrow}, eb,
                            d.bound.kind == bound_kind::relative, std::uint64_t{number} + 1, link_.memory(),
                            glance);
            mine.seconds = seconds;
            return;
        }
    }

    const tuned_entries<T, Link>& entries_;
    const decision<T>& any_;
    const user_buffers<T>& user_;
    int root_;
    double eb_;
    Link& link_;
    int p_;
    std::size_t elements_ = 0, bytes_ = 0;
    const tune::settings& settings_ = tune::settings_of_process();
};

template <class Collective, class T, class Space, class... Plans, class Link>
struct measuring<Collective, T, Space, plan_tuned<Plans...>, Link> {
    static chosen_call<T, Link> pick(const user_buffers<T>& user, int root, double eb, Link& link, runs when)
    {
        constexpr auto& entries =
            tuned_table<Collective, T, Space, plan_tuned<Plans...>>::template entries<Link>;
        return picking<T, Link>(entries, user, root, eb, link)(when);
    }
};

}  // namespace ccoll::inline CCOLL_ABI::detail
