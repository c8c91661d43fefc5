//! The words of `/v1/me` and `/v1/credits`.

use super::doc::{Answer, Doc, Tag};
use crate::api::wire::account::{Credits, Me};

/// `GET /v1/me`.
pub fn me() -> Doc {
    Doc::new("getAccount", Tag::Account, "Check the key")
        .text("Confirms that the key works, and tells what its owner may do. Costs no credits.")
        .answer(Answer::new(200, "The key's owner.").body::<Me<'_>>("application/json"))
}

/// `GET /v1/credits`.
pub fn credits() -> Doc {
    Doc::new("getCredits", Tag::Account, "Read the credit balance")
        .text("Costs no credits.")
        .answer(Answer::new(200, "The credit balance.").body::<Credits<'_>>("application/json"))
}
