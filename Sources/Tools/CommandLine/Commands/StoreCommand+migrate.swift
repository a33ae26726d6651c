import CommandEngine
import Coordination
import CountersignEncoding
import CountersignTelemetry
import ServiceRuntime
import Synchronization

extension StoreCommand {
  /// `countersign store migrate`.
  enum Migrate: OperatorCommand {
    static let syntax = CommandSyntax(
      "migrate", "Copies the SQLite database of a coordinator into an empty one in PostgreSQL.",
      discussion: """
        Stop the coordinator first, in order, and start those on PostgreSQL afterwards: beside either of them it refuses (69). It needs
        the coordinator's new configuration, with database.type "postgresql", and is run as the coordinator's user. Progress goes to
        standard error. The file stays as it is; tables of an earlier version are carried over in it, as by a start of the coordinator.
        Interrupted, it is run again and begins anew.

        It copies this one file. Not copied:
          marks of messages that crashed a process    their count begins again
          suppressions of the mail-worker             countersign mail suppressions copy FILE
          memory of the push-worker                   made anew; after the worker's stop wait two minutes, the life of a reCAPTCHA token
          ledgers of the workers                      stop the workers in order before they change theirs, with their queues empty: a job
                                                      that one has begun is unknown to the other, and may be carried out twice
        """,
      options: Options.self)

    struct Options: CommandOptions {
      let path: String
      let configuration: String?
      let leavesUnreadable, isCheck: Bool

      init(_ reader: OptionReader) {
        path = reader.operand("FILE", "The SQLite file: database.path of the configuration before.")
        configuration = reader.text(
          "coordinator-config", "FILE",
          "The coordinator's new configuration: coordinator.json5 of COUNTERSIGN_CONFIG_DIR unless given.")
        leavesUnreadable = reader.flag("leave-unreadable", "Leaves rows behind that this version cannot read.")
        isCheck = reader.flag(
          "check", "Looks at both sides, says what would be copied and what not, and copies nothing.")
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
      let configuration = try context.backend().coordinatorConfiguration(file: options.configuration)
      guard case .postgresql(let settings) = configuration.database else {
        throw CommandLineError(
          .configuration, "database.type of the coordinator is not postgresql: name its new configuration")
      }
      let migration = DatabaseMigration(
        options.path, to: settings, rules: configuration.rules, clock: context.clock,
        logger: Logger(label: "countersign", level: .warning, format: .text))
      let report = ProgressReport(context.report)
      do throws(StartError) {
        if options.isCheck { return output(try await migration.preview()) }
        let outcome = try await migration.run(leavesUnreadable: options.leavesUnreadable) { report.note($0) }
        return output(outcome.copied)
      } catch {
        throw CommandLineError(error)
      }
    }

    private static func output(_ counts: StoreCounts) -> CommandOutput {
      CommandOutput(
        text: "copied and counted on both sides: \(text(counts))\n\(notCopied)"
          + "\nstart the coordinators; the file is no longer used, and can be removed when all is well",
        json: .object(json(counts)))
    }

    private static func output(_ preview: DatabaseMigration.Preview) -> CommandOutput {
      var lines = ["nothing stands in the way; to be copied: \(text(preview.rows))"]
      if !preview.earlierTables.isEmpty {
        lines.append("and the rows of an earlier version in \(preview.earlierTables.joined(separator: ", "))")
      }
      if preview.isInterrupted { lines.append("what an interrupted migration had copied is deleted first") }
      return CommandOutput(
        text: (lines + [notCopied]).joined(separator: "\n"),
        json: .object(
          json(preview.rows).merging([
            "earlierTables": .array(preview.earlierTables.map { .text($0) }),
            "interrupted": .bool(preview.isInterrupted),
          ]) { first, _ in first }))
    }

    private static let notCopied =
      "not copied: crash marks, and the workers' files: suppressions (countersign mail suppressions copy), push memory, ledgers; see --help"

    private static func text(_ counts: StoreCounts) -> String {
      let parts: [(String, Int)] = [
        ("records", counts.records), ("inbox entries", counts.inbox), ("cells of counters", counts.cells),
        ("messages", counts.messages),
      ]
      return parts.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    }

    private static func json(_ counts: StoreCounts) -> [String: JSONValue] {
      [
        "records": .integer(Int64(counts.records)), "inbox": .integer(Int64(counts.inbox)),
        "counters": .integer(Int64(counts.cells)), "messages": .integer(Int64(counts.messages)),
      ]
    }
  }
}

/// Lines about the progress of a migration: at most one in a hundred of a part.
private final class ProgressReport: Sendable {
  private let write: @Sendable (String) -> Void
  private let last = Mutex<(part: StoreCopyPart?, percent: Int)>((nil, -1))

  init(_ write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  func note(_ progress: DatabaseMigration.Progress) {
    switch progress {
    case .carryingOver: write("reading the file\n")
    case .clearing: write("deleting what an interrupted migration had copied\n")
    case .verifying: write("counting both sides\n")
    case .copied(let part, let rows, let all):
      let percent = all > 0 ? min(100, rows * 100 / all) : 100
      let isNews = last.withLock { last in
        guard last.part != part || last.percent != percent else { return false }
        last = (part, percent)
        return true
      }
      if isNews { write("\(part.rawValue): \(rows) of \(all) rows, \(percent) %\n") }
    }
  }
}

extension CommandLineError {
  /// An error of a process's start, for an operator at a terminal.
  init(_ error: StartError) {
    let code: Code =
      switch error.exitCode {
      case .configuration: .configuration
      case .noInput: .noInput
      case .badInput: .badInput
      case .noPermission: .notPermitted
      case .unavailable: .unavailable
      default: .internalError
      }
    self.init(code, error.description)
  }
}
