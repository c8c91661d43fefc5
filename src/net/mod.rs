//! Sockets out: the one ureq agent, the guarding resolver, the HTTP prober.
