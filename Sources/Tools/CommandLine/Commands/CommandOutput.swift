internal import ServiceRuntime

/// What a command has to say: once for people, once for programs.
struct CommandOutput: Sendable {
  var text: String
  var json: JSONValue
  /// `success`, or `failure` when the answer is no.
  var exitCode = ExitCode.success
}
