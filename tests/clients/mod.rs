//! The API from a client's side: the example programs, and the libraries that people read streams with.

mod campaigns {
    mod example;
    mod generated;
    mod manners;
    mod surviving;
}
