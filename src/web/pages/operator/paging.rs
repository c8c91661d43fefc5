//! Tables with several pages.

/// Returns the number of pages for `rows`, at least 1, and the page to show when `asked` is requested.
pub(super) fn pages(rows: usize, on_a_page: usize, asked: usize) -> (usize, usize) {
    let pages = rows.div_ceil(on_a_page).max(1);
    (pages, asked.clamp(1, pages))
}

/// Returns a text such as `101–200 of 731 modules`.
pub(super) fn shown(first: usize, on_page: usize, all: usize, one: &str, many: &str) -> String {
    let word = if all == 1 { one } else { many };
    if on_page == all {
        format!("{all} {word}")
    } else {
        format!("{}–{} of {all} {word}", first + 1, first + on_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_and_none_is_beyond_the_last() {
        for ((rows, asked), want) in
            [((0, 1), (1, 1)), ((100, 2), (1, 1)), ((101, 2), (2, 2)), ((101, 9), (2, 2))]
        {
            assert_eq!(pages(rows, 100, asked), want, "{rows} rows, page {asked}");
        }
        assert_eq!(shown(100, 31, 131, "row", "rows"), "101–131 of 131 rows");
        assert_eq!(
            (shown(0, 1, 1, "row", "rows"), shown(0, 0, 0, "row", "rows")),
            ("1 row".into(), "0 rows".into())
        );
    }
}
