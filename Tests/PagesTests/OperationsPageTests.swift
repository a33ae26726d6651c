import FoundationEssentials
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandLine
@testable import Coordination

@Suite struct OperationsPageTests {
  private let page: Page

  init() throws {
    page = try Page("docs/operations.md")
  }

  @Test func `Exit codes are those of the programs`() throws {
    let told = try page.table("| code | meaning |").flatMap { row in
      row[0].split(separator: ",").compactMap { Int32(String($0).trimming { $0 == " " }) }
    }
    let codes: [ExitCode] = [
      .success, .failure, .usage, .badInput, .noInput, .unavailable, .internalError, .cannotCreate, .ioError,
      .temporaryFailure, .noPermission, .configuration,
    ]
    #expect(told == codes.map(\.rawValue))
    #expect(ExitCode.signal(15).rawValue == 143)
    page.expect("(143, 130)")
  }

  @Test func `Every file that it lists is there, and every file and folder of Config is listed`() throws {
    let told = try page.table("| file | for |").flatMap { Page.code(in: $0[0]) }
    for path in told {
      #expect(FileManager.default.fileExists(atPath: Repository.root + "/" + path), "\(path)")
    }
    let listed = Set(told.map { String($0.split(separator: "/")[1]) })
    // The descriptions of messages and calls are no configuration.
    let found = Set(try FileManager.default.contentsOfDirectory(atPath: Repository.config)).subtracting([
      "asyncapi.json", "openapi.json",
    ])
    #expect(listed == found)
  }

  @Test func `Limits to know before a load test are the defaults`() {
    let limits = Limits()
    page.expect(
      "\(grouped(limits[.sendsPerDay])) SMS a day", "\(grouped(limits[.sendsPerCountryPerDay])) to a country",
      "\(limits[.sendsPerPrefixPer10Minutes]) to numbers")
  }

  @Test func `Every command of the table is one of the program`() throws {
    let words = try commands().map { command in command.prefix(while: Self.isName) }
    #expect(words.count > 25)
    for command in try commands() {
      switch try parse(command) {
      case .run(let arguments): #expect(arguments.command == Array(command.prefix(arguments.command.count)))
      case .help: Issue.record("\(command) prints help")
      }
    }
  }

  @Test func `Every command of the program is in the table, but the one that prints the version`() throws {
    let told = try commands()
    for command in leaves(CountersignSyntax.program.syntax) where command != ["version"] {
      #expect(told.contains { $0.starts(with: command) }, "\(command.joined(separator: " "))")
    }
  }

  /// Reads a command whose operands stand for values.
  private func parse(_ command: [String]) throws -> CommandInvocation {
    try CountersignSyntax.program.syntax.parse(command.map { $0.allSatisfy { $0.isUppercase } ? "X" : $0 })
  }

  /// Commands of the table. Those that a row shortens have the words of its first one.
  private func commands() throws -> [[String]] {
    try page.table("| command | |").flatMap { row in
      var groups: [[String]] = []
      for code in Page.code(in: row[0]) {
        let words = code.split(separator: " ").map(String.init)
        guard let first = groups.first else {
          groups.append(words)
          continue
        }
        if leaves(CountersignSyntax.program.syntax).contains(where: { words.starts(with: $0) }) {
          groups.append(words)
        } else {
          // The words of the group, and of `revoke` and `sms preview` the command itself, which only its options tell apart.
          let names = first.prefix(while: Self.isName)
          groups.append((words[0].hasPrefix("--") ? Array(names) : Array(names.dropLast())) + words)
        }
      }
      return groups
    }
  }

  private static func isName(_ word: String) -> Bool {
    !word.hasPrefix("--") && word.allSatisfy { $0.isLowercase || $0 == "-" }
  }

  private func leaves(_ syntax: CommandSyntax) -> [[String]] {
    syntax.subcommands.flatMap { command in
      let below = leaves(command)
      return below.isEmpty ? [[command.name]] : below.map { [command.name] + $0 }
    }
  }
}
