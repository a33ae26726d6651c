import Glibc

/// The run of `deploy/test` that this process belongs to.
package enum TestRun {
  /// Variables by which the run knows its processes at its end. A server gets no others of the environment of the tests.
  package static var variables: [String] {
    let name = "COUNTERSIGN_TEST_BROKER_CTL"
    return getenv(name).map { ["\(name)=\(String(cString: $0))"] } ?? []
  }
}
