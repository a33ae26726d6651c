import CountersignAMQP
import Testing

@testable import CommandLine

@Suite struct TerminalTextTests {
  /// Writes to the clipboard in terminals that allow it (OSC 52), and turns the writing direction round.
  static let hostile = "a\u{1B}]52;c;ZXZpbA==\u{7}\u{9B}31m\u{202E}z\r\nforged line"

  private static func isHarmless(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      scalar == "\n"
        || !(scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || (0x202A...0x202E).contains(scalar.value)
          || (0x2066...0x2069).contains(scalar.value))
    }
  }

  @Test func `Control sequences of a dead letter are written out, in text and in JSON`() async {
    let message = Message(
      headers: ["x-dead-reason": "UNKNOWN_TYPE", "x-last-error": .string(Self.hostile)], messageID: Self.hostile,
      type: Self.hostile, body: Array("{}".utf8))
    for arguments in [["dead", "list"], ["dead", "list", "--json"], ["dead", "drop", "--yes"]] {
      let run = await Run(FakeBackend(dead: [message]), arguments: arguments)
      #expect(run.output.contains("\\u001b"), "\(arguments)")
      #expect(Self.isHarmless(run.output), "\(arguments)")
      #expect(!run.output.split(separator: "\n").contains { $0.hasPrefix("forged line") }, "\(arguments)")
    }
  }

  @Test func `An error that repeats somebody's text is harmless as well`() async {
    let refusal = CommandLineError(.unavailable, Self.hostile)
    let run = await Run(FakeBackend(reply: .failure(refusal)), "verify", "status", "v1")
    #expect(run.error.contains("\\u009b"))
    #expect(Self.isHarmless(run.error))
  }

  @Test func `Ordinary text, other scripts and line feeds stay`() {
    let text = "a line\nאב ‏ 日本 é"
    #expect(TerminalText.lines(text) == text)
    #expect(TerminalText.line("a\nb") == "a\\u000ab")
  }
}
