import CountersignEncoding
import CountersignMessages
import ServiceRuntime
import Synchronization

extension AccountCommand {
  enum Import {
    struct Options: CommandOptions {
      let project: ProjectOption
      let format: AccountFileFormat?
      let hash: HashOptions
      let keepsExisting: Bool
      let restarts: Bool
      let file: String

      init(_ reader: OptionReader) {
        project = reader.inherited()
        format = reader.word("format", "FORMAT", "json or csv: by the end of the file's name unless given.")
        hash = HashOptions(reader)
        keepsExisting = reader.flag(
          "keep-existing", "Leaves users that the project has as they are, and counts them: their rows change nothing.")
        restarts = reader.flag("restart", "Begins with the first row, whatever was done before.")
        file = reader.operand("FILE", "File with the users.")
      }
    }

    static let entry = CommandEntry(
      "import", "Brings users in from a file as Firebase's auth:export writes it: IDs, hashes, identities, claims.",
      discussion: """
        A user of the same ID is replaced, password and all, unless --keep-existing is given. Rows that cannot be brought in are named,
        and the others are. An import that was stopped goes on when it is started again: how far it has come is in FILE.import-state.
        Exit code 1 if a row was refused.
        """, options: Options.self
    ) { options, context in
      let (project, file) = (try options.project.id(), options.file)
      let format = try AccountFileFormat.of(file, given: options.format)
      let hash = try options.hash.parameters(context)
      var start = try ImportState(of: file, project: project, keepsExisting: options.keepsExisting)
      if !options.restarts { try start.resume(from: file) }
      let (begun, restarts) = (start, start.rows == 0)
      if !restarts { context.report("going on after row \(start.rows)\n") }
      let state = try await context.backend().withAccounts { accounts throws(CommandLineError) in
        var batches = ImportBatches(
          try AccountFileReader(path: file, format: format), hasHashParameters: hash != nil)
        try batches.skip(to: begun.rows)
        let order = AccountImport(
          accounts: accounts, project: project, hash: hash, timeout: context.timeout,
          keepsExisting: options.keepsExisting)
        return try await Self.carryOut(order, &batches, begun, ImportReport(file: file, begun, context.report))
      }
      ImportState.remove(beside: file)
      let imported = state.rows - state.refused - state.kept
      var counts = ["imported": JSONValue.integer(Int64(imported)), "refused": .integer(Int64(state.refused))]
      if options.keepsExisting { counts["kept"] = .integer(Int64(state.kept)) }
      return CommandOutput(
        text: Self.text(imported, state), json: .object(counts),
        exitCode: state.refused == 0 ? .success : .failure)
    }

    private static func text(_ imported: Int, _ state: ImportState) -> String {
      var text = imported == 1 ? "1 user is in" : "\(imported) users are in"
      let (kept, refused) = (state.kept, state.refused)
      if kept > 0 { text += kept == 1 ? ", 1 stayed as it was" : ", \(kept) stayed as they were" }
      if refused > 0 { text += refused == 1 ? ", 1 row was refused" : ", \(refused) rows were refused" }
      return text
    }

    private static func carryOut(
      _ order: AccountImport, _ batches: inout ImportBatches, _ begun: ImportState, _ report: ImportReport
    ) async throws(CommandLineError) -> ImportState {
      var (state, report) = (begun, report)
      do throws(CommandLineError) {
        try await order.run(&batches) { batch, problems throws(CommandLineError) in
          state.rows = batch.end
          let refused = problems.filter { !$0.isOfExisting }
          state.refused += refused.count
          state.kept += problems.count - refused.count
          report.count(batch.factorsWithoutNumber(except: problems))
          try report.settled(state, refused)
        }
      } catch {
        try state.write(beside: report.file)
        throw error
      }
      report.finished()
      return state
    }
  }
}

/// Words and state that an import leaves.
struct ImportReport {
  /// Refused rows that are named one by one.
  static let maxNamed = 1_000
  private static let interval = Duration.seconds(2)

  let file: String
  private let report: @Sendable (String) -> Void
  private let begun: ContinuousClock.Instant
  private let rowsBefore: Int
  private var last: ContinuousClock.Instant
  private var named = 0
  private var factorsWithoutNumber = 0

  init(file: String, _ state: ImportState, _ report: @escaping @Sendable (String) -> Void) {
    self.file = file
    self.report = report
    begun = .now
    last = begun
    rowsBefore = state.rows
  }

  /// Counts second factors that only an account which has them keeps.
  mutating func count(_ factorsWithoutNumber: Int) {
    self.factorsWithoutNumber += factorsWithoutNumber
  }

  func finished() {
    guard factorsWithoutNumber > 0 else { return }
    report(
      """
      note: second factors whose secrets are not in the file: \(factorsWithoutNumber). They stay where the project has \
      them, and other users enrol again\n
      """)
  }

  mutating func settled(_ state: ImportState, _ problems: [ImportBatch.Problem]) throws(CommandLineError) {
    for problem in problems where named <= Self.maxNamed {
      named += 1
      report(
        named > Self.maxNamed
          ? "further rows that are refused are only counted\n"
          : "line \(problem.line): \(TerminalText.line(problem.reason))\n")
    }
    let now = ContinuousClock.now
    guard now - last >= Self.interval else { return }
    last = now
    try state.write(beside: file)
    let seconds = (now - begun) / .seconds(1)
    let rate = Int64((Double(state.rows - rowsBefore) / max(seconds, 1)).rounded())
    report("\(state.rows) rows, \(state.refused) refused, \(rate) a second\n")
  }
}

extension AccountFileFormat {
  static func of(_ file: String, given: AccountFileFormat?) throws(CommandLineError) -> AccountFileFormat {
    if let given { return given }
    guard let format = allCases.first(where: { file.lowercased().hasSuffix(".\($0.rawValue)") }) else {
      throw CommandLineError(.usage, "\(file) ends neither in .json nor in .csv: give --format")
    }
    return format
  }
}
