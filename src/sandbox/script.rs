//! Pages that their own scripts draw, as a real browser gets them.

use std::time::Duration;

use super::wire::Answer;

/// Draws the document in place of the one that stands here, as single-page applications do: the scripts of what
/// is drawn do not run again.
const DRAW: &str = "var drawn=new DOMParser().parseFromString(page,'text/html').documentElement;\
    document.replaceChild(document.adoptNode(drawn),document.documentElement);";

/// A page without anything to see, whose script draws the document of `answer` after a while. An answer that is no
/// page comes as it is.
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
         <noscript>This page needs JavaScript.</noscript>\n<script>var page={};\n\
         setTimeout(function(){{{DRAW}}},{});</script>\n</body>\n</html>\n",
        literal(&document),
        after.as_millis()
    );
    Answer { body: body.into_bytes(), ..answer }
}

/// A string literal that can stand in a script: nothing in it ends the script, or opens a comment in it.
fn literal(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
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
        let start = body.find("var page=").unwrap() + "var page=".len();
        let end = body[start..].find(";\n").unwrap();
        let read: String = serde_json::from_str(&body[start..start + end]).unwrap();
        assert_eq!(read, document);
        let moved = Answer { status: 302, ..Answer::default() };
        assert_eq!(drawn_later(moved.clone(), Duration::ZERO), moved);
    }
}
