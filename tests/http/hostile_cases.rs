//! The bytes of hostile or broken clients, and the expected answers.

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
    pub(crate) name: String,
    pub(crate) sent: Vec<u8>,
    /// The client ends its direction after the bytes.
    pub(crate) half_close: bool,
    pub(crate) answers: &'static [u16],
    pub(crate) end: End,
}

/// Bytes after a refused request. A parser that reads the request in another way would take them for a request.
pub(crate) const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

fn case(name: &str, sent: impl Into<Vec<u8>>, answers: &'static [u16], end: End) -> Case {
    Case { name: name.to_owned(), sent: sent.into(), half_close: false, answers, end }
}

/// The client sends nothing more and waits.
fn given_up(name: &str, sent: &str, answers: &'static [u16]) -> Case {
    Case { half_close: true, ..case(name, sent, answers, End::Closed) }
}

/// The request is answered once and the connection is closed.
fn refused(head: &str, status: &'static [u16]) -> Case {
    case(head, head, status, End::Closed)
}

/// The end of the request is not known. It is answered once, and the following bytes are ignored.
fn two_readings(head: &str, status: &'static [u16]) -> Case {
    case(head, format!("{head}{SMUGGLED}"), status, End::Closed)
}

/// Clients whose connection is answered or closed at once.
pub(crate) fn quick() -> Vec<Case> {
    let mut all = headers();
    all.extend(request_lines());
    all.extend(sizes());
    all.extend(bodies());
    all.extend(orders());
    all
}

fn headers() -> Vec<Case> {
    let post = |line: &str| format!("POST /a HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n");
    let lengths = [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 0\r\nContent-Length: 40",
        "Content-Length: 5\r\ncontent-length: 5",
        "Content-Length: +7",
        "Content-Length: -1",
        "Content-Length: abc",
        "Content-Length: 0x10",
        "Content-Length: 1e3",
        "Content-Length: 1 1",
        "Content-Length: 1, 1",
        "Content-Length:",
        "Transfer-Encoding:",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: x-chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunked\r\nConnection: upgrade\r\nUpgrade: x",
    ];
    let status = |line: &str| if line.contains("ontent-Length") { &[400] } else { &[411] };
    let mut all: Vec<Case> =
        lengths.into_iter().map(|line| two_readings(&post(line), status(line))).collect();
    let lines = [
        // A space before the colon, a folded line, a line without a colon: tiny_http itself answers 400.
        "Transfer-Encoding : chunked",
        "X: a\r\n folded",
        "no colon",
        ": no name",
        "Host: b",
        "X: a\0b",
        "X: a\rb",
        "X: a\nb: c",
        "X: \x7f",
        "X: \x1b[2J",
        "X(y): z",
    ];
    all.extend(lines.into_iter().map(|line| refused(&post(line), &[400])));
    for host in ["", "Host: a/b\r\n", "Host: a b\r\n", "Host: u@a\r\n", "Host: a:b\r\n", "Host: [::1\r\n"] {
        all.push(refused(&format!("GET /a HTTP/1.1\r\n{host}\r\n"), &[400]));
    }
    all.push(two_readings("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", &[411]));
    // With this body it is a valid request in either reading.
    all.push(two_readings(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &[400],
    ));
    all.push(refused("GET / HTTP/1.1\r\nHost: a\r\nExpect: the-best\r\n\r\n", &[417]));
    let foreign = b"GET / HTTP/1.1\r\nHost: a\r\nX: \xff\xfe\r\n\r\n";
    all.push(case("bytes that are no ASCII", *foreign, &[], End::Closed));
    all.push(case("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", &[200], End::Kept));
    all
}

fn request_lines() -> Vec<Case> {
    let mut all = Vec::new();
    let targets = "a example.com:80 * /% /%4 /%+1 /%zz /a#b ftp://a/ http:/// http://u@h/ //\u{7f} /a\tb /\r";
    for target in targets.split(' ') {
        all.push(refused(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"), &[400]));
    }
    for line in [
        "CONNECT a:80 HTTP/1.1",
        "G(T / HTTP/1.1",
        "GET / HTTP/0.9",
        // From here on tiny_http itself answers 400.
        "GET / HTTP/1.2",
        "GET / HTTP/1",
        "GET / http/1.1",
        "GET / ",
        "GET",
        "GET  HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET / a HTTP/1.1",
        "GET\t/\tHTTP/1.1",
        "/ HTTP/1.1",
        "",
        "\0\0\0\0",
        "HTTP/1.1 200 OK",
    ] {
        all.push(refused(&format!("{line}\r\nHost: a\r\n\r\n"), &[400]));
    }
    let long = "M".repeat(33);
    all.push(refused(&format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n"), &[400]));
    let umlaut = "GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n";
    all.push(case("a path that is no ASCII", umlaut, &[], End::Closed));
    all.push(case(
        "the first bytes of TLS",
        *b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
        &[],
        End::Closed,
    ));
    all.push(case("a method nobody knows", "brew /tea HTTP/1.1\r\nHost: a\r\n\r\n", &[200], End::Kept));
    all
}

fn sizes() -> Vec<Case> {
    let head = |rest: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{rest}\r\n");
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(length - 1));
    vec![
        case("the longest target", target(8192), &[200], End::Kept),
        refused(&target(8193), &[414]),
        refused(&target(200_000), &[414]),
        case("as many headers as may be", head(&"X: y\r\n".repeat(99)), &[200], End::Kept),
        refused(&head(&"X: y\r\n".repeat(100)), &[431]),
        refused(&head(&"X: y\r\n".repeat(20_000)), &[431]),
        case("a large header", head(&format!("X: {}\r\n", "a".repeat(32_000))), &[200], End::Kept),
        refused(&head(&format!("X: {}\r\n", "a".repeat(33_000))), &[431]),
        refused(&head(&format!("{}: x\r\n", "a".repeat(33_000))), &[431]),
    ]
    .into_iter()
    .map(|case| Case { name: format!("{:.60} ({} bytes)", case.name, case.sent.len()), ..case })
    .collect()
}

fn bodies() -> Vec<Case> {
    let post = |line: &str, body: &str| format!("POST /a HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n{body}");
    let chunked = |body: &str| post("Transfer-Encoding: chunked", body);
    let mut all = Vec::new();
    let large = "a".repeat(65_537);
    // Bodies in chunks are not read, and everything after their head is ignored.
    for body in ["", "x\r\n", "ffffffffffffffffff\r\n", "3\r\nabc", "2\r\n{}\r\n0\r\n\r\n"] {
        all.push(two_readings(&chunked(body), &[411]));
    }
    all.push(case("a body over the limit", post("Content-Length: 65537", &large), &[413], End::Kept));
    all.push(two_readings(&post("Content-Length: 99999999999999999999999", ""), &[413]));
    all.push(case("the largest body", post("Content-Length: 65536", &large[1..]), &[200], End::Kept));
    all.push(given_up("a small body breaks off", &post("Content-Length: 5", "abc"), &[]));
    all.push(given_up("a large body breaks off", &post("Content-Length: 5000", "abc"), &[400]));
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3";
    all.push(case("a body under an upgrade", post(upgrade, "abc"), &[200], End::Closed));
    all
}

fn orders() -> Vec<Case> {
    let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    let bad = "GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n";
    let close = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    vec![
        given_up("nothing at all", "", &[]),
        given_up("half a request line", "GET /", &[]),
        given_up("half a head", "GET / HTTP/1.1\r\nHost: a\r\n", &[]),
        given_up("line feeds alone", "GET / HTTP/1.1\nHost: a\n\n", &[]),
        given_up("a request and a half", &format!("{get}GET /"), &[200]),
        case("as many at once as may be", get.repeat(16), &[200; 16], End::Kept),
        case("a bad one among good ones", format!("{get}{bad}{SMUGGLED}"), &[200, 400], End::Closed),
        case("more after the last", format!("{close}{SMUGGLED}"), &[200], End::Closed),
        case(
            "more after the last of HTTP/1.0",
            format!("GET /a HTTP/1.0\r\n\r\n{SMUGGLED}"),
            &[200],
            End::Closed,
        ),
        case(
            "a GET with a body",
            "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            &[200],
            End::Kept,
        ),
    ]
}

/// Clients whose connection ends by a timeout of the server.
pub(crate) fn slow() -> Vec<Case> {
    let post = "POST /a HTTP/1.1\r\nHost: a\r\n";
    vec![
        case("silence", "", &[], End::Closed),
        case("half a request line", "GET /", &[], End::Closed),
        case("half a head", "GET / HTTP/1.1\r\nHo", &[], End::Closed),
        case("half a head after a request", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", &[200], End::Closed),
        case("line feeds alone", "GET / HTTP/1.1\nHost: a\n\n", &[], End::Closed),
        case("bytes without a line", vec![0x16; 600], &[], End::Closed),
        case("half a small body", format!("{post}Content-Length: 5\r\n\r\nabc"), &[], End::Closed),
        case(
            "an announced body over the limit",
            format!("{post}Content-Length: 65537\r\n\r\nabc"),
            &[413],
            End::Closed,
        ),
        case("half a large body", format!("{post}Content-Length: 5000\r\n\r\nabc"), &[408], End::Closed),
        case(
            "a chunk's size without an end",
            format!("{post}Transfer-Encoding: chunked\r\n\r\n{}", "1".repeat(20_000)),
            &[411],
            End::Closed,
        ),
        case(
            "a promised body that never comes",
            format!("{post}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"),
            &[100, 408],
            End::Closed,
        ),
    ]
}
