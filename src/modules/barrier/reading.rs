//! How much there is to read on a page.

use memchr::memmem;

use super::BARRIER_REACH;

/// A page with less text than this, in bytes without white space, has little to read.
const LITTLE: usize = 2_000;

/// Whether a page has little to read: markup, scripts and styles do not count. A large body is no wall.
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

/// How long the tag, comment, script or style at the beginning is.
fn markup(rest: &[u8]) -> usize {
    let starts = |with: &[u8]| rest.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with));
    let end = if starts(b"<script") {
        behind(rest, &[b"</script", b"</SCRIPT", b"</Script"])
    } else if starts(b"<style") {
        behind(rest, &[b"</style", b"</STYLE", b"</Style"])
    } else if starts(b"<!--") {
        behind(rest, &[b"-->"])
    } else {
        memchr::memchr(b'>', rest).map(|at| at + 1)
    };
    end.unwrap_or(rest.len())
}

fn behind(rest: &[u8], ends: &[&[u8]]) -> Option<usize> {
    ends.iter().find_map(|end| Some(memmem::find(rest, end)? + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_counts() {
        let much = "word ".repeat(LITTLE / 4);
        for (page, want) in [
            ("<title>a</title><p>b".to_owned(), true),
            (format!("<p>{much}"), false),
            (
                format!("<script>{much}</script><STYLE>{much}</STYLE><!-- <p>{much} --><p title='{much}'>a"),
                true,
            ),
            (format!("<script>a<b</script>{much}"), false),
            (format!("<script>{much}"), true),
            ("<p>".repeat(BARRIER_REACH), false),
            (String::new(), true),
        ] {
            assert_eq!(is_little(page.as_bytes()), want, "{page:.60}");
        }
    }
}
