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
  enum Export: OperatorCommand {
    static let syntax = named(
      "export", "Writes the users of a project to a file as Firebase's auth:import reads it.",
      discussion: """
        The file has the hashes of the passwords, and is readable to its owner alone. It takes the place of one of the same name when it is
        complete.
        """)

    struct Options: CommandOptions {
      let project: ProjectOption
      let format: AccountFileFormat?
      let omitsHashes: Bool
      let file: String

      init(_ reader: OptionReader) {
        project = reader.inherited()
        format = reader.word("format", "FORMAT", "json or csv: by the end of the file's name unless given.")
        omitsHashes = reader.flag("without-hashes", "Leaves the hashes of the passwords out.")
        file = reader.operand("FILE", "File to write.")
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
      let (project, file) = (try options.project.id(), options.file)
      let format = try AccountFileFormat.of(file, given: options.format)
      let temporary = "\(file).new"
      unlink(temporary)
      defer { unlink(temporary) }
      let tally = try await context.backend().withAccounts { accounts throws(CommandLineError) in
        let listing = try AccountListing(
          accounts: accounts, project: project, wantsHashes: !options.omitsHashes, timeout: context.timeout)
        var writer = try AccountFileWriter(path: temporary, format: format)
        let tally = try await Self.write(listing, to: &writer, context.report)
        try writer.finish()
        return tally
      }
      guard rename(temporary, file) == 0 else { throw NewFile.failure(file) }
      if let note = tally.note(format) { context.report(note) }
      return CommandOutput(
        text: "\(tally.users) users are in \(file)",
        json: .object(["exported": .integer(Int64(tally.users)), "file": .text(file)]))
    }

    private static func write(
      _ listing: AccountListing, to writer: inout AccountFileWriter, _ report: (String) -> Void
    ) async throws(CommandLineError) -> ExportTally {
      var (tally, next, last) = (ExportTally(), String?.none, ContinuousClock.now)
      repeat {
        let page = try await listing.page(after: next)
        for account in page.accounts {
          try writer.write(account, hash: page.hashes[account.localID])
          tally.add(account)
        }
        next = page.next
        if ContinuousClock.now - last >= .seconds(2) {
          last = .now
          report("\(tally.users) users\n")
        }
      } while next != nil
      return tally
    }
  }
}

/// Users of an export, and what of them a file does not have.
private struct ExportTally: Sendable {
  private(set) var users = 0
  private var factors = 0
  private var factorsWithoutNumber = 0

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
