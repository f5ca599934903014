//! The tests' keeper: a binary that holds the hands of the file tools and nothing else.

fn main() {
    chock_sandbox::enter_role_if_asked(std::env::args_os(), chock_tools::HANDS);
}
