import CommandEngine
import CountersignEncoding
import CountersignTelemetry
import PostgreSQL
import ServiceRuntime
import Synchronization

extension StoreCommand {
  struct CopyOptions: CommandOptions {
    let login: StoreLogin
    let source, target: String
    let beginsAnew, isDryRun: Bool

    init(_ reader: OptionReader) {
      login = StoreLogin(reader)
      beginsAnew = reader.flag("anew", "Gives up an interrupted copy of FROM or into TO, and deletes what it wrote.")
      isDryRun = reader.flag("dry-run", "Looks at both sides, says what would be copied, and copies nothing.")
      source = reader.operand("FROM", "Place of the data: a file or a URL.")
      target = reader.operand("TO", "Empty place, or the one of the interrupted copy: a file or a URL.")
    }
  }

  static let copy = CommandEntry(
    "copy", "Copies all that the coordinator or accounts have stored from SQLite into PostgreSQL, or back.",
    discussion: """
      FROM and TO are an SQLite file, and the URL of a database in PostgreSQL whose tables 'store create' has made. Stop the
      service's processes first: beside one on either side it refuses (69). Run it as the service's user. FROM stays as it is.
      Interrupted, it is run again with the same FROM and TO, and goes on; no process starts on a part. In the end it compares
      number and content of all rows.

      Not copied:
        marks of messages that crashed a process, and check values of keys    made anew
        suppressions of the mail-worker    countersign mail suppressions copy FILE
        memory of the push-worker          made anew; after the worker's stop wait two minutes, the life of a reCAPTCHA token
        ledgers of the workers             stop the workers in order before they change theirs, with their queues empty: a job
                                           that one has begun is unknown to the other, and may be carried out twice

      Example:
        countersign store copy /var/lib/countersign/accounts.sqlite \\
          postgresql://countersign_accounts@db1.example.com/countersign_accounts --password-file accounts.password
      """, options: CopyOptions.self
  ) { options, context in
    guard isURL(options.source) != isURL(options.target) else {
      throw CommandLineError(
        .usage, "one of FROM and TO is a file, the other begins with postgresql://; cp and pg_dump copy like to like")
    }
    let copy = StoreCopy(
      from: try place(options.source, "FROM", options), to: try place(options.target, "TO", options),
      beginsAnew: options.beginsAnew)
    do throws(StoreError) {
      if options.isDryRun { return output("nothing stands in the way; nothing was copied", try await copy.preview()) }
      let report = ProgressReport(context.report)
      let parts = try await copy.run { report.note($0) }
      return output("copied and compared; start the service on \(options.target)", parts)
    } catch {
      throw CommandLineError(copy: error)
    }
  }

  private static func isURL(_ place: String) -> Bool {
    ["postgresql:", "postgres:"].contains(where: place.hasPrefix)
  }

  private static func place(
    _ text: String, _ name: String, _ options: CopyOptions
  ) throws(CommandLineError) -> StoreCopy.Place {
    guard isURL(text) else { return .file(text) }
    return .database(try options.login.endpoint(text, as: name), PostgreSQLOptions())
  }

  private static func output(_ outcome: String, _ parts: [StoreCopy.Part]) -> CommandOutput {
    var table = TextTable("table", "rows", "in TO")
    table.rows = parts.map { [$0.table, "\($0.all)", "\($0.rows)"] }
    return CommandOutput(
      text: "\(outcome)\n\(table.text)",
      json: .object(
        Dictionary(
          uniqueKeysWithValues: parts.map { part in
            (part.table, .object(["rows": .integer(Int64(part.all)), "inTarget": .integer(Int64(part.rows))]))
          })))
  }
}

/// Lines about the progress of a copy: at most one in a hundred of a table.
private final class ProgressReport: Sendable {
  private let write: @Sendable (String) -> Void
  private let last = Mutex<(table: String, percent: Int)>(("", -1))

  init(_ write: @escaping @Sendable (String) -> Void) {
    self.write = write
  }

  func note(_ step: StoreCopy.Step) {
    switch step {
    case .clearing: write("deleting what an earlier copy has written\n")
    case .comparing(let table): write("\(table): comparing\n")
    case .copied(let part):
      let percent = min(100, part.rows * 100 / max(1, part.all))
      let isNews = last.withLock { last in
        guard last != (part.table, percent) else { return false }
        last = (part.table, percent)
        return true
      }
      if isNews { write("\(part.table): \(part.rows) of \(part.all) rows, \(percent) %\n") }
    }
  }
}

extension CommandLineError {
  fileprivate init(copy error: StoreError) {
    let code: Code =
      switch error.code {
      case .content, .constraint, .uniqueConstraint, .tooLarge: .badInput
      case .schema, .misuse, .invalidURL: .configuration
      case .readOnly, .permission, .notPermitted: .notPermitted
      default: .unavailable
      }
    self.init(code, error.message)
  }
}
