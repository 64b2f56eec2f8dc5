//! Decides what a fleet upgrade does next; cannot do I/O.
