//! Reading all pages of a list.

/// Reads pages until one has fewer than `size` items, and returns all items. `read` gets the last item of the page
/// before, if there is one.
///
/// # Errors
/// Returns the first error of `read`.
pub fn all_pages<T, E>(size: usize, read: impl Fn(Option<&T>) -> Result<Vec<T>, E>) -> Result<Vec<T>, E> {
    let mut items: Vec<T> = Vec::new();
    loop {
        let page = read(items.last())?;
        let is_last = page.len() < size;
        items.extend(page);
        if is_last {
            return Ok(items);
        }
    }
}

/// Calls `show` with every item of a list, which is read in pages of `size` items. `read` gets the last item of the page
/// before, if there is one.
///
/// # Errors
/// Returns the first error of `read` or `show`.
pub fn each_item<T, F, E: From<F>>(
    size: usize,
    read: impl Fn(Option<&T>) -> Result<Vec<T>, F>,
    mut show: impl FnMut(&T) -> Result<(), E>,
) -> Result<(), E> {
    let mut page = read(None)?;
    loop {
        page.iter().try_for_each(&mut show)?;
        if page.len() < size {
            return Ok(());
        }
        page = read(page.last())?;
    }
}
