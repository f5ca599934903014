//! The sandbox from outside: how calls run, end and are limited.
