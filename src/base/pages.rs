//! Reading all pages of a list.

/// Returns the items of a list, which is read in pages of `size` items when they are needed. `read` gets the last item of the
/// page before, if there is one. An error of `read` ends the list.
pub fn items<T: Clone, E>(
    size: usize,
    read: impl Fn(Option<&T>) -> Result<Vec<T>, E>,
) -> impl Iterator<Item = Result<T, E>> {
    let (mut page, mut last, mut is_last_page) = (Vec::new().into_iter(), None, false);
    let mut next = move || {
        if page.as_slice().is_empty() && !is_last_page {
            // Before an error it counts as the last one.
            is_last_page = true;
            let items = read(last.as_ref())?;
            is_last_page = items.len() < size;
            last = items.last().cloned();
            page = items.into_iter();
        }
        Ok(page.next())
    };
    std::iter::from_fn(move || next().transpose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_comes_once_in_pages_and_an_error_comes_after_what_was_read() {
        let up_to = |end: u32, fails_after: Option<u32>| {
            let read = move |last: Option<&u32>| {
                let first = last.map_or(1, |last| last + 1);
                let is_away = fails_after.is_some_and(|after| first > after);
                if is_away { Err("away") } else { Ok((first..=end).take(3).collect()) }
            };
            items(3, read).collect::<Vec<_>>()
        };
        for end in [0, 2, 3, 4, 6] {
            let want: Vec<_> = (1..=end).map(Ok).collect();
            assert_eq!(up_to(end, None), want, "{end}");
        }
        assert_eq!(up_to(9, Some(3)), [Ok(1), Ok(2), Ok(3), Err("away")]);
    }
}
