//! A real server with a real, tiny model: `fakes/llama/peer.sh`.

use chock_log::{Delta, Part, ToolSchema};
use chock_provider::{Cancel, Context, Model, ProviderFault};
use serde_json::json;

use crate::bench::{answer, ask, context, endpoint, model, user};

/// Needs the server at this address; it is built and started by hand.
const PEER: &str = "http://127.0.0.1:18080/v1";

#[test]
#[ignore = "needs fakes/llama/peer.sh running on port 18080"]
fn llama_answers_and_calls() {
    let mut endpoint = endpoint(PEER);
    endpoint.model = "smollm2".to_owned();
    let mut model = model(endpoint);

    let listed = model.models(&Cancel::new()).unwrap();
    assert!(listed.iter().any(|row| row.name == "smollm2"), "{listed:?}");

    let mut talk = Context { messages: vec![user("Say hello.")], ..Context::default() };
    talk.max_output_tokens = Some(40);
    let (reply, deltas) = ask(&mut model, &talk);
    let reply = reply.unwrap();
    let pieces = deltas.iter().filter(|delta| matches!(delta, Delta::Text(_))).count();
    assert!(pieces > 3 && reply.tokens.is_some(), "{reply:?}");
    println!("{} in {pieces} pieces, {:?}", reply.message.text(), reply.tokens);

    // So small a model calls only right behind the examples of its template: no system prompt.
    let mut work = context("Read the file README.md");
    work.system = String::new();
    work.max_output_tokens = Some(200);
    work.tools = vec![ToolSchema {
        name: "read_file".to_owned(),
        description: "Reads a file".to_owned(),
        parameters: json!({"type": "object", "required": ["path"],
            "properties": {"path": {"type": "string"}}}),
    }];
    let reply = ask(&mut model, &work).0.unwrap();
    println!("{:?}", reply.message.parts);
    assert!(reply.message.parts.iter().any(|part| matches!(part, Part::Call(_))), "{reply:?}");
    answer(&mut work, &reply);
    let second = ask(&mut model, &work).0.unwrap();
    println!("{:?}", second.message.parts);

    let long = Context { messages: vec![user(&"word ".repeat(20_000))], ..Context::default() };
    let fault = ask(&mut model, &long).0.unwrap_err();
    assert!(matches!(fault, ProviderFault::ContextTooLong { limit: Some(_), .. }), "{fault:?}");
    println!("{fault}");
}
