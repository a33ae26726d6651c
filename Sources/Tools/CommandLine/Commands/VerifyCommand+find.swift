import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

extension VerifyCommand {
  enum Find {
    struct Options: CommandOptions {
      let since: Since?
      let number: String

      init(_ reader: OptionReader) {
        let text = reader.text(
          "since", "TIME", "Only those that began since: 2h for the last two hours, or 2026-07-01T12:00:00Z.")
        since = text.flatMap(Since.init)
        if text != nil, since == nil {
          reader.fail("--since must be a duration such as 30m, 2h or 1d, or a time such as 2026-07-01T12:00:00Z")
        }
        number = reader.operand("NUMBER", "Phone number, E.164: +14155550123.")
      }
    }

    enum Since {
      case time(UnixTime)
      case ago(Duration)

      init?(_ text: String) {
        if let duration = CommandArguments.duration(text) {
          self = .ago(duration)
        } else if let time = UnixTime(rfc3339: text) {
          self = .time(time)
        } else {
          return nil
        }
      }

      func time(at now: UnixTime) -> UnixTime {
        switch self {
        case .time(let time): time
        case .ago(let duration): now - duration
        }
      }
    }

    /// Only a fictional number has more than a few.
    private static let maxPages = 64

    static let entry = CommandEntry(
      "find", "Lists the verifications of a phone number, the latest first. A command of operators.",
      discussion: """
        Those of every app, live and ended ones, for as long as the coordinator keeps them. A start that was refused leaves none.
        """, options: Options.self
    ) { options, context in
      let backend = try context.backend()
      var command = FindVerifications(
        phoneNumber: options.number, since: options.since?.time(at: context.clock.now()))
      var found = try await backend.sendAsOperator(command, timeout: context.timeout)
      var pages = 1
      while let next = found.next, pages < maxPages {
        command.after = next
        let page = try await backend.sendAsOperator(command, timeout: context.timeout)
        found.verifications += page.verifications
        found.next = page.next
        pages += 1
      }
      if found.next != nil {
        context.report("countersign: the number has more verifications: these are of its first \(maxPages) pages\n")
        found.next = nil
      }
      found.verifications.sort { $0.startedAt > $1.startedAt }
      return CommandOutput(text: text(found, since: command.since), reply: found)
    }

    // MARK: Text

    private static func text(_ found: VerificationsFound, since: UnixTime?) -> String {
      guard !found.verifications.isEmpty else { return none(found, since: since) }
      var table = TextTable("STARTED", "ID", "APP", "PURPOSE", "STATE", "SMS", "LANE", "DETAIL")
      table.rows = found.verifications.map(row)
      return "\(table.text)\n\nthe life of one: countersign verify status ID"
    }

    private static func none(_ found: VerificationsFound, since: UnixTime?) -> String {
      let time = since.map { " that began since \($0.rfc3339)" } ?? ""
      return """
        no verification of this number\(time) is on record: ended ones are kept for \(kept(found.retentionSeconds))
        a start that was refused leaves none: a limit, a region, or no proof of the app
        """
    }

    private static func kept(_ seconds: Int) -> String {
      seconds.isMultiple(of: 3600) ? "\(seconds / 3600) h" : "\(seconds) s"
    }

    private static func row(_ found: VerificationsFound.Verification) -> [String] {
      let none = found.testNumber ? "none: fictional" : ""
      let sms = found.sms.map { String($0.event.trimmingPrefix("sms.")) } ?? none
      return [
        found.startedAt.rfc3339, found.verificationID, found.app,
        (found.purpose ?? .signIn).rawValue, found.state.rawValue + (found.reason.map { " (\($0))" } ?? ""), sms,
        found.sms?.lane ?? "", found.sms.map(OperationText.detail) ?? "",
      ]
    }
  }
}
