import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PasswordHashing
import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension AccountCommand {
  enum Export {
    struct Options: CommandOptions {
      let project: ProjectOption
      let format: AccountFileFormat?
      let omitsHashes: Bool
      let resumes: Bool
      let file: String

      init(_ reader: OptionReader) {
        project = reader.inherited()
        format = reader.word("format", "FORMAT", "json or csv: by the end of the file's name unless given.")
        omitsHashes = reader.flag("without-hashes", "Leaves the hashes of the passwords out.")
        resumes = reader.flag("resume", "Goes on behind the users that an export of before has written.")
        file = reader.operand("FILE", "File to write.")
      }
    }

    static let entry = CommandEntry(
      "export", "Writes the users of a project to a file as Firebase's auth:import reads it.",
      discussion: """
        The file has the hashes of the passwords, and is readable to its owner alone. It takes the place of one of the same name when it is
        complete. An export that was ended leaves FILE.new and FILE.export-state, with which --resume goes on.
        """, options: Options.self
    ) { options, context in
      let (project, file) = (try options.project.id(), options.file)
      let format = try AccountFileFormat.of(file, given: options.format)
      var begun = ExportState(project: project, format: format.rawValue, omitsHashes: options.omitsHashes)
      if options.resumes { try begun.resume(from: file) }
      if begun.users > 0 { context.report("going on after user \(begun.users)\n") }
      let state = try await context.backend().withAccounts { [begun] accounts throws(CommandLineError) in
        let listing = try AccountListing(
          accounts: accounts, project: project, wantsHashes: !options.omitsHashes, timeout: context.timeout)
        return try await Self.write(listing, begun, to: file, format, context.report)
      }
      if let note = state.note(format) { context.report(note) }
      return CommandOutput(
        text: "\(state.users) users are in \(file)",
        json: .object(["exported": .integer(Int64(state.users)), "file": .text(file)]))
    }

    private static func write(
      _ listing: AccountListing, _ begun: ExportState, to file: String, _ format: AccountFileFormat,
      _ report: (String) -> Void
    ) async throws(CommandLineError) -> ExportState {
      let temporary = ExportState.temporary(of: file)
      var writer = try AccountFileWriter(path: temporary, format: format, behind: begun.size)
      if begun.users == 0 { unlink(ExportState.path(of: file)) }
      var (state, last) = (begun, ContinuousClock.now)
      repeat {
        let page: AccountListing.Page
        do throws(CommandLineError) { page = try await listing.page(after: state.next) } catch {
          if state.users > 0 { try state.write(beside: file, writer.saved()) } else { ExportState.remove(beside: file) }
          throw error
        }
        for account in page.accounts {
          try writer.write(account, hash: page.hashes[account.localID])
          state.add(account)
        }
        state.next = page.next
        if page.next != nil, ContinuousClock.now - last >= interval {
          last = .now
          try state.write(beside: file, writer.saved())
          report("\(state.users) users\n")
        }
      } while state.next != nil
      try writer.finish()
      // The writer keeps other exports away until the file has its name.
      try withExtendedLifetime(writer) { () throws(CommandLineError) in
        unlink(ExportState.path(of: file))
        guard rename(temporary, file) == 0 else { throw NewFile.failure(file) }
      }
      return state
    }

    /// Time between two lines, and between two states on the disk.
    private static let interval = Duration.seconds(2)
  }
}

/// Progress of an export, in a file beside it, and what of the users the file does not have.
private struct ExportState: Codable, Sendable {
  let project: String
  let format: String
  let omitsHashes: Bool
  /// Bytes with the users so far, and the place behind these.
  private(set) var size = 0
  var next: String?
  private(set) var users = 0
  private var factors = 0
  private var factorsWithoutNumber = 0

  init(project: String, format: String, omitsHashes: Bool) {
    (self.project, self.format, self.omitsHashes) = (project, format, omitsHashes)
  }

  static func path(of file: String) -> String { "\(file).export-state" }
  static func temporary(of file: String) -> String { "\(file).new" }

  static func remove(beside file: String) {
    unlink(path(of: file))
    unlink(temporary(of: file))
  }

  mutating func resume(from file: String) throws(CommandLineError) {
    let path = Self.path(of: file)
    guard access(path, F_OK) == 0, access(Self.temporary(of: file), F_OK) == 0 else { return }
    // A state that cannot be read is refused below.
    let left = try? JSONReader.commandLine.decode(ExportState.self, from: try InputFile.read(path))
    guard let left, (left.project, left.format, left.omitsHashes) == (project, format, omitsHashes) else {
      throw CommandLineError(.badInput, "\(path) is of another export: without --resume all users are exported anew")
    }
    self = left
  }

  mutating func write(beside file: String, _ size: Int) throws(CommandLineError) {
    self.size = size
    try NewFile.replace(Self.path(of: file), by: Array(JSONValue(encoding: self).json().utf8))
  }

  mutating func add(_ account: AccountView) {
    let all = account.secondFactors ?? []
    users += 1
    factors += all.count
    factorsWithoutNumber += all.count { $0.phoneNumber == nil }
  }

  func note(_ format: AccountFileFormat) -> String? {
    switch format {
    case .csv where factors > 0:
      "note: second factors that are left out: \(factors). CSV has no column for them, JSON has\n"
    case .json where factorsWithoutNumber > 0:
      """
      note: second factors whose secrets are not in the file: \(factorsWithoutNumber). Where it is brought in elsewhere, \
      these users enrol again\n
      """
    default: nil
    }
  }
}

/// The accounts of a project, page by page.
private struct AccountListing: Sendable {
  struct Page {
    let accounts: [AccountView]
    let hashes: [String: PasswordHash]
    let next: String?
  }

  private static let pageSize = 1_000

  let accounts: any AccountsConnection
  let project: String
  let timeout: Duration
  /// For the hashes of the replies. `nil` where none are wanted.
  private let key: PrivateSealingKey?

  init(
    accounts: any AccountsConnection, project: String, wantsHashes: Bool, timeout: Duration
  ) throws(CommandLineError) {
    self.accounts = accounts
    self.project = project
    self.timeout = timeout
    do { key = wantsHashes ? try PrivateSealingKey.generate(id: "export") : nil } catch {
      throw CommandLineError(.internalError, error.description)
    }
  }

  func page(after place: String?) async throws(CommandLineError) -> Page {
    let id = MessageID.make()
    var command = ListAccounts(project: project, limit: Self.pageSize)
    command.after = place
    command.replyKey = key?.publicKey.jwk
    let reply = try await accounts.send(command, id: id, timeout: timeout)
    return Page(accounts: reply.accounts, hashes: try hashes(reply.hashes, id), next: reply.next)
  }

  private func hashes(_ field: SecretField?, _ id: String) throws(CommandLineError) -> [String: PasswordHash] {
    guard let field, let key else { return [:] }
    let context = SealContext(
      messageType: AccountsFound.type, messageID: id, recipient: AccountCommandFields.replyRecipient)
    let opened: PasswordHashes
    do { opened = try PasswordHashes(text: try field.open(with: key, for: context)) } catch {
      throw CommandLineError(.internalError, "the hashes of a page cannot be opened")
    }
    var hashes: [String: PasswordHash] = [:]
    for entry in opened.entries {
      guard let hash = PasswordHash(stored: entry.stored) else {
        throw CommandLineError(.internalError, "a hash has an unknown form: are all programs of the same version?")
      }
      hashes[entry.localID] = hash
    }
    return hashes
  }
}
