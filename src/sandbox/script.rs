//! Pages that are drawn by their own scripts, for real browsers.

use std::time::Duration;

use super::wire::Answer;

/// A script that replaces the current document with the drawn one, as single-page applications do. Scripts in the
/// drawn document do not run again.
const DRAW: &str = "var drawn=new DOMParser().parseFromString(page,'text/html').documentElement;\
    document.replaceChild(document.adoptNode(drawn),document.documentElement);";

/// Returns a page without visible content, whose script draws the document of `answer` after the given time. Returns
/// an answer that is not a page unchanged.
pub(super) fn drawn_later(answer: Answer, after: Duration) -> Answer {
    let is_page = answer
        .headers
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.starts_with("text/html"));
    if !is_page {
        return answer;
    }
    let document = String::from_utf8_lossy(&answer.body);
    let body = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n</head>\n<body>\n\
         <noscript>This page needs JavaScript.</noscript>\n<script>var page=decodeURIComponent('{}');\n\
         setTimeout(function(){{{DRAW}}},{});</script>\n</body>\n</html>\n",
        encoded(&document),
        after.as_millis()
    );
    Answer { body: body.into_bytes(), ..answer }
}

/// Percent-encodes every byte, so that no text of the document is in the page source before the page is drawn.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_hidden_in_the_script_until_it_is_drawn() {
        let document = "<html><title>T</title><script>a</script><!-- <b>\u{2028}é\"</html>";
        let answer = Answer::new(404, "text/html; charset=utf-8", document);
        let later = drawn_later(answer, Duration::from_millis(1234));
        let body = String::from_utf8(later.body.clone()).unwrap();
        assert_eq!((later.status, body.matches("</script>").count()), (404, 1), "{body}");
        assert!(!body.contains("<title>") && body.contains(",1234);"), "{body}");
        let start = body.find("Component('").unwrap() + "Component('".len();
        let length = body[start..].find('\'').unwrap();
        let bytes = body[start..start + length].split('%').skip(1);
        let read: Vec<u8> = bytes.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect();
        assert_eq!(String::from_utf8(read).unwrap(), document);
        let moved = Answer { status: 302, ..Answer::default() };
        assert_eq!(drawn_later(moved.clone(), Duration::ZERO), moved);
    }
}
