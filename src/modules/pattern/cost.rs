//! The cost of a regex for each byte of the searched text.
//!
//! If the engine's fast automata give up, the engine follows all states of a search in parallel. The number
//! of those states is at most the number of positions in the pattern, with its repetitions written out. In
//! the worst cases that were measured, one position takes 20 to 45 ns per byte on common hardware.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// The maximum depth of nested groups.
pub(super) const NEST_LIMIT: u32 = 50;

/// The maximum cost of a regex. The most expensive regex of the built-in catalogue costs 600.
pub(crate) const MAX_COST: usize = 1_000;

/// Returns the number of positions in a pattern, with its repetitions written out. An invalid pattern costs
/// nothing here, since compiling it reports the mistake.
pub(super) fn cost(pattern: &str) -> usize {
    let read = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    read.map_or(0, |hir| positions(&hir))
}

/// Returns the number of positions in a parsed pattern. The recursion is limited by [`NEST_LIMIT`].
fn positions(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Capture(capture) => 1 + positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, usize::saturating_add)
        }
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or_else(|| repetition.min.saturating_add(1)).max(1);
            positions(&repetition.sub).saturating_mul(times as usize)
        }
    }
}

/// Refuses a pattern that costs more than [`MAX_COST`].
pub(super) fn check(pattern: &str) -> Result<usize, String> {
    let cost = cost(pattern);
    if cost <= MAX_COST {
        return Ok(cost);
    }
    let shown = crate::modules::text::truncate(pattern, 60);
    Err(format!(
        "the regex `{shown}` is too costly: with its repetitions written out it has {cost} positions, allowed \
         are {MAX_COST}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_expanded_in_the_cost() {
        for (pattern, want) in [
            ("abc", 3),
            ("a|bc", 3),
            ("[a-z]+@", 3),
            (".{0,100}x", 101),
            ("(a{2,3}){4}", 16),
            ("(?:a{1,100}){1,100}b", 10_001),
            ("(", 0),
        ] {
            assert_eq!(cost(pattern), want, "{pattern}");
        }
        let huge = "(?:(?:(?:(?:(?:a{1000}){1000}){1000}){1000}){1000}){1000}";
        assert!(check(huge).is_err_and(|why| why.contains("allowed are 1000")));
        assert!(check("a{1000}").is_ok() && check("a{1001}").is_err());
    }
}
