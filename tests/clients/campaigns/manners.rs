//! The example clients against a scripted server: how long they wait, when they repeat a request, what they
//! accept as the end, and how they exit.

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::example::{EXAMPLES, Ended, Example, Run, with_plain_numbers};
use crate::support::site::{Received, Site, hold};

const RUN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// The answer on one connection.
#[derive(Clone)]
enum Answer {
    /// These bytes, then the connection closes.
    Bytes(String),
    /// These bytes one by one, then nothing until the client closes the connection.
    Silence(String),
}

/// Plays the answers of a test.
struct Played {
    site: Site,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Played {
    /// Plays these answers in order.
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
        Self::answering(move |_| answers.next().expect("a request more than there are answers"))
    }

    /// Answers the first request of each method with the first answer, and all later ones with the second.
    fn first_and_later(posts: [Answer; 2], gets: [Answer; 2]) -> Self {
        let mut known = HashSet::new();
        Self::answering(move |request| {
            let is_post = request.line().starts_with("POST ");
            let [first, later] = if is_post { &posts } else { &gets };
            if known.insert(is_post) { first.clone() } else { later.clone() }
        })
    }

    fn answering(choose: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let choose = Mutex::new(choose);
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&arrivals);
        let site = Site::start(move |stream, request| {
            log.lock().unwrap().push(Instant::now());
            let answer = (choose.lock().unwrap())(request);
            give(stream, answer);
        });
        Self { site, arrivals }
    }

    fn run(&self, example: Example) -> Run {
        example.at(self.site.addr, &format!("sl_live_{}", uuid::Uuid::new_v4().simple()))
    }

    fn search(&self, example: Example) -> Ended {
        self.run(example).search(&["username", "alice"])
    }

    /// Returns the time between each request and the next.
    fn pauses(&self) -> Vec<Duration> {
        self.arrivals.lock().unwrap().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

fn give(stream: &mut TcpStream, answer: Answer) {
    stream.set_nodelay(true).unwrap();
    // The client may have closed the connection.
    let _ = match answer {
        Answer::Bytes(text) => stream.write_all(text.as_bytes()),
        Answer::Silence(text) => {
            let written = text.bytes().try_for_each(|byte| stream.write_all(&[byte]));
            hold(stream);
            written
        }
    };
}

fn json_answer(status: u16, headers: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let length = body.len();
    Answer::Bytes(format!(
        "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\n{headers}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    ))
}

fn started() -> Answer {
    json_answer(200, "", &json!({"run_id": RUN, "status": "running"}))
}

fn busy(status: u16, seconds: u32) -> Answer {
    let body = json!({"error": "busy", "message": "not now"});
    json_answer(status, &format!("retry-after: {seconds}\r\n"), &body)
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

fn stream(frames: &[String]) -> Answer {
    Answer::Bytes(format!("{HEAD}{}", frames.concat()))
}

fn frame(event: &str, data: &Value) -> String {
    format!("event: {event}\ndata: {data}\n\n")
}

fn run_frame() -> String {
    frame("run", &json!({"run_id": RUN, "type": "username", "query": "alice", "status": "running"}))
}

fn result(id: u32, confidence: f64) -> Value {
    // A line separator does not end a line of a stream.
    let value = "älice\u{2028}\u{1f600}";
    json!({"id": id, "type": "account", "platform": format!("site {id}"), "value": value, "confidence": confidence, "metadata": {}})
}

fn result_frame(id: u32, confidence: f64) -> String {
    frame("result", &result(id, confidence))
}

fn done_frame(status: &str) -> String {
    let error = json!({"code": "no_network", "message": "no site could be reached"});
    let error = if status == "failed" { error } else { Value::Null };
    frame("done", &json!({"run_id": RUN, "status": status, "modules_completed": 3, "error": error}))
}

/// Runs all clients at the same time, since they mostly wait.
fn with_each(play: impl Fn(Example) + Sync) {
    std::thread::scope(|scope| EXAMPLES.iter().for_each(|example| drop(scope.spawn(|| play(*example)))));
}

#[test]
fn clients_respect_retry_after_and_repeat_the_same_request() {
    let pausing = |event: &str, status: &str, seconds: u32| {
        stream(&[
            run_frame(),
            result_frame(1, 0.5),
            frame(
                event,
                &json!({"run_id": RUN, "status": status, "retry_after": seconds, "message": "later"}),
            ),
        ])
    };
    with_each(|example| {
        let played = Played::new([
            busy(429, 2),
            busy(503, 1),
            busy(409, 1),
            started(),
            busy(429, 2),
            pausing("reconnect", "running", 2),
            pausing("error", "running", 2),
            pausing("done", "timeout", 1),
            stream(&[run_frame(), result_frame(1, 0.5), done_frame("completed")]),
        ]);
        let ended = played.search(example);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        assert_eq!(ended.results, with_plain_numbers(&json!([result(1, 0.5)])), "{}", ended.said);
        let told = [2, 1, 1, 0, 2, 2, 2, 1].map(Duration::from_secs);
        let pauses = played.pauses();
        assert_eq!(pauses.len(), told.len(), "{}", ended.said);
        let waits = pauses.iter().zip(told).all(|(pause, told)| *pause >= told);
        assert!(waits, "{}: {pauses:?} instead of {told:?}", example.file);
        assert!(ended.said.contains("429: not now"), "{}", ended.said);
        are_the_same_search(&played.site.received());
    });
}

/// Asserts four attempts to start the search with one key; all further requests attach.
fn are_the_same_search(requests: &[Received]) {
    let (posts, gets) = requests.split_at(4);
    let keys: HashSet<_> = posts.iter().map(|post| post.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 1, "one search, one key");
    for post in posts {
        assert_eq!(post.line(), "POST /v1/searches HTTP/1.1");
        assert_eq!(post.header("content-type").as_deref(), Some("application/json"));
        let body: Value = serde_json::from_slice(&post.body).unwrap();
        assert_eq!(body, json!({"type": "username", "query": "alice"}));
    }
    for get in gets {
        assert_eq!(get.line(), format!("GET /v1/searches/{RUN}/stream HTTP/1.1"));
    }
    assert!(
        requests
            .iter()
            .all(|request| request.header("authorization").unwrap().starts_with("Bearer sl_live_"))
    );
}

#[test]
fn only_a_complete_done_frame_ends_a_stream() {
    let done = done_frame("completed");
    let half = result_frame(3, 0.1);
    with_each(|example| {
        let played = Played::new([
            started(),
            stream(&[]),
            stream(&[run_frame(), result_frame(1, 0.5), result_frame(2, 0.5), result_frame(1, 0.7)]),
            stream(&[run_frame(), result_frame(1, 0.8), half[..half.len() - 1].to_owned()]),
            stream(&[run_frame(), result_frame(1, 0.8), done[..done.len() - 1].to_owned()]),
            stream(&[run_frame(), result_frame(1, 0.8), done[..done.len() / 2].to_owned()]),
            stream(&[
                ": a comment\n\n:\n\n".to_owned(),
                run_frame().replace('\n', "\r\n"),
                frame("news", &json!({"what": "nobody knows"})),
                "id: 7\nretry: 5\nunknown\nevent:result\ndata:{\"id\": 4, \"type\": \"account\",\ndata: \"platform\": null, \"value\": null}\n\n"
                    .to_owned(),
                frame("progress", &json!({"modules_completed": 2})),
                "event: progress\n\n".to_owned(),
                result_frame(2, 0.5).replace('\n', "\r\n"),
                result_frame(1, 0.9),
                done.clone(),
            ]),
        ]);
        let ended = played.search(example);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let want = json!([result(1, 0.9), result(2, 0.5), {"id": 4, "type": "account", "platform": null, "value": null}]);
        assert_eq!(ended.results, with_plain_numbers(&want), "{}", ended.said);
    });
}

#[test]
fn a_silent_connection_times_out() {
    with_each(|example| {
        // On a busy machine the client may give up once more, so one more answer is ready.
        let whole = [run_frame(), result_frame(1, 0.5), result_frame(2, 0.5), done_frame("completed")];
        let played = Played::first_and_later(
            [Answer::Silence(String::new()), started()],
            [Answer::Silence(format!("{HEAD}{}{}", run_frame(), result_frame(1, 0.5))), stream(&whole)],
        );
        let ended = played.run(example).with("SILENCE", 2).search(&["username", "alice"]);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let want = json!([result(1, 0.5), result(2, 0.5)]);
        assert_eq!(ended.results, with_plain_numbers(&want), "{}", ended.said);
    });
}

#[test]
fn a_refused_request_is_not_repeated() {
    let refusal = |status| json_answer(status, "", &json!({"error": "no", "message": "a word about it"}));
    with_each(|example| {
        for (status, code) in [(400, 2), (401, 3), (402, 3), (403, 3), (422, 3)] {
            let played = Played::new([refusal(status)]);
            let ended = played.search(example);
            assert_eq!(ended.code, Some(code), "{status}: {}", ended.said);
            assert_eq!(ended.said, format!("failed: {status}: a word about it\n"));
        }
        let played = Played::new([started(), refusal(404)]);
        let ended = played.search(example);
        assert_eq!(ended.code, Some(3), "{}", ended.said);
        assert!(ended.said.ends_with("failed: 404: a word about it\n"), "{}", ended.said);
    });
}

#[test]
fn exit_codes_follow_from_the_end_of_the_run() {
    with_each(|example| {
        for (frames, code, printed) in [
            (vec![run_frame(), done_frame("completed")], 1, 0),
            (vec![run_frame(), result_frame(1, 0.5), done_frame("completed")], 0, 1),
            (vec![run_frame(), result_frame(1, 0.5), done_frame("failed")], 3, 1),
        ] {
            let played = Played::new([started(), stream(&frames)]);
            let ended = played.search(example);
            assert_eq!(ended.code, Some(code), "{}", ended.said);
            assert_eq!(ended.results.as_array().unwrap().len(), printed);
            assert!(ended.said.contains(&format!("{printed} results from 3 modules")), "{}", ended.said);
            assert_eq!(ended.said.contains("no site could be reached"), code == 3, "{}", ended.said);
        }
    });
}
