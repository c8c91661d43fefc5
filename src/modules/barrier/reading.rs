//! The amount of readable text on a page.

use memchr::memmem;

use super::found::BARRIER_REACH;

/// The number of bytes of text, without white space, below which a page contains little text.
const LITTLE: usize = 2_000;

/// Returns whether a page contains little text. Markup, scripts and styles do not count. Returns `false` for
/// a large body, which is never a barrier.
pub(super) fn is_little(body: &[u8]) -> bool {
    if body.len() > BARRIER_REACH {
        return false;
    }
    let mut rest = body;
    let mut text = 0;
    while !rest.is_empty() && text < LITTLE {
        let end = memchr::memchr(b'<', rest).unwrap_or(rest.len());
        text += rest[..end].iter().filter(|byte| !byte.is_ascii_whitespace()).count();
        rest = &rest[end..];
        rest = &rest[markup(rest)..];
    }
    text < LITTLE
}

/// Returns the length of the tag, comment, script or style at the start of `rest`.
fn markup(rest: &[u8]) -> usize {
    let is_at = |at: usize, word: &[u8]| {
        rest.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    let end = if let Some(name) = [&b"script"[..], b"style"].into_iter().find(|name| is_at(1, name)) {
        memmem::find_iter(rest, b"</").map(|at| at + 2).find(|at| is_at(*at, name)).map(|at| at + name.len())
    } else if is_at(0, b"<!--") {
        memmem::find(rest, b"-->").map(|at| at + 3)
    } else {
        memchr::memchr(b'>', rest).map(|at| at + 1)
    };
    end.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_read_part_of_a_body_is_searched() {
        let much = "word ".repeat(LITTLE / 4);
        for (page, want) in [
            ("<title>a</title><p>b".to_owned(), true),
            (format!("<p>{much}"), false),
            (
                format!("<script>{much}</script><STYLE>{much}</STYLE><!-- <p>{much} --><p title='{much}'>a"),
                true,
            ),
            (format!("<script>a<b</script>{much}"), false),
            // Names of elements have any case.
            (format!("<script>a</SCRIPT>{much}<script>b</script>"), false),
            (format!("<style>a</sTyle>{much}"), false),
            (format!("<script>{much}"), true),
            ("<p>".repeat(BARRIER_REACH), false),
            (String::new(), true),
        ] {
            assert_eq!(is_little(page.as_bytes()), want, "{page:.60}");
        }
    }
}
