//! The bytes of hostile or broken clients, and the expected answers: `hostile.txt`.

/// The expected end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The server closes the connection, although the client keeps its side open.
    Closed,
    /// The connection serves the next request.
    Kept,
}

/// The bytes of one client, and all answers to them.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) sent: Vec<u8>,
    /// The client ends its direction after the bytes.
    pub(crate) half_close: bool,
    pub(crate) answers: Vec<u16>,
    pub(crate) end: End,
    /// The connection ends by a timeout.
    pub(crate) is_slow: bool,
}

/// Bytes after a refused request. A parser that reads the request in another way would take them for a request.
pub(crate) const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

pub(crate) fn all() -> Vec<Case> {
    let lines = include_str!("hostile.txt").lines().skip_while(|line| !line.is_empty());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(case).collect()
}

fn case(line: &'static str) -> Case {
    let mut words = line.splitn(3, ' ');
    let (kind, answers, sent) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let sent: String = serde_json::from_str(sent).unwrap_or_else(|error| panic!("{error}: {line}"));
    let sent = sent.replace("{post}", "POST /a HTTP/1.1\r\nHost: a\r\n");
    let sent = sent.replace("{get}", "GET /a HTTP/1.1\r\nHost: a\r\n").replace("{end}", "\r\n\r\n");
    let smuggled = if kind == "two" { SMUGGLED } else { "" };
    Case {
        name: line,
        sent: (repeated(&sent) + smuggled).chars().map(|byte| u8::try_from(byte).unwrap()).collect(),
        half_close: kind == "left",
        answers: answers.split(',').filter_map(|status| status.parse().ok()).collect(),
        end: if kind == "kept" { End::Kept } else { End::Closed },
        is_slow: kind == "slow",
    }
}

/// Replaces `{3*x}`, if it is there.
fn repeated(text: &str) -> String {
    let part = text.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let part = part.and_then(|(before, (part, after))| Some((before, part.split_once('*')?, after)));
    match part {
        Some((before, (count, part), after)) => {
            format!("{before}{}{after}", part.repeat(count.parse().unwrap()))
        }
        None => text.to_owned(),
    }
}
