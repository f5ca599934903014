//! A Go module, built and tested.

use crate::job::Job;

#[test]
fn go_builds_and_tests_a_module() {
    Job::new("go")
        .needs("go")
        .file("go.mod", "module example.test/app\n\ngo 1.19\n")
        .file(
            "main.go",
            "package main\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"net/http\"\n\t\"net/http/httptest\"\n)\n\n\
             func serve(w http.ResponseWriter, _ *http.Request) {\n\tfmt.Fprint(w, \"served\")\n}\n\n\
             func fetch() string {\n\tserver := httptest.NewServer(http.HandlerFunc(serve))\n\t\
             defer server.Close()\n\tanswer, err := http.Get(server.URL)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\t\
             text, _ := io.ReadAll(answer.Body)\n\treturn string(text)\n}\n\n\
             func main() {\n\tfmt.Println(fetch())\n}\n",
        )
        .file(
            "main_test.go",
            "package main\n\nimport \"testing\"\n\nfunc TestFetch(t *testing.T) {\n\tt.Parallel()\n\t\
             if fetch() != \"served\" {\n\t\tt.Fatal(fetch())\n\t}\n}\n",
        )
        .runs("go vet ./... && go build -o app . && go test ./... && ./app", "served");
}
