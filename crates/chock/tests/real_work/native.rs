//! Compilers, make and debuggers.

use crate::job::{Job, everybody};

const PROGRAM: &str = "#include <pthread.h>\n#include <stdio.h>\n#include \"part.h\"\n\n\
                       static void *twice(void *n) {\n    *(int *)n *= 2;\n    return 0;\n}\n\n\
                       int main(void) {\n    int n = part();\n    pthread_t thread;\n    \
                       pthread_create(&thread, 0, twice, &n);\n    pthread_join(thread, 0);\n    \
                       printf(\"made %d\\n\", n);\n    return 0;\n}\n";

const MAKEFILE: &str = "CFLAGS = -g -O0 -fPIC\n\nprogram: program.o libpart.so\n\t\
                        $(CC) -pthread -o $@ program.o -L. -lpart -Wl,-rpath,'$$ORIGIN'\n\n\
                        libpart.so: part.o\n\t$(CC) -shared -o $@ part.o\n\n\
                        check: program\n\t./program\n";

fn a_program(name: &'static str) -> Job {
    Job::new(name)
        .needs("make")
        .needs("cc")
        .file("program.c", PROGRAM)
        .file("part.c", "#include \"part.h\"\n\nint part(void) {\n    return 21;\n}\n")
        .file("part.h", "int part(void);\n")
        .file("Makefile", MAKEFILE)
}

#[test]
fn a_compiler_and_make_build_a_program_and_its_library() {
    a_program("gcc and make").runs("make -j2 check", "made 42");
}

#[test]
fn sanitizers_run() {
    // The shadow of the whole address space counts as a process's memory.
    a_program("address sanitizer")
        .configured(".{ .limits = .{ .process_memory = \"64 TiB\" } }")
        .needs_that("echo 'int main(){}' | cc -fsanitize=address -x c -o /dev/null -")
        .runs(
            "cc -fsanitize=address,undefined -pthread program.c part.c -o checked && ./checked",
            "made 42",
        );
}

const DEBUG: &str = "gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex 'break part' -ex run -ex backtrace ./program";

#[test]
fn a_debugger_works_only_where_a_row_allows_it() {
    let job = a_program("gdb").needs("gdb").file(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"sandbox.debug\", .decision = .allow } } } }\n",
    );
    for who in everybody() {
        let Some(workshop) = job.yard(who) else { continue };
        let script = format!("make -s program && {DEBUG} 2>&1; true");
        let control = workshop.outside(&script);
        assert!(control.out.contains("#1") && control.out.contains("in main"), "{}", control.out);
        let inside = ["exec", "--", "bash", "-c", &script];
        // Not accepted: as if the row were not there.
        let refused = workshop.inside(&inside).expect(0);
        assert!(!refused.out.contains("in main"), "{}", refused.out);
        assert!(refused.out.contains("not permitted"), "{}", refused.out);
        let digest = refused.err.split("--accept-project ").nth(1).expect("how to accept it");
        let digest = digest.split_whitespace().next().expect("a digest");
        let accepted = ["exec", "--accept-project", digest, "--", "bash", "-c", &script];
        let allowed = workshop.inside(&accepted).expect(0);
        assert!(allowed.out.contains("#1") && allowed.out.contains("in main"), "{}", allowed.out);
    }
}

#[test]
fn strace_follows_what_a_row_allows() {
    let job = Job::new("strace").needs("strace").file(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"sandbox.debug\", .decision = .allow } } } }\n",
    );
    for who in everybody() {
        let Some(workshop) = job.yard(who) else { continue };
        let script = "strace -f -e trace=execve true 2>&1";
        let control = workshop.outside(script);
        assert!(control.out.contains("exited with 0"), "{}", control.out);
        let refused = workshop.inside(&["exec", "--", "bash", "-c", script]);
        assert_ne!(refused.code, Some(0), "{}", refused.out);
    }
}
