import ServiceRuntime
import Testing

@Suite struct CommandSyntaxTests {
  enum Format: String, CaseIterable {
    case text, json
  }

  static let syntax = CommandSyntax(
    "tool", "Does things.", discussion: "Exit codes: 0.",
    options: [.flag("json", "Print JSON."), .value("config", short: "c", "FILE", "The configuration.")],
    subcommands: [
      CommandSyntax(
        "verify", "Verifies.",
        subcommands: [
          CommandSyntax(
            "start", "Starts.", options: [.value("timeout", "TIME", "How long."), .value("count", "N", "How many.")],
            operands: [.required("NUMBER", "The number."), .optional("NOTE", "A note.")])
        ]),
      CommandSyntax("send", "Sends.", operands: [.repeating("FILE", "What.", atLeastOne: true)]),
    ])

  private func run(_ arguments: String...) throws -> CommandArguments {
    guard case .run(let result) = try Self.syntax.parse(arguments) else { throw UsageError("help") }
    return result
  }

  private func error(_ arguments: String...) -> String? {
    do {
      _ = try Self.syntax.parse(arguments)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `Options may stand anywhere`() throws {
    let arguments = try run(
      "--json", "verify", "-c", "a.json5", "start", "--timeout=2m", "+1415", "--config", "b.json5")
    #expect(arguments.command == ["verify", "start"])
    #expect(arguments.flag("json"))
    #expect(arguments.value("config") == "b.json5")
    #expect(arguments.values("config") == ["a.json5", "b.json5"])
    #expect(try arguments.operand("NUMBER") == "+1415")
    #expect(arguments["NOTE"] == nil)
    #expect(try arguments.duration("timeout") == .seconds(120))
  }

  @Test func `Arguments after two hyphens are not options`() throws {
    #expect(try run("send", "--", "--json", "-x").operands("FILE") == ["--json", "-x"])
    #expect(try run("send", "-", "-5").operands("FILE") == ["-", "-5"])
  }

  @Test func `Mistakes are named with a suggestion`() {
    #expect(error("verify", "start", "1", "--jsn") == "unknown option --jsn (did you mean --json?)")
    #expect(error("verify", "strat") == "unknown command strat (did you mean start?)")
    #expect(error("paint") == "unknown command paint; one of verify, send")
    #expect(error("verify", "start") == "NUMBER is missing; see tool verify start --help")
    #expect(error("verify", "start", "1", "2", "3") == "unexpected argument 3; see tool verify start --help")
    #expect(error("send", "--config") == "--config needs a value: --config FILE")
    #expect(error("send", "--json=yes", "f") == "--json takes no value")
    #expect(error("-x") == "unknown option -x; see tool --help")
    #expect(error() == "tool needs a command: one of verify, send")
    #expect(error("send") == "FILE is missing; see tool send --help")
    #expect(UsageError("").exitCode.rawValue == 64)
  }

  @Test func `Option values are read`() throws {
    let arguments = try run("verify", "start", "1", "--count", "12", "--timeout", "1.5", "-c", "jsn")
    #expect(try arguments.integer("count", in: 1...20) == 12)
    #expect(throws: UsageError("--count must be a whole number from 1 to 10")) {
      try arguments.integer("count", in: 1...10)
    }
    #expect(try arguments.duration("timeout") == .milliseconds(1500))
    #expect(throws: UsageError("--config must be one of text, json (did you mean json?)")) {
      try arguments.word("config", as: Format.self)
    }
    #expect(throws: UsageError.self) { try run("verify", "start", "1", "--timeout", "-5s").duration("timeout") }
    #expect(throws: UsageError.self) { try run("verify", "start", "1", "--timeout", "nan").duration("timeout") }
  }

  @Test func `Help shows everything`() throws {
    guard case .help(let text) = try Self.syntax.parse(["verify", "start", "--help"]) else {
      return #expect(Bool(false), "no help")
    }
    #expect(
      text == """
        Starts.

        Usage: tool verify start [OPTIONS] NUMBER [NOTE]

        Arguments:
          NUMBER  The number.
          NOTE    A note.

        Options:
              --timeout TIME  How long.
              --count N       How many.
              --json          Print JSON.
          -c, --config FILE   The configuration.
          -h, --help          Show this help.

        """)
    guard case .help(let text) = try Self.syntax.parse(["-h"]) else { return #expect(Bool(false), "no help") }
    #expect(text.contains("Usage: tool COMMAND [OPTIONS]"))
    #expect(text.contains("  verify  Verifies."))
    #expect(text.hasSuffix("Exit codes: 0.\n"))
  }

  @Test(
    arguments: [
      ("pasword", "password"), ("PASSWORDFILE", "passwordFile"), ("password_file", "passwordFile"), ("url", "url"),
      ("warn", "warning"),
      ("ulr", "url"), ("zebra", nil), ("passwor", "password"), ("pass", nil),
    ] as [(String, String?)])
  func `The nearest option is suggested`(name: String, meant: String?) {
    #expect(NearestName.of(name, among: ["passwordFile", "password", "url", "tls", "warning"]) == meant)
  }
}
