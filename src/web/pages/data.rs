//! The account's data: handed out, deleted.

use std::io::{self, Write};
use std::sync::Arc;

use log::warn;

use super::account::{Wrong, show};
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::Password;
use crate::http::{Reply, Response, StreamEnd, StreamSink};
use crate::report::account::{ExportError, write_account};
use crate::web::error::{WebError, too_many};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Bytes that are sent at once.
const PIECE_BYTES: usize = 32 * 1024;

/// `POST /app/account/export`: everything that is kept of the account, as JSON, piece by piece. Where it fails on the
/// way the connection is cut: half of it never looks like the whole.
///
/// # Errors
/// 401.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, by) = (visit.caller()?.account.clone(), visit.origin()?);
    let head = Response::empty(200)
        .with_header("Content-Type", "application/json")
        .with_header("Content-Disposition", "attachment; filename=\"sightline-account.json\"");
    let (web, now) = (Arc::clone(web), web.parts.clock.now());
    Ok(Reply::Stream(
        head,
        Box::new(move |sink| {
            let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces(sink));
            let written = write_account(&web.parts.archive, &account, now, &by, &mut out);
            let written = written.and_then(|()| out.flush().map_err(ExportError::from));
            // What is left of a half is not sent on drop.
            drop(out.into_parts());
            match written {
                Ok(()) => StreamEnd::Complete,
                Err(ExportError::Io(_)) => StreamEnd::ReaderGone,
                Err(error) => {
                    warn!(request_id = visit.request_id.as_str(); "an account's export broke off: {error}");
                    StreamEnd::ReaderGone
                }
            }
        }),
    ))
}

/// A stream's sink as something to write to.
struct Pieces<'a>(&'a mut dyn StreamSink);

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `POST /app/account/delete`: `password`, `sure`. The account is closed for good at once; what belonged to it is removed
/// in the background.
///
/// # Errors
/// 503. What is wrong with the form is said in it.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    Ok(web.later(visit, try_delete))
}

fn try_delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    if !form.is_checked("sure") {
        return refuse(web, visit, "Say that you are sure.".to_owned());
    }
    let account = &visit.caller()?.account;
    match web.parts.sign_ins.confirm(account, &Password::new(form.get("password"))) {
        Ok(()) => {}
        Err(SignInError::Wrong) => return refuse(web, visit, "The password is wrong.".to_owned()),
        Err(SignInError::TooMany(wait)) => return refuse(web, visit, too_many(wait)),
        Err(error) => return Err(error.into()),
    }
    web.parts.accounts.close_account(account.id, &visit.origin()?)?;
    let answer = web.redirect_saying("/app/sign-in", Notice::AccountDeleted);
    Ok(Reply::Now(web.without_session(answer)))
}

fn refuse(web: &Web, visit: Visit, why: String) -> Result<Reply, WebError> {
    let wrong = Wrong { deletion: Some(why), ..Wrong::default() };
    show(web, visit, 422, wrong).map(Reply::Now)
}
