//! Requests and responses as data: parsing, checks and rendering, without sockets.

pub(super) mod compressed;
pub(super) mod encoding;
pub(super) mod forwarded;
pub(super) mod head;
pub(super) mod render;
pub(super) mod request;
pub(super) mod response;
pub(super) mod static_file;
pub(super) mod target;
