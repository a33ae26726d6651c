import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import JobEngine

struct MailComposer: Sendable {
  enum Outcome {
    case text(MailText)
    case refused(Reason)
    case invalid(ContractProblem)
  }

  let templates: MailTemplates
  let keys: KeyRing
  let appName: String?

  /// In Unicode scalars.
  static let maxSubjectLength = 400

  func compose(_ job: MailRelayJob, messageID: String) -> Outcome {
    switch job.content {
    case .message(let subject, let text, let html):
      return checked(subject, text, html)
    case .template(let name, let languageCode, let variables):
      do {
        let values = try open(variables, of: job, messageID: messageID)
        return fill(name, languageCode, values, variables.custom ?? [:])
      } catch {
        return .invalid(error)
      }
    }
  }

  private func open(
    _ variables: MailRelayJob.Variables, of job: MailRelayJob, messageID: String
  ) throws(ContractProblem) -> [String: String] {
    let context = SealContext(messageType: MailRelayJob.type, messageID: messageID, recipient: job.to)
    var values: [String: String] = [:]
    values["code"] = try open(variables.code, "code", context)
    values["link"] = try open(variables.link, "link", context)
    values["appName"] = variables.appName ?? appName
    values["change"] = variables.change
    values["secondFactor"] = variables.secondFactor
    return values
  }

  private func open(
    _ field: SecretField?, _ name: String, _ context: SealContext
  ) throws(ContractProblem) -> String? {
    guard let field else { return nil }
    return try field.open(with: keys, for: context, field: "variables.\(name)").reveal()
  }

  private func fill(
    _ name: String, _ languageCode: String?, _ values: [String: String], _ custom: [String: String]
  ) -> Outcome {
    do {
      return .text(try templates.render(name, languageCode: languageCode, variables: values, custom: custom))
    } catch {
      return .refused(error.reason)
    }
  }

  private func checked(_ subject: String, _ text: String, _ html: String?) -> Outcome {
    guard (1...Self.maxSubjectLength).contains(subject.unicodeScalars.count), MailPlainText.isLine(subject) else {
      return .refused(
        Reason(
          "INVALID_SUBJECT",
          "The subject must be one line of 1 to \(Self.maxSubjectLength) characters, without \(PrintedText.refused).")
      )
    }
    guard !text.isEmpty, MailPlainText.isText(text), html.map(MailPlainText.isText) ?? true else {
      return .refused(
        Reason("INVALID_TEXT", "The text is empty, or has \(PrintedText.refused)."))
    }
    return .text(MailText(subject: subject, text: text, html: html))
  }
}
