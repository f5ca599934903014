//! A Java program with threads, a server and a child.

use crate::job::Job;

const MAIN: &str = r#"
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.util.stream.IntStream;

public class Main {
    public static void main(String[] words) throws Exception {
        int sum = IntStream.rangeClosed(1, 1000).parallel().sum();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            byte[] text = ("sum " + sum).getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
        HttpRequest request = HttpRequest.newBuilder(uri).build();
        String text = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
        Files.writeString(Files.createTempFile("x", "y"), text);
        Process child = new ProcessBuilder("echo", text).inheritIO().start();
        child.waitFor();
        server.stop(0);
        System.exit(0);
    }
}
"#;

#[test]
fn a_java_program_is_compiled_and_runs() {
    Job::new("java").needs("javac").needs("java").file("src/Main.java", MAIN).runs(
        "javac -d out src/Main.java && java -cp out Main && jar cf main.jar -C out .",
        "sum 500500",
    );
}
