internal import CountersignMessages
internal import CountersignTelemetry
internal import FoundationEssentials
internal import JobEngine
internal import Mail
internal import ServiceRuntime

/// `countersign mail`.
struct MailCommand {
  let backend: any OperatorBackend
  let clock: any WallClock

  func run(_ arguments: CommandArguments) async throws -> CommandOutput {
    switch arguments.command.last {
    case "send": try await send(arguments)
    case "preview": try preview(arguments)
    case "list": try await list(arguments)
    default: try await lift(arguments)
    }
  }

  private func send(_ arguments: CommandArguments) async throws -> CommandOutput {
    let body: [UInt8]
    do {
      body = try job(arguments).json()
    } catch let error as ContractProblem {
      throw OperationsError(.badInput, "\(error.code): \(error.description)")
    }
    let job = EnqueuedJob(
      type: MailRelayJob.type, messageID: arguments.value("id") ?? MessageID.make(), body: body)
    let result = try await backend.enqueue(job, timeout: try arguments.duration("timeout") ?? Self.sendTimeout)
    return CommandOutput(
      text: JobResultText.text(result), json: JSONValue(encoding: result),
      exitCode: result.outcome == .accepted ? .success : .failure)
  }

  /// Longer than for other commands: a mail server may think about a message.
  private static let sendTimeout = Duration.seconds(60)

  private func preview(_ arguments: CommandArguments) throws -> CommandOutput {
    let result: Result<[UInt8], MailRelay.PreviewRefused>
    do {
      result = try MailRelay.preview(
        job(arguments), messageID: arguments.value("id") ?? MessageID.make(), date: clock.now(),
        backend.mailConfiguration(file: arguments.value("worker-config")))
    } catch let error as WorkerError {
      throw OperationsError(.configuration, error.description)
    }
    guard case .success(let mail) = result else {
      guard case .failure(let refused) = result else { preconditionFailure("a result is one of two") }
      throw OperationsError(.refused, refused.description)
    }
    guard let path = arguments.value("output") else {
      return CommandOutput(
        text: String(decoding: mail, as: UTF8.self), json: .text(String(decoding: mail, as: UTF8.self)))
    }
    do {
      try Data(mail).write(to: URL(filePath: path))
    } catch {
      throw OperationsError(.noInput, "cannot write \(path)")
    }
    return CommandOutput(text: "\(path): \(mail.count) bytes", json: .object(["bytes": .integer(Int64(mail.count))]))
  }
}

// MARK: - The job

extension MailCommand {
  private func job(_ arguments: CommandArguments) throws -> MailRelayJob {
    MailRelayJob(
      to: try arguments.operand("ADDRESS"), from: arguments.value("from"), content: try Self.content(arguments),
      unsubscribeURL: arguments.value("unsubscribe"),
      deadline: clock.now() + (try arguments.duration("deadline") ?? Self.defaultDeadline))
  }

  private static let defaultDeadline = Duration.seconds(600)

  private static func content(_ arguments: CommandArguments) throws -> MailRelayJob.Content {
    if let subject = arguments.value("subject") {
      guard let text = arguments.value("text-file") else {
        throw UsageError("--subject needs --text-file")
      }
      return .message(subject: subject, text: try file(text), html: try arguments.value("html-file").map(file))
    }
    guard let template = arguments.value("template") else {
      throw UsageError("give --template, or --subject and --text-file")
    }
    return .template(
      name: template, languageCode: arguments.value("language"),
      variables: MailRelayJob.Variables(
        code: arguments.value("code").map { SecretField(Secret($0)) },
        link: arguments.value("link").map { SecretField(Secret($0)) }, appName: arguments.value("app-name"),
        change: arguments.value("change")))
  }

  private static func file(_ path: String) throws(OperationsError) -> String {
    guard let text = String(validating: try InputFile.read(path, limit: maxTextBytes), as: UTF8.self) else {
      throw OperationsError(.badInput, "\(path) is not UTF-8")
    }
    return text
  }

  /// A preview may be larger than any message on the broker.
  private static let maxTextBytes = 8 * 1_048_576
}

// MARK: - The suppression list

extension MailCommand {
  private func list(_ arguments: CommandArguments) async throws -> CommandOutput {
    let limit = try arguments.integer("limit", in: 1...Self.maxListed) ?? 50
    let entries = try await withList(arguments) { (list) throws(WorkerError) in try await list.entries(limit: limit)
    }
    let rows = entries.map { [$0.since.rfc3339, $0.address, $0.reason, $0.providerCode ?? "", $0.jobID] }
    let json = entries.map { entry in
      JSONValue.object([
        "address": .text(entry.address), "since": .text(entry.since.rfc3339), "reason": .text(entry.reason),
        "providerCode": entry.providerCode.map { .text($0) } ?? .null, "jobID": .text(entry.jobID),
      ])
    }
    return CommandOutput(
      text: rows.isEmpty
        ? "nobody is on the list"
        : table(rows),
      json: .array(json))
  }

  private func table(_ rows: [[String]]) -> String {
    var table = TextTable("since", "address", "reason", "server's code", "job")
    table.rows = rows
    return table.text
  }

  private static let maxListed = 100_000

  private func lift(_ arguments: CommandArguments) async throws -> CommandOutput {
    guard let address = MailAddress(try arguments.operand("ADDRESS")) else {
      throw OperationsError(.usage, "ADDRESS must be an address such as name@example.com")
    }
    let wasListed = try await withList(arguments) { (list) throws(WorkerError) in try await list.lift(address) }
    return CommandOutput(
      text: wasListed ? "lifted: mail is sent to it again" : "it is not on the list",
      json: .object(["lifted": .bool(wasListed)]), exitCode: wasListed ? .success : .failure)
  }

  private func withList<T: Sendable>(
    _ arguments: CommandArguments, _ body: (SuppressionList) async throws(WorkerError) -> T
  ) async throws -> T {
    let path = try backend.mailConfiguration(file: arguments.value("worker-config")).suppressionsPath
    let result: Result<T, WorkerError>
    do throws(WorkerError) {
      let list = try await SuppressionList.open(path: path)
      do throws(WorkerError) { result = .success(try await body(list)) } catch { result = .failure(error) }
      await list.close()
    } catch {
      result = .failure(error)
    }
    return try result.mapError { OperationsError(.unavailable, $0.description) }.get()
  }
}
