//! A tokenizer for Rust source, without comments and literals.

/// A piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An identifier, a keyword or a number.
    Word(&'a str),
    /// One character of punctuation.
    Sign(char),
}

/// Returns all tokens of `source` with their lines, from 1.
pub(super) fn tokens(source: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            if word > 0 {
                found.push((line, Token::Word(&rest[..word])));
                return word;
            }
            if !first.is_whitespace() {
                found.push((line, Token::Sign(first)));
            }
            first.len_utf8()
        });
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment or literal at the start of `rest`, if there is one.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    });
    if let Some(prefix) = prefix {
        let hashes = rest[prefix.len()..].bytes().take_while(|b| *b == b'#').count();
        let start = prefix.len() + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(rest[start..].find(&end).map_or(rest.len(), |found| start + found + end.len()));
    }
    match rest.as_bytes() {
        [b'"', ..] => Some(quoted(rest, 1, '"')),
        [b'b' | b'c', b'"', ..] => Some(quoted(rest, 2, '"')),
        [b'b', b'\'', ..] => Some(quoted(rest, 2, '\'')),
        [b'\'', b'\\', ..] => Some(quoted(rest, 1, '\'')),
        [b'\'', ..] => {
            // `'x'` is a character; anything else is a lifetime.
            let character = rest[1..].chars().next()?;
            let end = 1 + character.len_utf8();
            Some(if rest[end..].starts_with('\'') { end + 1 } else { 1 })
        }
        _ => None,
    }
}

fn quoted(rest: &str, start: usize, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}
