import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import Mail
import ServiceRuntime

enum MailCommand {
  static let group = CommandEntry(
    "mail", "Sends and previews mail, and manages the list of suppressed addresses.",
    options: WorkerOptions.self,
    [
      send, preview,
      CommandEntry(
        "suppressions", "Addresses that get no mail, because a server said that the recipient does not exist.",
        [listSuppressions, liftSuppression, CopySuppressions.entry]),
    ])

  struct WorkerOptions: CommandOptions {
    let workerConfig: String?

    init(_ reader: OptionReader) {
      workerConfig = reader.text(
        "worker-config", "FILE", "Configuration of the mail-worker: mail-worker.json5 in config.dir unless given.")
    }
  }

  struct Content: CommandOptions {
    let from, template, language, code, link, appName, change, secondFactor: String?
    let subject, textFile, htmlFile: String?
    let unsubscribe, id: String?
    let custom: [String: String]
    let address: String

    init(_ reader: OptionReader) {
      from = reader.text("from", "ADDRESS", "One of the mail-worker's senders: the first unless given.")
      template = reader.text(
        "template", "NAME", "Template: address-verification, revocation-notice, security-notice, sign-in-link.")
      language = reader.text("language", "CODE", "BCP 47, with --template.")
      code = reader.text("code", "CODE", "Variable of the template; shows in the process list.")
      link = reader.text("link", "URL", "Variable of the template; shows in the process list.")
      appName = reader.text("app-name", "NAME", "Variable of the template.")
      change = reader.text("change", "TEXT", "Variable of the template security-notice: the event.")
      secondFactor = reader.text(
        "second-factor", "NAME", "Variable of the template second-factor-reversal: the new second factor.")
      custom = CustomVariableOption.read(reader)
      subject = reader.text("subject", "TEXT", "Instead of --template, with --text-file.")
      textFile = reader.text("text-file", "FILE", "Text, UTF-8.")
      htmlFile = reader.text("html-file", "FILE", "The same as HTML.")
      unsubscribe = reader.text("unsubscribe", "URL", "Ends the reader's subscription by one click.")
      id = reader.text("id", "ID", "Message ID. The same ID twice has one effect, and the same result.")
      address = reader.operand("ADDRESS", "Recipient.")
    }
  }
}

// MARK: - Send and preview

extension MailCommand {
  struct SendOptions: CommandOptions {
    let content: Content
    let deadline: Duration?

    init(_ reader: OptionReader) {
      content = Content(reader)
      deadline = reader.duration("deadline", "TIME", "Latest time of sending, from now: 10m unless given.")
    }
  }

  static let send = CommandEntry(
    "send", "Sends a mail through the mail-worker and waits for the result.",
    discussion: """
      Example:
        countersign mail send ada@example.com --template address-verification --language fr --code 123456
      """, options: SendOptions.self
  ) { options, context in
    let body: [UInt8]
    do {
      body = try options.content.job(deadline: context.clock.now() + (options.deadline ?? defaultDeadline)).json()
    } catch let error as ContractProblem {
      throw CommandLineError(.badInput, "\(error.code): \(error.description)")
    }
    let job = EnqueuedJob(
      type: MailRelayJob.type, messageID: options.content.id ?? MessageID.make(), body: body)
    return JobResultText.output(
      try await context.backend().enqueue(job, timeout: context.global.timeout ?? defaultTimeout))
  }

  /// Longer than for other commands: a mail server may take its time.
  private static let defaultTimeout = Duration.seconds(60)

  struct PreviewOptions: CommandOptions {
    let worker: WorkerOptions
    let content: Content
    let output: String?

    init(_ reader: OptionReader) {
      worker = reader.inherited()
      content = Content(reader)
      output = reader.text("output", "FILE", "Destination, for a mail client: standard output unless given.")
    }
  }

  static let preview = CommandEntry(
    "preview", "Writes a mail as the mail-worker would send it, signed, without sending it.",
    options: PreviewOptions.self
  ) { options, context in
    let result: Result<[UInt8], MailRelay.PreviewRefused>
    do {
      result = try MailRelay.preview(
        options.content.job(deadline: context.clock.now() + defaultDeadline),
        messageID: options.content.id ?? MessageID.make(), date: context.clock.now(),
        context.backend().mailConfiguration(file: options.worker.workerConfig))
    } catch let error as WorkerError {
      throw CommandLineError(.configuration, error.description)
    }
    let mail = try result.mapError { CommandLineError(.refused, $0.description) }.get()
    guard let path = options.output else {
      let text = String(decoding: mail, as: UTF8.self)
      return CommandOutput(text: text, json: .text(text))
    }
    do {
      try Data(mail).write(to: URL(filePath: path))
    } catch {
      throw CommandLineError(.noInput, "cannot write \(path)")
    }
    return CommandOutput(text: "\(path): \(mail.count) bytes", json: .object(["bytes": .integer(Int64(mail.count))]))
  }

  private static let defaultDeadline = Duration.seconds(600)
}

extension MailCommand.Content {
  fileprivate func job(deadline: UnixTime) throws -> MailRelayJob {
    MailRelayJob(
      to: address, from: from, content: try content(), unsubscribeURL: unsubscribe, deadline: deadline)
  }

  private func content() throws -> MailRelayJob.Content {
    if let subject {
      guard let textFile else { throw UsageError("--subject needs --text-file") }
      return .message(subject: subject, text: try Self.file(textFile), html: try htmlFile.map(Self.file))
    }
    guard let template else { throw UsageError("give --template, or --subject and --text-file") }
    return .template(
      name: template, languageCode: language,
      variables: MailRelayJob.Variables(
        code: code.map { SecretField(Secret($0)) }, link: link.map { SecretField(Secret($0)) }, appName: appName,
        change: change, secondFactor: secondFactor, custom: custom.isEmpty ? nil : custom))
  }

  private static func file(_ path: String) throws(CommandLineError) -> String {
    guard let text = String(validating: try InputFile.read(path, limit: maxTextBytes), as: UTF8.self) else {
      throw CommandLineError(.badInput, "\(path) is not UTF-8")
    }
    return text
  }

  /// A preview may be larger than any message on the broker.
  private static let maxTextBytes = 8 * 1_048_576
}

// MARK: - The suppression list

extension MailCommand {
  struct ListSuppressionsOptions: CommandOptions {
    let worker: WorkerOptions
    let limit: Int?

    init(_ reader: OptionReader) {
      worker = reader.inherited()
      limit = reader.integer("limit", "NUMBER", in: 1...100_000, "Most addresses to show: 50 unless given.")
    }
  }

  static let listSuppressions = CommandEntry(
    "list", "Lists them, the latest first.", options: ListSuppressionsOptions.self
  ) { options, context in
    let limit = options.limit ?? 50
    let entries = try await withList(options.worker, context) { (list) throws(WorkerError) in
      try await list.entries(limit: limit)
    }
    var table = TextTable("since", "address", "reason", "server's code", "job")
    table.rows = entries.map { [$0.since.rfc3339, $0.address, $0.reason, $0.providerCode ?? "", $0.jobID] }
    let json = entries.map { entry in
      JSONValue.object([
        "address": .text(entry.address), "since": .text(entry.since.rfc3339), "reason": .text(entry.reason),
        "providerCode": entry.providerCode.map { .text($0) } ?? .null, "jobID": .text(entry.jobID),
      ])
    }
    return CommandOutput(text: entries.isEmpty ? "the list is empty" : table.text, json: .array(json))
  }

  struct LiftSuppressionOptions: CommandOptions {
    let worker: WorkerOptions
    let address: String

    init(_ reader: OptionReader) {
      worker = reader.inherited()
      address = reader.operand("ADDRESS", "Address.")
    }
  }

  static let liftSuppression = CommandEntry(
    "lift", "Takes an address off the list.", options: LiftSuppressionOptions.self
  ) { options, context in
    guard let address = MailAddress(options.address) else {
      throw CommandLineError(.usage, "ADDRESS must be an address such as name@example.com")
    }
    // The record holds no addresses.
    try await context.announce("mail.suppressions.lift", on: address.domain)
    let wasListed = try await withList(options.worker, context) { (list) throws(WorkerError) in
      try await list.lift(address)
    }
    return CommandOutput(
      text: wasListed ? "lifted: mail is sent to it again" : "it is not on the list",
      json: .object(["lifted": .bool(wasListed)]), exitCode: wasListed ? .success : .failure)
  }

  enum CopySuppressions {
    /// They are held in memory.
    static let maxAddresses = 1_000_000

    struct Options: CommandOptions {
      let worker: WorkerOptions
      let file: String

      init(_ reader: OptionReader) {
        worker = reader.inherited()
        file = reader.operand("FILE", "The SQLite file: suppressions.path of the configuration before.")
      }
    }

    static let entry = CommandEntry(
      "copy", "Adds those of another file, for a move to PostgreSQL or from host to host.",
      discussion: """
        The list that gets them is the one of the mail-worker's configuration. Addresses that it has stay as they are, so it can be run
        again at any time, also while workers use both lists.
        """, options: Options.self
    ) { options, context in
      // To open it would make one.
      guard FileManager.default.fileExists(atPath: options.file) else {
        throw CommandLineError(.noInput, "\(options.file) does not exist: name a suppressions.path of a mail-worker")
      }
      let entries = try await entries(of: options.file)
      try await withList(options.worker, context) { (list) throws(WorkerError) in
        for entry in entries { try await list.add(entry) }
      }
      return CommandOutput(
        text: "\(entries.count) addresses are on the list now, those that were on it included",
        json: .object(["addresses": .integer(Int64(entries.count))]))
    }

    private static func entries(of file: String) async throws(CommandLineError) -> [Suppression] {
      let entries: [Suppression]
      do throws(WorkerError) {
        entries = try await lend(try await SuppressionList.open(path: file)) { list throws(WorkerError) in
          try await list.entries(limit: maxAddresses + 1)
        }
      } catch {
        throw CommandLineError(.badInput, "\(file): \(error.description)")
      }
      guard entries.count <= maxAddresses else {
        throw CommandLineError(
          .badInput, "\(file) has more than \(maxAddresses) addresses, which is more than this command takes")
      }
      return entries
    }
  }

  private static func withList<T: Sendable>(
    _ options: WorkerOptions, _ context: CommandContext,
    _ body: (SuppressionList) async throws(WorkerError) -> T
  ) async throws -> T {
    let settings = try context.backend().mailConfiguration(file: options.workerConfig).suppressions
    do throws(WorkerError) {
      return try await lend(try await SuppressionList.open(settings), body)
    } catch {
      throw CommandLineError(.unavailable, error.description)
    }
  }

  private static func lend<T: Sendable>(
    _ list: SuppressionList, _ body: (SuppressionList) async throws(WorkerError) -> T
  ) async throws(WorkerError) -> T {
    let result: Result<T, WorkerError>
    do throws(WorkerError) { result = .success(try await body(list)) } catch { result = .failure(error) }
    await list.close()
    return try result.get()
  }
}
