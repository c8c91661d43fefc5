//! Patterns of paths, as route tables have them.

/// `Some` where the path fits the pattern, with what stands for the pattern's `{…}`: at most one segment, which stands
/// for any that is not empty.
pub fn fit<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let mut any = None;
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(any),
            (Some(want), Some(segment)) if want.starts_with('{') && !segment.is_empty() => {
                any = Some(segment);
            }
            (Some(want), Some(segment)) if want == segment => {}
            _ => return None,
        }
    }
}
