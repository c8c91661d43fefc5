//! Unified diffs of short texts.

use std::fmt::Write;

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// A line of a diff: unchanged, only in the old text, or only in the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// Returns the unified diff of two texts, with their names in its head. It is empty if they are equal. The time
/// grows with the product of the numbers of lines that differ, so the texts should be short.
pub(crate) fn unified(old_name: &str, old: &str, new_name: &str, new: &str) -> String {
    let lines = compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let is_change = |line: &Line<'_>| !matches!(line, Line::Same(_));
    if !lines.iter().any(is_change) {
        return String::new();
    }
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    let mut at = 0;
    while let Some(first) = lines[at..].iter().position(is_change).map(|offset| at + offset) {
        // A hunk ends where more lines are unchanged than the context of two changes.
        let mut last = first;
        while let Some(offset) = lines[last + 1..].iter().take(2 * CONTEXT + 1).position(is_change) {
            last += 1 + offset;
        }
        let (start, end) = (first.saturating_sub(CONTEXT).max(at), (last + 1 + CONTEXT).min(lines.len()));
        let hunk = &lines[start..end];
        let added = |part: &[Line<'_>]| part.iter().filter(|it| matches!(it, Line::New(_))).count();
        let removed = |part: &[Line<'_>]| part.iter().filter(|it| matches!(it, Line::Old(_))).count();
        let (old_start, new_start) =
            (start - added(&lines[..start]) + 1, start - removed(&lines[..start]) + 1);
        let (old_count, new_count) = (hunk.len() - added(hunk), hunk.len() - removed(hunk));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "@@ -{old_start},{old_count} +{new_start},{new_count} @@");
        for line in hunk {
            let _ = match line {
                Line::Same(text) => writeln!(out, " {text}"),
                Line::Old(text) => writeln!(out, "-{text}"),
                Line::New(text) => writeln!(out, "+{text}"),
            };
        }
        at = end;
    }
    out
}

/// Returns the lines of both texts in order, with a longest common subsequence as the unchanged ones.
fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let front = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[front..], &new[front..]);
    let back =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - back], &new_rest[..new_rest.len() - back]);
    // The length of the longest common subsequence of the lines from each pair of positions on.
    let mut longest = vec![vec![0usize; new_mid.len() + 1]; old_mid.len() + 1];
    for (row, old) in old_mid.iter().enumerate().rev() {
        for (column, new) in new_mid.iter().enumerate().rev() {
            longest[row][column] = match old == new {
                true => longest[row + 1][column + 1] + 1,
                false => longest[row + 1][column].max(longest[row][column + 1]),
            };
        }
    }
    let mut lines: Vec<Line<'t>> = old[..front].iter().map(|line| Line::Same(line)).collect();
    let (mut row, mut column) = (0, 0);
    loop {
        match (old_mid.get(row), new_mid.get(column)) {
            (None, None) => break,
            (Some(one), Some(other)) if one == other => {
                lines.push(Line::Same(one));
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), other) if other.is_none() || longest[row + 1][column] >= longest[row][column + 1] => {
                lines.push(Line::Old(one));
                row += 1;
            }
            (_, Some(other)) => {
                lines.push(Line::New(other));
                column += 1;
            }
            (Some(_), None) => break,
        }
    }
    lines.extend(old_rest[old_rest.len() - back..].iter().map(|line| Line::Same(line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_changes_with_their_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n13b\n14\n";
        let wanted = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
                      @@ -11,4 +11,5 @@\n 11\n 12\n 13\n+13b\n 14\n";
        assert_eq!(unified("a", old, "b", new), wanted);
        assert_eq!(unified("a", old, "b", old), "");
        assert_eq!(unified("a", "", "b", "x\n"), "--- a\n+++ b\n@@ -1,0 +1,1 @@\n+x\n");
    }
}
