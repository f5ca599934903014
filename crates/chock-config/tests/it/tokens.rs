//! `tokens.zon`.

use chock_config::Tokens;

#[test]
fn tokens_are_read_by_the_name_of_their_provider() {
    let tokens =
        Tokens::read("tokens.zon", ".{ .local = \"abc\", .@\"far-away\" = \"def\" }").unwrap();
    assert_eq!(tokens.get("far-away").unwrap().reveal(), "def");
    assert_eq!(tokens.iter().count(), 2);
    assert!(tokens.get("other").is_none());
    assert!(!format!("{tokens:?}").contains("abc"));
}

#[test]
fn no_fault_shows_anything_of_the_file() {
    let texts = [
        ".{ .local = SECRET }",
        ".{ .local = \"SECRET }",
        ".{ .local = .SECRET }",
        ".{ .local = \"SECRET \" }",
        ".{ .local = \"SECRET\", .local = \"SECRET\" }",
        ".{ .local = .{ .SECRET = 1 } }",
        "SECRET",
    ];
    for text in texts {
        let shown = Tokens::read("tokens.zon", text).unwrap_err().to_string();
        assert!(!shown.contains("SECRET"), "{text}\n{shown}");
        assert!(shown.starts_with("tokens.zon:1:"), "{shown}");
    }
}
