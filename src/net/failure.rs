//! ureq's errors in our words.

use std::io;

use ureq::Error;

use crate::modules::probe::{Phase, ProbeError};

/// What an error of ureq means, `phase` being where the exchange stood.
pub(super) fn probe_error(error: Error, phase: Phase) -> ProbeError {
    match error {
        Error::Timeout(_) => ProbeError::Timeout(phase),
        Error::Io(e) => io_error(&e, phase),
        Error::Rustls(e) => ProbeError::Tls(e.to_string()),
        Error::Tls(why) => ProbeError::Tls(why.into()),
        Error::TlsRequired => ProbeError::Tls("no TLS where it is needed".into()),
        Error::ConnectProxyFailed(why) => ProbeError::Connect(why),
        Error::HostNotFound | Error::ConnectionFailed => ProbeError::Connect(error.to_string()),
        _ if phase == Phase::Body => ProbeError::Body(error.to_string()),
        // Their texts would show the address.
        Error::BadUri(_) | Error::Http(_) => {
            ProbeError::Protocol("the request cannot be sent as it is".into())
        }
        _ => ProbeError::Protocol(error.to_string()),
    }
}

fn io_error(error: &io::Error, phase: Phase) -> ProbeError {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return ProbeError::Tls(tls.to_string());
    }
    match phase {
        Phase::Body => ProbeError::Body(error.to_string()),
        _ => ProbeError::Connect(error.to_string()),
    }
}
