//! What operators see: how the service does, and who may use it.
//!
//! | file | holds |
//! |---|---|
//! | `service` | `/app/operator`: load, and the modules' health |
//! | `load` | the figures of the load, as tiles and as JSON |
//! | `table` | which modules are shown, in which order |
//! | `rows` | a module as a row |
//! | `accounts` | `/app/operator/accounts`: plans and accounts |

mod accounts;
mod load;
mod rows;
mod service;
mod table;

pub(in crate::web) use accounts::accounts;
pub(in crate::web) use service::{load, service};

/// Pages that so many rows take, at least one; and which of them is shown where that one is asked for.
fn pages(rows: usize, on_a_page: usize, asked: usize) -> (usize, usize) {
    let pages = rows.div_ceil(on_a_page).max(1);
    (pages, asked.clamp(1, pages))
}

/// `101–200 of 731 modules`.
fn shown(first: usize, on_page: usize, all: usize, one: &str, many: &str) -> String {
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
