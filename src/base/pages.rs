//! Reading all pages of a list.

use std::collections::VecDeque;

/// Returns the items of a list, which is read in pages of `size` items. `read` gets the last item of the page before, if there
/// is one. An error of `read` ends the list.
pub fn items<T, E>(
    size: usize,
    read: impl Fn(Option<&T>) -> Result<Vec<T>, E>,
) -> impl Iterator<Item = Result<T, E>> {
    let (mut items, mut is_last_page) = (VecDeque::new(), false);
    let mut next = move || {
        if items.len() < 2 && !is_last_page {
            // Before an error it counts as the last one.
            is_last_page = true;
            let page = read(items.back())?;
            is_last_page = page.len() < size;
            items.extend(page);
        }
        Ok(items.pop_front())
    };
    std::iter::from_fn(move || next().transpose())
}
