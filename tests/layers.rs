//! (nothing yet)
